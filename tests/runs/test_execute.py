"""Episodes that a command runs, and files that it leaves."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from assay.errors import AssayError, RunError
from assay.runs.driver import Ending
from assay.runs.execute import Observer, execute, make_executor
from assay.runs.executor import WorkerConfig
from assay.runs.options import RunOptions
from assay.runs.store import Store

WIDE = RunOptions(tasks="libero_goal/7,libero_goal/0", seeds=(0, 1), steps=1, workers=0)


class AtOnce(Observer):
    """Stops before the first episode."""

    def stopping(self) -> bool:
        return True


def test_fewer_tasks_or_seeds_in_the_same_file_are_all_that_is_run(tmp_path: Path):
    path = tmp_path / "run.assay"
    assert execute("libero", "idle", path, WIDE, AtOnce()) == Ending(0, 4)
    narrow = replace(WIDE, tasks="libero_goal/7", seeds=(1,))
    assert execute("libero", "idle", path, narrow) == Ending(1, 0)
    with Store.reading(path) as store:
        assert store.frame().select("task", "seed").rows() == [("libero_goal/7", 1)] and store.planned == 4


def test_a_complete_run_removes_the_temporary_folders_of_a_killed_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    execute("libero", "idle", tmp_path / "run.assay", WIDE)
    code = (
        "import os; from assay.support.files import scratch_folder; "
        "folder = scratch_folder(); print(folder.name, flush=True); os._exit(0)"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    killed = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert Path(killed.stdout.strip()).is_dir()
    execute("libero", "idle", tmp_path / "run.assay", WIDE)
    assert [path.name for path in tmp_path.iterdir()] == ["run.assay"]


@pytest.mark.parametrize(
    "policy", ["orakle", "python:no_such_module:Policy", "python:json:nothing", "openpi:/x"]
)
def test_invalid_policy_leaves_no_file(policy: str, tmp_path: Path):
    with pytest.raises(AssayError):
        execute("libero", policy, tmp_path / "run.assay", replace(WIDE, tasks="libero_goal/7"))
    assert not list(tmp_path.iterdir())


def test_conditions_are_decided_if_a_resumed_run_has_fewer_tasks(tmp_path: Path):
    path = tmp_path / "run.assay"
    wide = replace(WIDE, seeds=tuple(range(8)), until="decided=0.6")
    assert execute("libero", "idle", path, wide, AtOnce()) == Ending(0, 16)
    ending = execute("libero", "idle", path, replace(wide, tasks="libero_goal/7"))
    with Store.reading(path) as store:
        assert set(store.stopped) == {"control"} and store.frame()["task"].unique().to_list() == [
            "libero_goal/7"
        ]
        assert ending.left == 0 and ending.done == store.stopped["control"]["episodes"] < 8


def test_requests_are_not_joined_on_ray():
    pytest.importorskip("ray")
    with pytest.raises(RunError, match="batch= requires workers on one machine"):
        make_executor(WorkerConfig("starvla://a:1?batch=2"), RunOptions(ray="auto"))
