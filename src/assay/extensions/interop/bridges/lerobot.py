"""Environments of the plugin ``lerobot_env_assay``, which present a planned task through LeRobot's interface.

Only Gymnasium is needed. LeRobot's loop steps a batch of environments until all are done, and Gymnasium resets those
that finish early. LeRobot does not intend these resets, so they are ignored: the last step is repeated until LeRobot
starts its next rollout.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, ClassVar, Unpack

import gymnasium
import numpy as np
from gymnasium import spaces

from assay.episodes import Stepwise, horizon, task_of
from assay.experiments.base import EXPERIMENTS
from assay.extensions.interop.bridges.player import HarnessPlayer
from assay.runs.options import RunOptions, RunOptionsDict
from assay.runs.plan import PlannedTask, planned_tasks
from assay.runs.recording import begin
from assay.sim import Observation
from assay.sim.simulation import ACTION_SIZE, CONTROL_HZ
from assay.support.console import number_of
from assay.support.images import Orientation, orient, parse_orientation
from assay.tasks.formats.lerobot import CAMERAS, STATE_NAMES, robot_state

NEW_ROLLOUT = "lerobot_new_rollout"
"""Option of ``reset`` with which LeRobot starts a rollout."""
PIXELS = {feature.rpartition(".")[2]: camera for feature, camera in CAMERAS.items()}
"""LeRobot's name for an image -> its camera, as in `assay collect`."""

Step = tuple[dict[str, Any], float, bool, bool, dict[str, Any]]


def suites(
    task: str, *, out: str | None = None, policy: str = "lerobot", **options: Unpack[RunOptionsDict]
) -> dict[str, dict[int, PlannedTask]]:
    """Return the conditions of ``EXPERIMENT/TASKS``, or of ``TASKS`` alone, as LeRobot suites of numbered tasks.

    Takes the options of ``assay run`` and creates the run ``out``.
    """
    experiment, _, selection = task.partition("/")
    if experiment.partition("?")[0] not in EXPERIMENTS:
        experiment, selection = "libero", task
    chosen = RunOptions.of(RunOptions.of(None, **options), tasks=selection or None)
    by_condition: dict[str, dict[int, PlannedTask]] = {}
    for planned_task in planned_tasks(begin(None if out is None else Path(out), experiment, policy, chosen)):
        tasks = by_condition.setdefault(planned_task.condition, {})
        number = planned_task.task.rpartition("/")[2]
        index = int(number) if number.isdigit() and int(number) not in tasks else len(tasks)
        while index in tasks:
            index += 1
        tasks[index] = planned_task
    return by_condition


class PlannedEnvironment(gymnasium.Env[dict[str, Any], np.ndarray]):
    """Environment that runs every ``of``-th episode of a planned task; ``of`` environments form a batch."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["rgb_array"], "render_fps": CONTROL_HZ}

    def __init__(
        self,
        planned: PlannedTask,
        index: int = 0,
        of: int = 1,
        *,
        out: str | None = None,
        states: str | None = None,
        size: int = 256,
        orientation: str = Orientation.ROTATED,
        wait: int = 10,
        render_mode: str = "rgb_array",
    ) -> None:
        """Create the environment.

        Each episode starts with ``wait`` idle steps, which are not counted, as in LeRobot's LIBERO.
        """
        self._planned, self._next, self._of = planned, index, of
        self._player = HarnessPlayer(
            None if out is None else Path(out), None if states is None else Path(states)
        )
        self._size, self._orientation, self._wait = size, parse_orientation(orientation), wait
        self._last: Step | None = None
        self.render_mode = render_mode
        self.task = planned.name
        self.task_description = task_of(planned.specs[0]).instruction.text
        """Instruction of the current episode, or of the first one if none has started."""
        self._max_episode_steps = max(map(horizon, planned.specs))
        image = spaces.Box(0, 255, (size, size, 3), np.uint8)
        self.observation_space = spaces.Dict(
            {
                "pixels": spaces.Dict(dict.fromkeys(PIXELS, image)),
                "agent_pos": spaces.Box(-np.inf, np.inf, (len(STATE_NAMES),), np.float32),
            }
        )
        self.action_space = spaces.Box(-1.0, 1.0, (ACTION_SIZE,), np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Start the next episode; LeRobot's seed is ignored, so that conditions and controls share initial states."""
        super().reset(seed=seed)
        if self._last is not None and not (options or {}).get(NEW_ROLLOUT):
            return self._last[0], self._last[4]
        if self._next >= len(self._planned.specs):
            count = len(self._planned.specs)
            warnings.warn(
                f"{self.task} has only {number_of(count, 'episode')}, so they are repeated; increase --env.seeds",
                stacklevel=2,
            )
        play = self._player.begin(self._planned.episode(self._next), self._wait)
        self._next += self._of
        self._last = None
        self.task_description = play.instruction.text
        return self._observe(), self._info(play)

    def step(self, action: np.ndarray) -> Step:
        """Execute one action, shape (7,). Once the episode is over, return the last step again."""
        if self._last is not None:
            observation, _, terminated, truncated, info = self._last
            return observation, 0.0, terminated, truncated, info
        play = self._player.play
        play.step(action)
        self.task_description = play.instruction.text  # an event may have changed it
        result: Step = (
            self._observe(),
            float(play.succeeded),
            play.succeeded,
            play.truncated,
            self._info(play),
        )
        if play.over:
            self._player.end()
            self._last = result
        return result

    def render(self) -> np.ndarray:
        """Render both cameras side by side, upright."""
        play = self._player.play
        return play.env.frame(play.observation)

    def close(self) -> None:
        """Release the environment."""
        self._player.close()

    def _observe(self) -> dict[str, Any]:
        observation: Observation = self._player.play.observation
        images = {
            name: orient(observation.image(camera, self._size), self._orientation)
            for name, camera in PIXELS.items()
        }
        return {"pixels": images, "agent_pos": robot_state(observation)}

    def _info(self, play: Stepwise) -> dict[str, Any]:
        return {"is_success": play.succeeded, "task": self.task}
