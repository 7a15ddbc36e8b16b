"""Output of `assay libero`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

SCRIPT = """
import os
from libero.libero import benchmark, get_libero_path
from libero.libero.envs import OffScreenRenderEnv

suite = benchmark.get_benchmark_dict()["libero_goal"]()
task = suite.get_task(1)
file = os.path.join(get_libero_path("bddl_files"), task.problem_folder, task.bddl_file)
env = OffScreenRenderEnv(bddl_file_name=file)
env.reset()
env.set_init_state(suite.get_task_init_states(1)[0])
env.step([0.1] * 7)
try:
    env.step([float("nan")] * 7)
except Exception:
    pass
"""


def test_errors_and_unplayed_tasks_are_reported(assay: Callable, tmp_path: Path):
    file, out = tmp_path / "main.py", tmp_path / "mine.assay"
    file.write_text(SCRIPT)
    asked = ("--tasks", "libero_goal/7", "--conditions", "words=empty", "--seeds", "1", "--uncertified")
    said = assay("libero", "--experiment", "pro", *asked, "--out", out, "--", "python", file)
    assert said.status == 1
    assert "1 x error: step 1: the action holds values that are not finite" in said.out
    assert "--retry-errors plays" in said.out
    assert f"1 episode recorded in {out}, 1 planned episode left\n" in said.out
    assert (
        "without playing task 0 of libero_goal. With --experiment these are not LIBERO's numbers" in said.out
    )


def test_run_options_need_an_experiment(assay: Callable):
    for option in (("--steps", "5"), ("--label", "mine"), ("--each-a-task",), ("--uncertified",)):
        said = assay("libero", *option, "--", "python", "main.py")
        assert said.status == 2 and "is for --experiment NAME" in said.err
