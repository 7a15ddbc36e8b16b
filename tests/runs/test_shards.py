from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

import assay as api
from assay.errors import RunError
from assay.runs.shards import merge
from assay.runs.store import Store

TABLES = ("specs", "trajectories", "initial_positions", "contacts", "clipped")
OUTCOMES = (
    "SELECT id, outcome, instruction, steps, decisions, images, touched, moved, truth, error FROM episodes"
)


def run(out: Path, **options) -> api.Run:
    given = {"tasks": "libero_goal/7,libero_goal/0", "seeds": 2, "conditions": "semantic", "steps": 2}
    return api.run("pro", "random", out=out, certified=False, workers=0, **(given | options))


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run, whole and in three shards."""
    folder = tmp_path_factory.mktemp("shards")
    run(folder / "whole.assay")
    for number in (1, 2, 3):
        run(folder / f"{number}.assay", shard=f"{number}/3")
    return folder


def test_shards_merged_in_any_order_are_the_whole_run_to_the_bit(parts: Path, tmp_path: Path):
    out = tmp_path / "all.assay"
    merge([parts / f"{number}.assay" for number in (3, 1, 2)], out)
    one, other = (sqlite3.connect(each) for each in (parts / "whole.assay", out))
    for query in (*(f"SELECT * FROM {table}" for table in TABLES), OUTCOMES):
        rows = [db.execute(f"{query} ORDER BY id").fetchall() for db in (one, other)]
        assert rows[0] == rows[1] and rows[0], query
    with Store.reading(out) as store:
        assert "shard" not in store.meta and store.meta["shards"] == {"of": 3, "there": [1, 2, 3]}


def test_start_and_its_control_are_in_one_shard(parts: Path):
    for number in (1, 2, 3):
        with Store.reading(parts / f"{number}.assay") as store:
            frame = store.frame()
        assert set(frame.group_by("task", "seed").len()["len"]) == {2}


def test_shards_that_are_missing_are_known_and_the_rest_keeps_the_order(parts: Path, tmp_path: Path):
    merge([parts / "3.assay", parts / "1.assay"], tmp_path / "some.assay")
    with Store.reading(tmp_path / "some.assay") as some, Store.reading(parts / "whole.assay") as whole:
        assert some.meta["shards"] == {"of": 3, "there": [1, 3]}
        there = set(some.frame()["key"])
        assert some.frame()["key"].to_list() == [key for key in whole.frame()["key"] if key in there]


def test_options_that_contradict_a_shards_file_are_refused(parts: Path):
    for options, reason in (
        ({"shard": "2/3"}, "contains shard 1/3"),
        ({}, "contains shard 1/3"),
        ({"shard": "1/3", "seeds": 3}, "contains shard 1/3"),
        ({"shard": "9/9"}, "more shards than the plan has starts"),
        ({"shard": "0/3"}, "expected part/parts"),
        ({"shard": "1/3", "until": "decided=0.5"}, "--shard cannot be combined with --until"),
    ):
        with pytest.raises(RunError, match=reason):
            run(parts / "1.assay", **options)


def test_whole_runs_and_shards_of_two_plans_do_not_merge(parts: Path, tmp_path: Path):
    with pytest.raises(RunError, match="contains a complete run"):
        run(parts / "whole.assay", shard="1/3")
    with pytest.raises(RunError, match="is not a shard, but other files are"):
        merge([parts / "1.assay", parts / "whole.assay"], tmp_path / "no.assay")
    run(tmp_path / "other.assay", shard="2/3", tasks="libero_goal/7", seeds=3)
    with pytest.raises(RunError, match="is a shard of a different plan"):
        merge([parts / "1.assay", tmp_path / "other.assay"], tmp_path / "no.assay")
