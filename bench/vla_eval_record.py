"""Makes a recording with vla-eval itself, of a benchmark without a simulator; run by an interpreter that has vla-eval.

It reports as vla-eval's own LIBERO benchmark does: suite, executed action (7), state (8). One episode breaks.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import vla_eval.api
from vla_eval.benchmarks.base import StepBenchmark, StepResult
from vla_eval.model_servers.predict import PredictModelServer

TASKS = ["open the middle drawer of the cabinet", "turn on the stove"]
FAR = {"libero_goal": 0.05, "libero_goal_swap": 0.2}


class Tiny(StepBenchmark):
    """A point that is to be pushed to the side."""

    _ALL_RECORD_FIELDS = frozenset({"reward", "done", "success", "action", "state"})
    render_backends = frozenset({"cpu", "gpu"})

    @classmethod
    def configure_render(cls, mode):
        return {}

    def __init__(self, suite="libero_goal", seed=7, breaks=-1):
        super().__init__()
        self.suite, self.breaks = suite, breaks

    def cleanup(self):
        pass

    def get_tasks(self):
        return [{"name": name, "suite": self.suite, "task_id": at} for at, name in enumerate(TASKS)]

    def reset(self, task):
        if task["task_id"] == 1 and task["episode_idx"] == self.breaks:
            raise RuntimeError("the simulator broke")
        self.hand = np.array([0.1 * task["episode_idx"], 0, 0.3])
        return self.hand

    def step(self, action):
        told = np.asarray(action["actions"], np.float32)
        self.hand = self.hand + 0.01 * told[:3]
        done = bool(self.hand[1] > FAR[self.suite])
        state = np.concatenate([self.hand, np.zeros(3), [0.04, -0.04]]).astype(np.float32)
        self._recorder.record_step(reward=float(done), done=done, success=done, action=told, state=state)
        return StepResult(obs=self.hand, reward=float(done), done=done, info={})

    def make_obs(self, raw_obs, task):
        return {"images": {}, "states": np.asarray(raw_obs, np.float32), "task_description": task["name"]}

    def get_step_result(self, step_result):
        return {"success": step_result.done}

    def get_metadata(self):
        return {"max_steps": 12}


class Model(PredictModelServer):
    """Pushes to the side."""

    def predict(self, obs, ctx):
        return {"actions": np.array([0, 1, 0, 0, 0, 0, -1], np.float32)}


def main(out: str) -> None:
    sys.modules["vla_eval_record"] = sys.modules["__main__"]
    entry = {"benchmark": "vla_eval_record:Tiny", "episodes_per_task": 3}
    benchmarks = [
        entry | {"name": "usual", "params": {"suite": "libero_goal", "breaks": 2}},
        entry | {"name": "swap", "params": {"suite": "libero_goal_swap"}},
    ]
    config = {"benchmarks": benchmarks, "recording": {"record_step": True, "record_video": False}}
    found = vla_eval.api.evaluate(Model(), config, output_dir=out, docker=False)
    told = {each["benchmark"]: each["tasks"] for each in found}
    Path(out, "told.json").write_text(json.dumps(told, default=str))


if __name__ == "__main__":
    main(sys.argv[1])
