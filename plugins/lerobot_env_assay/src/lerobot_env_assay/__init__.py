"""``lerobot-eval --env.type=assay``: Assay's experiments as LeRobot environments.

LeRobot imports this module because of the distribution's name; the import registers the environment type.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import gymnasium
from lerobot.configs import FeatureType, PolicyFeature
from lerobot.envs.configs import EnvConfig
from lerobot.envs.utils import _LazyAsyncVectorEnv
from lerobot.utils.constants import ACTION, OBS_IMAGES, OBS_STATE

from assay.extensions.interop.bridges.lerobot import PIXELS, PlannedEnvironment, suites


@EnvConfig.register_subclass("assay")
@dataclass
class AssayEnv(EnvConfig):
    """An Assay experiment: ``--env.task=EXPERIMENT/TASKS``."""

    task: str = "libero/libero_goal"
    seeds: str | None = None
    """Number of seeds, or a list or range of seeds: 5, 7,8,9, 7-11 (default: the experiment's seeds)."""
    conditions: str | None = None
    """Conditions to run in addition to the control (default: all)."""
    assets: str | None = None
    """Asset pack: primitives, or libero for policies trained on LIBERO's images."""
    states: str | None = None
    """LIBERO's folder of stored initial states, used instead of sampled ones."""
    steps: int | None = None
    """Maximum number of control steps per episode."""
    certified: bool | None = None
    """Run only scenes that the oracle has solved, or all (default: as the experiment specifies)."""
    out: str | None = None
    """Run file to record, NAME.assay."""
    policy: str = "lerobot"
    """Name of the policy in the run."""
    size: int = 256
    """Height and width of the images, pixels."""
    orientation: str = "rotated"
    """Image orientation: rotated, upright or raw."""
    wait: int = 10
    """Number of initial steps without motion."""
    fps: int = 20
    features: dict[str, PolicyFeature] = field(default_factory=dict)
    features_map: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        images = {f"pixels/{name}": f"{OBS_IMAGES}.{name}" for name in PIXELS}
        self.features = {
            ACTION: PolicyFeature(type=FeatureType.ACTION, shape=(7,)),
            "agent_pos": PolicyFeature(type=FeatureType.STATE, shape=(8,)),
            **{
                name: PolicyFeature(type=FeatureType.VISUAL, shape=(self.size, self.size, 3))
                for name in images
            },
        }
        self.features_map = {ACTION: ACTION, "agent_pos": OBS_STATE, **images}

    @property
    def gym_kwargs(self) -> dict[str, Any]:
        """Keyword arguments with which every environment is created."""
        names = ("out", "states", "size", "orientation", "wait")
        return {name: getattr(self, name) for name in names}

    def create_envs(self, n_envs: int, use_async_envs: bool = False) -> dict[str, dict[int, Any]]:
        """Create ``n_envs`` environments for each task under each condition, which share its episodes."""
        found = suites(
            self.task,
            seeds=self.seeds,
            conditions=self.conditions,
            assets=self.assets,
            states=self.states,
            steps=self.steps,
            certified=self.certified,
            out=self.out,
            policy=self.policy,
        )
        made: dict[str, dict[int, Any]] = {}
        for condition, tasks in found.items():
            for number, planned in tasks.items():
                several = [
                    partial(PlannedEnvironment, planned, index, n_envs, **self.gym_kwargs)
                    for index in range(n_envs)
                ]
                vector = (
                    _LazyAsyncVectorEnv(several)
                    if use_async_envs and n_envs > 1
                    else gymnasium.vector.SyncVectorEnv(
                        several, autoreset_mode=gymnasium.vector.AutoresetMode.NEXT_STEP
                    )
                )
                made.setdefault(condition, {})[number] = vector
        return made
