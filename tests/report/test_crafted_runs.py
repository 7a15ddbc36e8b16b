"""Runs whose labels or metadata were crafted: every command answers in one line."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.runs_on_disk import write_run

from assay.errors import RunError
from assay.runs.rows import MAX_META_ROWS
from assay.runs.store import Store
from assay.web.library import Library

Craft = Callable[..., Path]


@pytest.fixture
def craft(tmp_path: Path) -> Craft:
    """Function that writes a run with these labels in every episode, and these values in its metadata."""

    def write(labels: dict[str, Any] | None = None, **meta: Any) -> Path:
        path = write_run(
            tmp_path / "run.assay", {"control": [True] * 3, "words": [True, False, True]}, policy="p"
        )
        with sqlite3.connect(path) as db:
            db.execute("UPDATE specs SET labels = ?", (json.dumps(labels or {}),))
            rows = [(name, json.dumps(value)) for name, value in meta.items()]
            db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", rows)
        db.close()
        return path

    return write


EXTREMES: dict[str, list[Any]] = {
    "pd": [2**62, 1e308, -1e13],
    "chance": [-1e308, 1.5],
    "best": [-1, 2**63],
    "distance": [1e308, 10**400],
    "rung": [-(2**63) + 1],
    "reference_steps": [0, -5, 5e-324],
    "limit_factor": [0, -1.0],
    "another": [1e200, -(10**30)],
    "plausible": ["yes", 2],
    "axis": [["words"], {"words": 1}],
    "milder": [0.5],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in EXTREMES for value in EXTREMES[name]])
def test_a_label_outside_its_range_is_rejected(craft: Craft, name: str, value: object):
    with (
        Store.reading(craft({name: value})) as store,
        pytest.raises(RunError, match=f"the label '{name}' is "),
    ):
        store.frame()


@pytest.mark.parametrize("labels", [[1, 2], 5, None])
def test_labels_that_are_no_object_are_damage(craft: Craft, assay: Any, labels: object):
    run = craft()
    with sqlite3.connect(run) as db:
        db.execute("UPDATE specs SET labels = ?", (json.dumps(labels),))
    db.close()
    done = assay("report", run)
    assert done.status == 2 and "rows cannot be decoded" in done.err


def test_a_report_on_extreme_labels_is_one_line(craft: Craft, assay: Any, tmp_path: Path):
    run = craft({name: values[0] for name, values in EXTREMES.items()})
    for command in (
        ("report", run, "--json", "-", "--out", tmp_path / "page"),
        ("export", run, "--csv", "-"),
    ):
        result = assay(*command)
        assert (result.status, result.out) == (2, "") and result.err.count("\n") == 1
        assert (
            "run.assay: damaged: an episode cannot be decoded: the label 'pd' is 46116860184273879"
            in result.err
        )


def test_a_result_that_is_not_finite_is_reported_as_missing(craft: Craft, assay: Any):
    run = craft({"reference_steps": "1e400", "limit_factor": 2.0})  # as text, it is converted by a measure
    result = assay("report", run, "--json", "-")
    assert result.status == 0 and json.loads(result.out)["time_limits"]["missing"].startswith("failed with")


TYPES: dict[str, list[Any]] = {
    "world": [
        *(True, 0, "x", [1], {}, {"name": 1}, {"name": "w", "start_columns": "id"}),
        *({"name": "w", "start_columns": [column]} for column in ("id", "task", "truth", "outcome")),
    ],
    "plugins": [None, 5, "x", [1], [{}], {"module": 1}],
    "refused": [1.5, "x", [[]], [None], [["a", "b", 0]], [["a", "b", 0, {}]]],
    "settings": [-1, [["a"]]],
    "policy": [{"a": 1}, "x" * 20_000],
    "policy_metadata": ["x"],
    "latency": [[{}], {"steps": "x"}],
    "shard": [[1], {"number": 1}],
    "expected": ["x"],
    "resumed": [[1]],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in TYPES for value in TYPES[name]])
def test_metadata_of_an_unexpected_type_is_rejected(craft: Craft, name: str, value: object):
    with (
        Store.reading(craft(**{name: value})) as store,
        pytest.raises(RunError, match=f"its metadata: {name}"),
    ):
        store.world  # noqa: B018


def test_start_columns_cannot_remove_the_columns_of_episodes(craft: Craft, assay: Any):
    run = craft(world={"name": "libero", "start_columns": ["id"]})
    for command in (("report", run), ("runs", "show", run), ("compare", run, run.with_name("other.assay"))):
        result = assay(*command)
        assert result.status == 2 and result.err.count("\n") == 1
    assert "start_columns: value error, id is a column of every run" in assay("report", run).err


@pytest.fixture(params=["rows", "bytes", "depth"])
def absurd(request: pytest.FixtureRequest, craft: Craft) -> Path:
    """A run with an absurd amount of metadata."""
    path = craft()
    rows = {
        "rows": ((f"n{number}", '"x"') for number in range(MAX_META_ROWS + 1)),
        "bytes": ((f"n{number}", f'"{" x" * 10_000_000}"') for number in range(2)),
        "depth": [("n", "[" * 100_000 + "]" * 100_000)],
    }
    with sqlite3.connect(path) as db:
        db.executemany("INSERT INTO meta VALUES (?, ?)", rows[request.param])
    db.close()
    return path


def test_absurd_metadata_is_rejected_before_it_is_read_or_printed(absurd: Path, assay: Any):
    for command in (("runs", "show", absurd), ("report", absurd), ("runs", "list", absurd.parent)):
        result = assay(*command)
        lines = [line for line in result.err.splitlines() if "run.assay" in line]
        assert len(lines) == 1 and len(lines[0]) < 500 and "metadata" in lines[0], command
        assert "Traceback" not in result.err and len(result.out) < 1000
    (summary,) = Library(absurd.parent).summaries()
    assert "metadata" in summary.problem and not summary.meta


def test_long_values_are_shortened_where_they_are_shown(craft: Craft, assay: Any):
    run = craft(note="x" * 1_000_000, several={f"n{number}": number for number in range(100_000)})
    result = assay("runs", "show", run)
    assert result.status == 0 and len(result.out) < 20_000
