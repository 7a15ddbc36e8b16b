"""What a command runs, and what it leaves."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from assay.errors import AssayError, RunError
from assay.runs.driver import Ending
from assay.runs.execute import Observer, _executor, execute
from assay.runs.store import Store
from assay.runs.work import Options
from assay.runs.worker import WorkerConfig

FACTS = ("id", "key", "outcome", "steps", "truth", "instruction")
WIDE = Options(tasks="libero_goal/7,libero_goal/0", seeds=(0, 1), steps=1, workers=0)


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


@pytest.mark.parametrize(
    "policy", ["orakle", "python:no_such_module:Policy", "python:json:nothing", "openpi:/x"]
)
def test_a_policy_that_is_none_leaves_no_file(policy: str, tmp_path: Path):
    with pytest.raises(AssayError):
        execute("libero", policy, tmp_path / "run.assay", replace(WIDE, tasks="libero_goal/7"))
    assert not list(tmp_path.iterdir())


def test_a_damaged_run_is_mended_by_its_command(tmp_path: Path):
    path = tmp_path / "run.assay"
    one = replace(WIDE, tasks="libero_goal/7", seeds=(0, 1, 2))
    execute("libero", "idle", path, one)
    with Store.reading(path) as store:
        before = store.frame().select(FACTS)
    with sqlite3.connect(path) as file:
        file.execute("UPDATE episodes SET truth = '{' WHERE id = 1")
        file.execute("UPDATE specs SET labels = '{' WHERE id = 2")
        file.execute("UPDATE contacts SET intervals = '[[1]]' WHERE id = 3")
    file.close()
    with Store.reading(path) as store:
        assert len(store.frame()) == 1 and len(store.damaged()) == 3
    assert execute("libero", "idle", path, one) == Ending(1, 0), "what cannot be read is done again"
    with Store.reading(path) as store:
        assert store.frame().select(FACTS).equals(before)
        assert store.damaged() == ["contacts of 1 episode left out"]


def test_requests_are_not_joined_on_ray():
    pytest.importorskip("ray")
    with pytest.raises(RunError, match="batch= is for workers of one machine"):
        _executor(WorkerConfig("starvla://a:1?batch=2"), Options(ray="auto"))
