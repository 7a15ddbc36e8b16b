"""One policy in two forms: as Assay calls it, and inside a script written for LIBERO."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

SIZE, STEPS = 64, 40


def action(words: str, position: np.ndarray, image: np.ndarray, step: int) -> np.ndarray:
    """A policy whose actions depend on the instruction, the end-effector position and every pixel."""
    turn = 0.1 * image.mean() / 255
    grip = np.sign(np.sin(step / 9) + 0.1)
    return np.concatenate([np.sin(position * 40 + len(words)), [turn, -turn, turn], [grip]])


class Waving:
    def reset(self, instruction: Any, spec: Any) -> None:
        self._words, self._step = str(instruction), 0

    def act(self, observation: Any) -> np.ndarray:
        image = observation.image("agentview", SIZE)[::-1]
        given = action(self._words, observation.eef_position, image, self._step)
        self._step += 1
        return given[None]


def script(suite_name: str) -> None:
    from libero.libero import benchmark, get_libero_path
    from libero.libero.envs import OffScreenRenderEnv

    suite = benchmark.get_benchmark_dict()[suite_name]()
    for number in range(suite.n_tasks):
        task, states = suite.get_task(number), suite.get_task_init_states(number)
        file = Path(get_libero_path("bddl_files"), task.problem_folder, task.bddl_file)
        env = OffScreenRenderEnv(bddl_file_name=file, camera_heights=SIZE, camera_widths=SIZE)
        env.seed(0)
        for state in states:
            env.reset()
            seen = env.set_init_state(state)
            for step in range(STEPS):
                given = action(task.language, seen["robot0_eef_pos"], seen["agentview_image"], step)
                seen, _, done, _ = env.step(given)
                if done:
                    break


if __name__ == "__main__":
    script(sys.argv[1])
