"""Gymnasium environments; importing this module registers them.

import gymnasium
import assay.extensions.interop.bridges.gym

env = gymnasium.make("assay/libero_goal-3-v0", condition="x/level3")
observation, info = env.reset(seed=0)   # the episode that `assay run x` runs with seed 0
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces

from assay import tasks
from assay.episodes import CONTROL, LIBERO, EpisodeSpec, Initial, Stepwise, world_name, world_of
from assay.errors import TaskError
from assay.experiments import load_experiment
from assay.extensions.interop.bridges.player import HarnessPlayer
from assay.runs.options import RunOptions
from assay.runs.recording import begin
from assay.sim import Observation
from assay.sim.render import MAX_IMAGE_SIDE
from assay.sim.simulation import ACTION_SIZE, CONTROL_HZ
from assay.support.images import Orientation, orient, parse_orientation
from assay.tasks.formats.lerobot import STATE_NAMES, robot_state

CAMERAS = {"image": "agentview", "wrist_image": "robot0_eye_in_hand"}
"""Name of an image in observations -> its camera."""
STATE_LIMIT = 10.0
"""Bound on the absolute value of each state entry, in metres or radians, also in perturbed observations."""
STORED_STATES = 50
"""Number of stored initial states per task in LIBERO's files."""


class TaskEnvironment(gymnasium.Env[dict[str, Any], np.ndarray]):
    """A task in LIBERO's world under one condition of an experiment; each seed gives one episode.

    An episode is terminated when its goal holds and truncated at its horizon. The instruction, which an event may
    change, is in ``info``.
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
        """Create the environment for a ``task``: an id such as ``libero_goal/3``, or a task file.

        ``condition`` is an experiment and its condition, such as ``x/level3``; ``experiment`` is the experiment's
        address if it has options. ``states`` is LIBERO's folder of stored initial states, ``steps`` the maximum
        number of control steps. Images are ``size`` x ``size``, oriented ``rotated`` (as `assay collect` records
        them), ``upright`` or ``raw``. Without ``images``, observations contain only the state, and nothing is
        rendered. Episodes are recorded in the run ``out`` under the name ``policy``; an episode that ``reset`` or
        ``close`` ends early counts as a failure if it had at least one step. Raises AssayError for invalid
        arguments.
        """
        if world_name(task) != LIBERO:
            raise TaskError(f"'{task}' is not a task in LIBERO's world, which this environment requires")
        if steps is not None and steps < 1:
            raise TaskError(f"steps={steps}: expected an integer >= 1")
        if not 1 <= size <= MAX_IMAGE_SIDE:
            raise TaskError(f"size={size}: expected 1 to {MAX_IMAGE_SIDE}")
        entries = world_of(task).select(task)
        if len(entries) != 1:
            raise TaskError(
                f"'{task}' selects {len(entries)} tasks; expected exactly one, for example libero_goal/3"
            )
        name, slash, _ = condition.partition("/")
        if experiment is None and condition != CONTROL and not slash:
            raise TaskError(
                f"condition '{condition}': expected {CONTROL}, or EXPERIMENT/CONDITION, for example x/level3"
            )
        design = load_experiment(experiment or ("libero" if condition == CONTROL else name))
        self._design = design.only(None if condition == CONTROL else condition)
        folder = None if states is None else Path(states)
        self._entry, self._condition, self._assets, self._steps = entries[0], condition, assets, steps
        self._initial: Initial = "sampled" if folder is None else "stored"
        # Raises now, not at the first reset, if the assets or the condition are missing.
        world_of(task).digest(self._design.checked_pack(assets, self._initial))
        self._spec(0)
        self._orientation = parse_orientation(orientation)
        self._size, self._cameras = size, CAMERAS if images else {}
        path = None if out is None else Path(out)
        if path is not None:
            options = RunOptions(tasks=task, seeds=(), assets=assets, states=folder, certified=False)
            begin(path, self._design, policy, options)
        self._player = HarnessPlayer(path, folder)
        self.render_mode = render_mode
        self.action_space = spaces.Box(-1.0, 1.0, (ACTION_SIZE,), np.float32)
        self.observation_space = spaces.Dict(
            {
                **{name: spaces.Box(0, 255, (size, size, 3), np.uint8) for name in self._cameras},
                "state": spaces.Box(-STATE_LIMIT, STATE_LIMIT, (len(STATE_NAMES),), np.float32),
            }
        )

    def _spec(self, seed: int) -> EpisodeSpec:
        """Return the spec of the experiment's episode for a seed; seeds cycle through the variants of a condition."""
        plan = self._design.plan(
            [self._entry], [seed], pack=self._assets, initial=self._initial, steps=self._steps
        )
        specs = [spec for spec in plan if (spec.condition == CONTROL) == (self._condition == CONTROL)]
        if not specs:
            raise TaskError(
                f"{self._design.name} has no episode with seed {seed} under the condition '{self._condition}'"
            )
        if len(conditions := list(dict.fromkeys(spec.condition for spec in specs))) > 1:
            raise TaskError(
                f"'{self._condition}' matches {len(conditions)} conditions; choose one, for example {conditions[0]}"
            )
        return specs[seed % len(specs)]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Start the episode for a seed, which is drawn from ``np_random`` by default."""
        super().reset(seed=seed)
        if seed is None:
            stored = self._initial == "stored"
            seed = int(self.np_random.integers(STORED_STATES if stored else 2**31))
        self._player.leave()
        self._player.begin(self._spec(seed))
        return self._observe(), self._info()

    def step(self, action: np.ndarray) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Execute one action, shape (7,), for 50 ms; the reward is 1 when the goal is reached."""
        play = self.play
        play.step(action)
        if play.over:
            self._player.end()
        return self._observe(), float(play.succeeded), play.succeeded, play.truncated, self._info()

    def render(self) -> np.ndarray:
        """Render both cameras side by side, upright, as a uint8 image of shape (256, 512, 3)."""
        return self.play.env.frame(self.play.observation)

    def close(self) -> None:
        """Release the environment. An episode ended by an exception does not count as a failure of the policy."""
        if sys.exc_info()[0] is None:
            self._player.leave()
        else:
            self._player.abandon("the script aborted the episode")
        self._player.close()

    @property
    def play(self) -> Stepwise:
        """The current episode, as a stepwise rollout; ``env.unwrapped.play.finish()`` returns the episode so far."""
        return self._player.play

    def _observe(self) -> dict[str, Any]:
        observation: Observation = self.play.observation
        return {
            **{
                name: orient(observation.image(camera, self._size), self._orientation)
                for name, camera in self._cameras.items()
            },
            "state": robot_state(observation),
        }

    def _info(self) -> dict[str, Any]:
        play = self.play
        return {
            "instruction": play.instruction.text,
            "is_success": play.succeeded,
            "seed": play.spec.seed,
            "condition": play.spec.condition,
        }


def register() -> None:
    """Register the built-in tasks (``assay/libero_goal-3-v0``, ...) and ``assay/Task-v0``, used with ``task=FILE``."""
    entry = f"{__name__}:{TaskEnvironment.__name__}"
    for name in tasks.built_in_ids():
        gymnasium.register(f"assay/{name.replace('/', '-')}-v0", entry, kwargs={"task": name})
    gymnasium.register("assay/Task-v0", entry)


register()
