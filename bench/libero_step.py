"""Time LIBERO's own control step.

Runs in an interpreter that has LIBERO and robosuite; reads a BDDL file from standard input and prints JSON.
"""

import json
import statistics
import sys
import tempfile
import time

import numpy as np
from libero.libero.envs.env_wrapper import ControlEnv

with tempfile.NamedTemporaryFile("w", suffix=".bddl") as file:
    file.write(sys.stdin.read())
    file.flush()
    env = ControlEnv(bddl_file_name=file.name, has_offscreen_renderer=False, use_camera_obs=False)
env.reset()
phase = np.linspace(0, 2 * np.pi, 60)[:, None]
actions = 0.3 * np.sin(phase + np.arange(7))
actions[:, 6] = -1.0
times = []
for action in actions:
    start = time.perf_counter()
    env.step(action)
    times.append((time.perf_counter() - start) * 1e3)
print(json.dumps({"milliseconds": statistics.median(times)}))
