"""Program for an environment with vla-eval: its real connection and episode runner, against Assay's server."""

import json
import sys

import anyio
import numpy as np
from vla_eval.benchmarks.base import StepBenchmark, StepResult
from vla_eval.connection import Connection
from vla_eval.runners.sync_runner import SyncEpisodeRunner


class Bench(StepBenchmark):
    """A benchmark whose observations come from a file; it records the actions."""

    def __init__(self, given: str) -> None:
        super().__init__()
        self.seen = dict(np.load(given))
        self.actions: list = []

    def get_tasks(self):
        return []

    def reset(self, task):
        self.actions = []
        return None

    def step(self, action):
        self.actions.append(action["actions"].tolist())
        return StepResult(obs=None, reward=0.0, done=False, info={})

    def make_obs(self, raw, task):
        images = {name: self.seen[name] for name in ("agentview", "wrist")}
        return {"images": images, "states": self.seen["states"], "task_description": task["name"]}

    def get_step_result(self, result):
        return {"success": False}


async def play(port: str, given: str, tasks: str) -> None:
    """Run an episode of each task, and print the actions."""
    bench = Bench(given)
    async with Connection(f"ws://127.0.0.1:{port}", max_retries=1) as connection:
        print(json.dumps(connection.server_info))
        for task in json.loads(tasks):
            try:
                await SyncEpisodeRunner().run_episode(bench, task, connection, max_steps=task["steps"])
                print(json.dumps({"actions": bench.actions}))
            except RuntimeError as error:
                print(json.dumps({"error": str(error)}))


async def rotations(given: str, written: str) -> None:
    """Compute vla-eval's two rotation vectors of each quaternion (x, y, z, w)."""
    from vla_eval.benchmarks.libero.benchmark import _quat_to_axisangle_robosuite
    from vla_eval.rotation import quat_to_axisangle

    quaternions = np.load(given)
    np.savez(
        written,
        robosuite=[_quat_to_axisangle_robosuite(each) for each in quaternions],
        shortest=[quat_to_axisangle(each) for each in quaternions],
    )


if __name__ == "__main__":
    anyio.run(globals()[sys.argv[1]], *sys.argv[2:])
