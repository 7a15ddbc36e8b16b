"""Gymnasium environments; importing this module registers them.

import gymnasium
import assay.extensions.interop.bridges.gym

env = gymnasium.make("assay/libero_goal-3-v0", condition="x/level3")
observation, info = env.reset(seed=0)   # the episode that `assay run x` plays with seed 0
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces

from assay import tasks
from assay.episodes import CONTROL, LIBERO, EpisodeSpec, Initial, Stepwise, world_name, world_of
from assay.errors import TaskError
from assay.experiments import Experiment, load_experiment
from assay.extensions.interop.bridges.instruction_space import InstructionSpace
from assay.extensions.interop.bridges.player import HarnessPlayer
from assay.runs.options import RunOptions
from assay.runs.recording import begin
from assay.sim import Observation
from assay.sim.render import MAX_IMAGE_SIDE
from assay.sim.simulation import ACTION_SIZE, CONTROL_HZ
from assay.support.images import Orientation, orient, parse_orientation
from assay.tasks.formats.lerobot_features import robot_state

CAMERAS = {"image": "agentview", "wrist_image": "robot0_eye_in_hand"}
"""Names of the images in an observation and their cameras."""
STATE_SIZE = 8
"""Length of the state: grip site position 3, end effector axis-angle 3, finger joints 2, as in `assay collect`."""
STATE_LIMIT = 10.0
"""Bound of every value of a state, metres and radians, even under perturbed observations."""
STORED_STATES = 50
"""Number of initial states per task in LIBERO's files."""


@dataclass(frozen=True)
class ConditionedTask:
    """A task of LIBERO's world under one condition; each seed is one episode. Raises AssayError if it is invalid."""

    task: str
    """Task id, ``libero_goal/3``, or task file."""
    condition: str = CONTROL
    """Experiment and condition, ``x/level3``; by default the control."""
    experiment: str | None = None
    """Address of the experiment if it has options: ``para?per_cell=2``."""
    assets: str | None = None
    """Asset pack; by default that of LIBERO's world."""
    initial: Initial = "sampled"
    steps: int | None = None
    """Maximum number of control steps; by default the task's horizon."""
    _entry: Any = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if world_name(self.task) != LIBERO:
            raise TaskError(
                f"'{self.task}' is not a task of LIBERO's world, whose images, state and actions are used here"
            )
        if self.steps is not None and self.steps < 1:
            raise TaskError(f"steps={self.steps}: valid: 1 or more")
        entries = world_of(self.task).select(self.task)
        if len(entries) != 1:
            raise TaskError(f"'{self.task}' names {len(entries)} tasks; valid: one, such as libero_goal/3")
        object.__setattr__(self, "_entry", entries[0])
        # Raises now, not at the first reset, if the assets or the condition are missing.
        world_of(self.task).digest(self._design.checked_pack(self.assets, self.initial))
        self.episode(0)

    @cached_property
    def _design(self) -> Experiment:
        experiment, slash, _ = self.condition.partition("/")
        if self.experiment is None and self.condition != CONTROL and not slash:
            raise TaskError(
                f"condition '{self.condition}': valid: {CONTROL}, or EXPERIMENT/CONDITION, such as x/level3"
            )
        name = self.experiment or ("libero" if self.condition == CONTROL else experiment)
        return load_experiment(name).only(None if self.condition == CONTROL else self.condition)

    def begin(self, path: Path, policy: str, states: Path | None) -> None:
        """Create a run in which episodes are recorded as they are played. Raises RunError."""
        options = RunOptions(tasks=self.task, seeds=(), assets=self.assets, states=states, certified=False)
        begin(path, self._design, policy, options)

    def episode(self, seed: int) -> EpisodeSpec:
        """Return the episode of a seed in the experiment's plan; seeds cycle through the variants of a condition."""
        plan = self._design.plan(
            [self._entry], [seed], pack=self.assets, initial=self.initial, steps=self.steps
        )
        specs = [spec for spec in plan if (spec.condition == CONTROL) == (self.condition == CONTROL)]
        if not specs:
            raise TaskError(
                f"{self._design.name} has no episode of {self.task} with seed {seed} in '{self.condition}'"
            )
        if len(conditions := list(dict.fromkeys(spec.condition for spec in specs))) > 1:
            raise TaskError(
                f"'{self.condition}' matches {len(conditions)} conditions; valid: one of them, such as {conditions[0]}"
            )
        return specs[seed % len(specs)]


