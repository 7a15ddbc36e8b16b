"""What a command runs, and what it leaves."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from assay.errors import AssayError, RunError
from assay.runs.driver import Ending
from assay.runs.execute import Observer, _executor, execute
from assay.runs.options import RunOptions
from assay.runs.store import Store
from assay.runs.worker import WorkerConfig

FACTS = ("id", "key", "outcome", "steps", "truth", "instruction")
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


@pytest.mark.parametrize(
    ("damage", "mended"),
    [
        ("UPDATE meta SET value = '[' WHERE name IN ('pack', 'host', 'label')", ["host", "pack"]),
        ("UPDATE meta SET name = CAST(x'70ff' AS TEXT) WHERE name = 'policy'", ["policy"]),
    ],
)
def test_what_a_run_says_of_itself_is_mended_by_its_command(damage: str, mended: list[str], tmp_path: Path):
    path = tmp_path / "run.assay"
    one = replace(WIDE, tasks="libero_goal/7", seeds=(0,))
    execute("libero", "idle", path, one, label="mine")
    with Store.reading(path) as store:
        before = store.meta
    with sqlite3.connect(path) as file:
        file.execute(damage)
    file.close()
    with pytest.raises(AssayError, match="holds a run with experiment"):
        execute("corruption", "idle", path, one)
    assert execute("libero", "idle", path, one, label="mine") == Ending(0, 0)
    with Store.reading(path) as store:
        assert store.damaged() == [] and store.meta == before | {"mended": mended}


def test_a_run_whose_experiment_and_policy_are_both_damaged_is_nobodys(tmp_path: Path):
    path = tmp_path / "run.assay"
    one = replace(WIDE, tasks="libero_goal/7", seeds=(0,))
    execute("libero", "idle", path, one)
    with sqlite3.connect(path) as file:
        file.execute("UPDATE meta SET value = '[' WHERE name IN ('experiment', 'policy')")
    file.close()
    with pytest.raises(AssayError, match="whose episodes it holds cannot be told"):
        execute("libero", "idle", path, one)


def test_conditions_are_decided_where_a_resumed_run_asks_for_fewer_tasks(tmp_path: Path):
    path = tmp_path / "run.assay"
    wide = replace(WIDE, seeds=tuple(range(8)), until="decided=0.6")
    assert execute("libero", "idle", path, wide, AtOnce()) == Ending(0, 16)
    ending = execute("libero", "idle", path, replace(wide, tasks="libero_goal/7"))
    with Store.reading(path) as store:
        assert set(store.stopped) == {"control"} and store.frame()["task"].unique().to_list() == [
            "libero_goal/7"
        ]
        assert ending.left == 0 and ending.done == store.stopped["control"]["episodes"] < 8


def test_a_stopping_rule_that_is_damaged_is_mended_by_its_command(tmp_path: Path):
    path = tmp_path / "run.assay"
    one = replace(WIDE, tasks="libero_goal/7", seeds=tuple(range(8)), until="decided=0.6")
    execute("libero", "idle", path, one)
    with Store.reading(path) as store:
        before = store.stopped
    with sqlite3.connect(path) as file:
        file.execute("UPDATE stopped SET rule = '['")
    file.close()
    with Store.reading(path) as store:
        assert store.damaged() == ["the rule that stopped 'control' left out"]
    assert execute("libero", "idle", path, one) == Ending(0, 0)
    with Store.reading(path) as store:
        assert store.damaged() == [] and store.stopped == before and before


def test_requests_are_not_joined_on_ray():
    pytest.importorskip("ray")
    with pytest.raises(RunError, match="batch= is for workers of one machine"):
        _executor(WorkerConfig("starvla://a:1?batch=2"), RunOptions(ray="auto"))
