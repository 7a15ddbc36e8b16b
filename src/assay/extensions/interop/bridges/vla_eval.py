"""An experiment as a vla-eval benchmark, loaded by class path.

    server: {url: "ws://localhost:8000"}
    benchmarks:
      - benchmark: "assay.extensions.interop.bridges.vla_eval:AssayBenchmark"
        episodes_per_task: 5                      # the first five seeds
        params: {experiment: pro, tasks: libero_goal, seeds: 5, assets: libero, out: runs/mine.assay}

    vla-eval run --no-docker --config mine.yaml

Messages, idle steps and action handling are the same as in Assay's vla-eval client (``vla-eval://``).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Unpack

import numpy as np
from vla_eval import specs
from vla_eval.benchmarks.base import StepBenchmark, StepResult
from vla_eval.specs import DimSpec

from assay.episodes import horizon
from assay.errors import PolicyError
from assay.extensions.interop.bridges.player import HarnessPlayer
from assay.policies.remote.convention import Convention, controller_state
from assay.policies.remote.vla_eval import CONTROLLER_STATES, CONVENTION, adopt_parameters
from assay.policies.simple import STILL
from assay.runs.options import RunOptions, RunOptionsDict
from assay.runs.plan import planned_tasks
from assay.runs.recording import begin
from assay.sim import Observation

ABORTED = "the harness aborted the episode"


class AssayBenchmark(StepBenchmark):
    """An experiment as a benchmark: a vla-eval task for each condition of a task, and an episode for each seed."""

    render_backends: ClassVar[frozenset[str]] = frozenset({"gpu", "cpu"})
    _ALL_RECORD_FIELDS: ClassVar[frozenset[str]] = frozenset({"reward", "done", "success", "action", "state"})

    @classmethod
    def configure_render(cls, mode: str) -> dict[str, str]:
        """Return no environment variables, because Assay detects the GL backend."""
        return {}

    def __init__(
        self,
        experiment: str = "libero",
        out: str | None = None,
        policy: str = "vla-eval",
        send_wrist_image: bool = False,
        send_state: bool = False,
        quat_no_antipodal: bool = False,
        absolute_action: bool = False,
        num_steps_wait: int = CONVENTION.wait,
        **options: Unpack[RunOptionsDict],
    ) -> None:
        """Create the benchmark: ``out`` is the run, ``policy`` the model's name, ``options`` those of ``assay run``.

        The other parameters are those of vla-eval's LIBERO benchmark; a model server that declares its requirements
        overrides them.
        """
        super().__init__()
        chosen = RunOptions.of(None, **options)
        path = None if out is None else Path(out)
        self._tasks = {
            planned_task.name: planned_task
            for planned_task in planned_tasks(begin(path, experiment, policy, chosen))
        }
        self._player = HarnessPlayer(path, chosen.states)
        wanted = {
            "send_wrist_image": send_wrist_image,
            "send_state": send_state,
            "quat_no_antipodal": quat_no_antipodal,
            "absolute_action": absolute_action,
        }
        self._convention: Convention = replace(adopt_parameters(CONVENTION, wanted), wait=num_steps_wait)

    def get_tasks(self) -> list[dict[str, Any]]:
        """Return a vla-eval task for each condition of each task."""
        return [
            {"name": task.name, "suite": task.condition, "task_id": number, "assay_task": task.task}
            for number, task in enumerate(self._tasks.values())
        ]

    def reset(self, task: dict[str, Any]) -> Observation:
        """Start an episode and wait for the objects to settle."""
        self._player.abandon(ABORTED)
        spec = self._tasks[task["name"]].episode(int(task.get("episode_idx", 0)))
        observation: Observation = self._player.begin(spec, self._convention.wait).observation
        return observation

    def step(self, action: dict[str, Any]) -> StepResult:
        """Execute the model server's action."""
        play = self._player.play
        try:
            (executed, *_) = self._convention.decode_actions(action.get("actions", action.get("action")))
        except ValueError as error:
            raise PolicyError(str(error)) from None
        play.step(executed, absolute=self._convention.absolute)
        self._recorder.record_step(
            reward=float(play.succeeded),
            done=play.over,
            success=play.succeeded,
            action=np.asarray(executed, np.float32),
            state=self._convention.state_vector(play.observation).astype(np.float32),
        )
        return StepResult(play.observation, float(play.succeeded), play.over, {"success": play.succeeded})

    def make_obs(self, raw_obs: Observation, task: dict[str, Any]) -> dict[str, Any]:
        """Return the message for the model server."""
        convention = self._convention
        sent: dict[str, Any] = {
            "images": convention.images(raw_obs),
            convention.prompt: self._player.play.instruction.text,
        }
        if convention.state is not None:
            sent[convention.state] = convention.state_vector(raw_obs)
            sent[CONTROLLER_STATES] = controller_state(raw_obs)
        return sent

    def get_step_result(self, step_result: StepResult) -> dict[str, Any]:
        """Record the finished episode and return its result."""
        self._player.end()
        return {"success": self._player.play.succeeded}

    def get_metadata(self) -> dict[str, Any]:
        """Return the maximum number of steps per episode and of episodes per task."""
        planned = [spec for task in self._tasks.values() for spec in task.specs]
        return {
            "max_steps": max(map(horizon, planned)),
            "max_episodes_per_task": max(len(task.specs) for task in self._tasks.values()),
        }

    def get_hold_action(self, last_action: dict[str, Any] | None) -> dict[str, Any]:
        """Return the action that holds the current pose of the arm and the last gripper command."""
        held = STILL.copy()
        if self._convention.absolute:
            held[:6] = controller_state(self._player.play.observation)[:6]
        if last_action is not None:
            (last, *_) = self._convention.decode_actions(
                last_action.get("actions", last_action.get("action"))
            )
            held[6] = last[6]
        return {"actions": held}

    def get_action_spec(self) -> dict[str, DimSpec]:
        """Return LIBERO's action specification."""
        position = specs.POSITION_ABSOLUTE if self._convention.absolute else specs.POSITION_DELTA
        return {"position": position, "rotation": specs.ROTATION_AA, "gripper": specs.GRIPPER_CLOSE_POS}

    def get_observation_spec(self) -> dict[str, DimSpec]:
        """Return LIBERO's observation specification, restricted to the observations that are sent."""
        sent = {"agentview": specs.IMAGE_RGB, "language": specs.LANGUAGE}
        if len(self._convention.cameras) > 1:
            sent["wrist"] = specs.IMAGE_RGB
        if self._convention.state is not None:
            sent["state"] = specs.STATE_EEF_POS_AA_GRIP
        return sent

    def render(self) -> np.ndarray:
        """Render both cameras side by side, upright, as a uint8 image of shape (256, 512, 3)."""
        play = self._player.play
        return play.env.frame(play.observation)

    def cleanup(self) -> None:
        """Release the environment."""
        self._player.abandon(ABORTED)
        self._player.close()
