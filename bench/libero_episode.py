"""A script written for LIBERO: executes seeded actions from a stored state and records its observations.

    python libero_episode.py SUITE TASK STEPS EVERY [KEPT.npz [FIXTURES.npz]]

Reads both 256 x 256 images in every EVERY-th step. Prints JSON: processor seconds of an episode, including its reset.
With KEPT, all observations are written to that file. FIXTURES stores the poses of fixtures, which LIBERO samples again
in every episode: it is read if it exists and written otherwise.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
from libero.libero import benchmark, get_libero_path
from libero.libero.envs import OffScreenRenderEnv

suite_name, task_id, steps, every = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
kept, fixtures = ([*sys.argv[5:], "", ""])[:2]
try:  # newer versions of torch refuse LIBERO's files
    import torch

    load = torch.load
    torch.load = lambda *given, **named: load(*given, **{**named, "weights_only": False})
except ImportError:
    pass
suite = benchmark.get_benchmark_dict()[suite_name]()
task, states = suite.get_task(task_id), suite.get_task_init_states(task_id)
env = OffScreenRenderEnv(
    bddl_file_name=str(Path(get_libero_path("bddl_files"), task.problem_folder, task.bddl_file)),
    camera_heights=256,
    camera_widths=256,
)
env.seed(0)
found: dict[str, list[np.ndarray]] = {}


def keep(seen):
    for key, value in {**seen, "sim_state": env.get_sim_state()}.items():
        found.setdefault(key, []).append(np.array(value))


def episode():
    env.reset()
    bodies = [env.sim.model.body_name2id(each.root_body) for each in env.env.fixtures_dict.values()]
    if fixtures and Path(fixtures).exists():
        poses = np.load(fixtures)["poses"]
        env.sim.model.body_pos[bodies], env.sim.model.body_quat[bodies] = poses[:, :3], poses[:, 3:]
    seen = env.set_init_state(states[0])
    if fixtures and not Path(fixtures).exists():
        np.savez(fixtures, poses=np.hstack([env.sim.model.body_pos[bodies], env.sim.model.body_quat[bodies]]))
    rng = np.random.default_rng(0)
    for step in range(steps):
        if kept:
            keep(seen)
        if step % every == 0:
            seen["agentview_image"].mean(), seen["robot0_eye_in_hand_image"].mean()
        action = [0.0] * 6 + [-1.0] if step < 10 else np.clip(rng.normal(0, 0.6, 7), -1, 1)
        seen, _, _, _ = env.step(action)
    if kept:
        keep(seen)
        np.savez(kept, **{key: np.array(values) for key, values in found.items()})


def seconds():
    start = time.process_time()
    episode()
    return time.process_time() - start


# The first episode makes what is made once; of two more the quicker counts, as other processes may slow one down.
print(json.dumps({"seconds": seconds() if kept else min([seconds() for _ in range(3)][1:])}))
