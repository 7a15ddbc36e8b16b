"""Gymnasium environments; importing this module registers them.

import gymnasium
import assay.extensions.interop.bridges.gym

env = gymnasium.make("assay/libero_goal-3-v0", condition="x/level3")
observation, info = env.reset(seed=0)   # the episode that `assay run x` plays with seed 0
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces

from assay import tasks
from assay.episodes import CONTROL, Initial, Stepwise
from assay.errors import TaskError
from assay.extensions.interop.bridges.player import Player
from assay.extensions.interop.bridges.tasks import ConditionedTask
from assay.extensions.interop.bridges.words_space import WordsSpace
from assay.sim import Observation
from assay.sim.render import MOST_PIXELS
from assay.sim.simulation import ACTION_SIZE, CONTROL_HZ
from assay.support.images import Orientation, orient, parse_orientation
from assay.tasks.formats.lerobot_features import robot_state

CAMERAS = {"image": "agentview", "wrist_image": "robot0_eye_in_hand"}
"""What images are called in an observation, and their cameras."""
STATE_SIZE = 8
"""Position of the grip site 3, axis times angle of the hand 3, finger joints 2, as `assay collect` records them."""
FARTHEST = 10.0
"""Metres and radians: no number of a state is as large, wrong by a perturbation or not."""
STORED = 50
"""How many initial states LIBERO's files have of each task."""


class TaskEnvironment(gymnasium.Env[dict[str, Any], np.ndarray]):
    """One task, under one condition.

    An episode ends when its goal holds (terminated), or when its time is over (truncated).
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
        """``condition`` is that of an experiment, ``x/level3``; ``states`` LIBERO's folder of stored initial states.

        Images are ``size`` x ``size`` and lie as `assay collect` records them: ``rotated``, ``upright`` or ``raw``.
        Without ``images`` there is nothing but the state and the instruction, and nothing is rendered. Episodes
        are recorded in the run ``out``, under the name ``policy``; one that is left before its end, by ``reset`` or
        ``close``, as a failure if there was a step in it.
        """
        folder = None if states is None else Path(states)
        initial: Initial = "sampled" if folder is None else "stored"
        self._task = ConditionedTask(task, condition, experiment, assets, initial, steps)
        self._orientation = parse_orientation(orientation)
        if not 1 <= size <= MOST_PIXELS:
            raise TaskError(f"size={size}: valid: 1 to {MOST_PIXELS}")
        self._size, self._cameras = size, CAMERAS if images else {}
        path = None if out is None else Path(out)
        if path is not None:
            self._task.begin(path, policy, folder)
        self._player = Player(path, folder)
        self.render_mode = render_mode
        self.action_space = spaces.Box(-1.0, 1.0, (ACTION_SIZE,), np.float32)
        self.observation_space = spaces.Dict(
            {
                **{name: spaces.Box(0, 255, (size, size, 3), np.uint8) for name in self._cameras},
                "state": spaces.Box(-FARTHEST, FARTHEST, (STATE_SIZE,), np.float32),
                "instruction": WordsSpace(tasks.load(task).instruction.text),
            }
        )

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin the episode of a seed; without one, that of a seed drawn from ``np_random``."""
        super().reset(seed=seed)
        if seed is None:
            stored = self._task.initial == "stored"
            seed = int(self.np_random.integers(STORED if stored else 2**31))
        self._player.leave()
        self._player.begin(self._task.episode(seed))
        return self._observed(), self._info()

    def step(self, action: np.ndarray) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Carry out one action, (7,), for 50 ms; the reward is 1 when the goal is reached."""
        play = self.play
        play.step(action)
        if play.over:
            self._player.end()
        return self._observed(), float(play.succeeded), play.succeeded, play.truncated, self._info()

    def render(self) -> np.ndarray:
        """Both cameras side by side, upright: uint8, (256, 512, 3)."""
        return self.play.env.frame(self.play.observation)

    def close(self) -> None:
        """Give back what it holds. An episode that an exception ends is no failure of the policy."""
        if sys.exc_info()[0] is None:
            self._player.leave()
        else:
            self._player.abandon("the script broke the episode off")
        self._player.close()

    @property
    def play(self) -> Stepwise:
        """The episode; ``env.unwrapped.play.ended()`` is its record until now."""
        return self._player.play

    def _observed(self) -> dict[str, Any]:
        seen: Observation = self.play.observation
        return {
            **{
                name: orient(seen.image(camera, self._size), self._orientation)
                for name, camera in self._cameras.items()
            },
            "state": robot_state(seen),
            "instruction": self.play.instruction.text,
        }

    def _info(self) -> dict[str, Any]:
        spec = self.play.spec
        return {"is_success": self.play.succeeded, "seed": spec.seed, "condition": spec.condition}


def register() -> None:
    """Make ``assay/libero_goal-3-v0`` and all built-in tasks known, and ``assay/Task-v0`` with ``task=FILE``."""
    entry = f"{__name__}:{TaskEnvironment.__name__}"
    for name in tasks.built_in_ids():
        gymnasium.register(f"assay/{name.replace('/', '-')}-v0", entry, kwargs={"task": name})
    gymnasium.register("assay/Task-v0", entry)


register()
