from __future__ import annotations

import multiprocessing
from collections import deque
from typing import Any

import pytest

from assay.extensions.dropin import benchmark
from assay.extensions.dropin.env_wrapper import OffScreenRenderEnv
from assay.extensions.dropin.venv import BaseVectorEnv, EnvWorker


class Piped(EnvWorker):
    """Its answers wait until they are heard, as those of a process do."""

    def __init__(self, make: Any) -> None:
        self._step = make()
        self._answers: deque[Any] = deque()

    def send_call(self, name: str, *arguments: Any, **named: Any) -> None:
        try:
            self._answers.append(self._step(*arguments))
        except ValueError as error:
            self._answers.append(error)

    def recv(self) -> Any:
        answer = self._answers.popleft()
        if isinstance(answer, Exception):
            raise answer
        return answer


def _step(action: float) -> tuple[dict[str, float], float, bool, dict[str, Any]]:
    if action < 0:
        raise ValueError("refused")
    return {"seen": action}, 0.0, False, {}


def _play(file: str, results: Any) -> None:
    env = OffScreenRenderEnv(bddl_file_name=file, camera_heights=16, camera_widths=16)
    env.reset()
    results.put(env.step([0.1] * 7)[0])  # pickled by a thread of the queue's
    results.close()
    results.join_thread()
    env.close()


@pytest.mark.usefixtures("drawing")
def test_a_process_can_put_observations_into_a_queue():
    spawn = multiprocessing.get_context("spawn")
    results = spawn.Queue()
    file = benchmark.get_benchmark("libero_goal")().get_task_bddl_file_path(7)
    process = spawn.Process(target=_play, args=(file, results))
    process.start()
    assert results.get(timeout=300)["agentview_image"].shape == (16, 16, 3)
    process.join()


def test_no_stale_result_remains_after_an_error():
    envs = BaseVectorEnv([lambda: _step] * 3, Piped)
    with pytest.raises(ValueError, match="refused"):
        envs.step([1.0, -1.0, 1.0])
    seen = envs.step([2.0, 3.0, 4.0])[0]
    assert [each["seen"] for each in seen] == [2.0, 3.0, 4.0]