class TaskEnvironment(gymnasium.Env[dict[str, Any], np.ndarray]):
    """One task under one condition.

    An episode is terminated when its goal holds and truncated at its horizon.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["rgb_array"], "render_fps": CONTROL_HZ}

    def __init__(
        self,
        task: str,
        condition: str = CONTROL,
        *,
        experiment: str | None = None,
        assets: str | None = None,
        states: str | Path | None = None,
        steps: int | None = None,
        size: int = 256,
        orientation: str = Orientation.ROTATED,
        images: bool = True,
        out: str | Path | None = None,
        policy: str = "gymnasium",
        render_mode: str | None = None,
    ) -> None:
        """``condition``: experiment and condition, ``x/level3``; ``states``: LIBERO's folder of stored initial states.

        Images are ``size`` x ``size``, oriented ``rotated`` (as `assay collect` records them), ``upright`` or ``raw``.
        Without ``images`` observations have only the state and the instruction, and nothing is rendered. Episodes are
        recorded in the run ``out`` under the name ``policy``; one that ``reset`` or ``close`` ends early counts as a
        failure if it had a step.
        """
        folder = None if states is None else Path(states)
        initial: Initial = "sampled" if folder is None else "stored"
        self._task = ConditionedTask(task, condition, experiment, assets, initial, steps)
        self._orientation = parse_orientation(orientation)
        if not 1 <= size <= MAX_IMAGE_SIDE:
            raise TaskError(f"size={size}: valid: 1 to {MAX_IMAGE_SIDE}")
        self._size, self._cameras = size, CAMERAS if images else {}
        path = None if out is None else Path(out)
        if path is not None:
            self._task.begin(path, policy, folder)
        self._player = HarnessPlayer(path, folder)
        self.render_mode = render_mode
        self.action_space = spaces.Box(-1.0, 1.0, (ACTION_SIZE,), np.float32)
        self.observation_space = spaces.Dict(
            {
                **{name: spaces.Box(0, 255, (size, size, 3), np.uint8) for name in self._cameras},
                "state": spaces.Box(-STATE_LIMIT, STATE_LIMIT, (STATE_SIZE,), np.float32),
                "instruction": InstructionSpace(tasks.load(task).instruction.text),
            }
        )

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Start the episode of a seed, by default a seed drawn from ``np_random``."""
        super().reset(seed=seed)
        if seed is None:
            stored = self._task.initial == "stored"
            seed = int(self.np_random.integers(STORED_STATES if stored else 2**31))
        self._player.leave()
        self._player.begin(self._task.episode(seed))
        return self._observe(), self._info()

    def step(self, action: np.ndarray) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Execute one action, (7,), for 50 ms; the reward is 1 when the goal is reached."""
        play = self.play
        play.step(action)
        if play.over:
            self._player.end()
        return self._observe(), float(play.succeeded), play.succeeded, play.truncated, self._info()

    def render(self) -> np.ndarray:
        """Render both cameras side by side, upright: uint8, (256, 512, 3)."""
        return self.play.env.frame(self.play.observation)

    def close(self) -> None:
        """Release the environment. An episode ended by an exception is not counted as the policy's failure."""
        if sys.exc_info()[0] is None:
            self._player.leave()
        else:
            self._player.abandon("the script aborted the episode")
        self._player.close()

    @property
    def play(self) -> Stepwise:
        """The current episode; ``env.unwrapped.play.finish()`` returns its record so far."""
        return self._player.play

    def _observe(self) -> dict[str, Any]:
        observation: Observation = self.play.observation
        return {
            **{
                name: orient(observation.image(camera, self._size), self._orientation)
                for name, camera in self._cameras.items()
            },
            "state": robot_state(observation),
            "instruction": self.play.instruction.text,
        }

    def _info(self) -> dict[str, Any]:
        spec = self.play.spec
        return {"is_success": self.play.succeeded, "seed": spec.seed, "condition": spec.condition}


def register() -> None:
    """Register ``assay/libero_goal-3-v0`` and the other built-in tasks, and ``assay/Task-v0`` with ``task=FILE``."""
    entry = f"{__name__}:{TaskEnvironment.__name__}"
    for name in tasks.built_in_ids():
        gymnasium.register(f"assay/{name.replace('/', '-')}-v0", entry, kwargs={"task": name})
    gymnasium.register("assay/Task-v0", entry)


register()
