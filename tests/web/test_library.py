from __future__ import annotations

import os
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from assay.episodes import EpisodeSpec, Outcome
from assay.episodes.episode import Episode, no_trajectory
from assay.measures.clustering import shares
from assay.measures.success.rates import success_rate
from assay.report.run_report import RunReport
from assay.runs.store import Store
from assay.web import library
from assay.web.library import Library, cached


def test_the_listed_rate_covers_perturbed_episodes_in_which_success_is_expected(tmp_path: Path):
    specs = [
        EpisodeSpec("libero_goal/1", seed, condition=condition, labels=labels)
        for condition, labels in (
            ("control", {}),
            ("soft", {"plausible": True}),
            ("odd", {"plausible": False}),
        )
        for seed in range(4)
    ]
    with Store.writing(tmp_path / "a.assay") as store:
        store.describe(experiment="x", policy="p")
        store.plan(specs)
        for number, spec in enumerate(specs[:-1], start=1):
            outcome = Outcome.ERROR if spec.seed == 3 else Outcome.SUCCESS if spec.seed else Outcome.FAILURE
            store.append(number, Episode(outcome, 1, no_trajectory()))
    (line,) = Library(tmp_path).summaries()
    assert (line.done, line.planned, line.errors) == (11, 12, 2)
    assert line.rate.rate == 2 / 3 and not line.running
    reported = RunReport.read(tmp_path / "a.assay").profile["success_rate"]
    assert line.rate == (reported.rate, reported.interval), "as the report has it"


def test_listing_many_runs_reads_each_once_and_rates_them_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    statements, rated, connect = list[str](), list[int](), sqlite3.connect

    def open_traced(*args: Any, **options: Any) -> sqlite3.Connection:
        connection = connect(*args, **options)
        connection.set_trace_callback(statements.append)
        return connection

    def rate(rows: pl.DataFrame, *args: Any) -> Any:
        rated.append(len(rows))
        return shares(rows, *args)

    for run in range(12):
        write(tmp_path / f"{run:02}.assay", run)
    want = []
    for run in range(12):
        with Store.reading(tmp_path / f"{run:02}.assay") as store:
            frame = store.frame()
            parts = (success_rate(part) for _, part in frame.group_by(frame["condition"] != "control"))
            want.append({part.count: (part.rate, part.interval) for part in parts})
    monkeypatch.setattr(sqlite3, "connect", open_traced)
    monkeypatch.setattr(library, "shares", rate)
    runs = Library(tmp_path)
    lines = sorted(runs.summaries(), key=lambda line: line.name)
    assert [{3: line.control, 6: line.rate} for line in lines] == want
    assert sorted(rated) == [36, 72], "once with fixed and once with sampled starts"
    assert len(statements) <= 12 * 10 and not re.search("quick_check|trajectories", " ".join(statements))
    del statements[:]
    runs.summaries()
    assert not statements, "nothing has changed"
    write(tmp_path / "05.assay", 77)
    del statements[:]
    assert runs.summaries() != lines and 0 < len(statements) <= 10


def write(path: Path, number: int) -> None:
    """Write a run of nine episodes; all seeds of every third run have the same start."""
    path.unlink(missing_ok=True)
    with Store.writing(path) as store:
        store.plan(
            EpisodeSpec("libero_goal/1", seed, condition=condition, start=0 if number % 3 == 0 else None)
            for condition in ("control", "soft", "hard")
            for seed in range(3)
        )
        for episode in range(9):
            outcome = Outcome.SUCCESS if (number + 1) * 37 >> episode & 1 else Outcome.FAILURE
            store.append(episode + 1, Episode(outcome, 1, no_trajectory()))


def test_a_run_that_cannot_be_rated_does_not_hide_the_others(tmp_path: Path):
    for number in range(3):
        write(tmp_path / f"{number}.assay", number)
    for statement in (
        "UPDATE sqlite_master SET sql = replace(sql, 'condition TEXT NOT NULL', 'condition TEXT')",
        "UPDATE specs SET condition = NULL",
    ):
        with closing(sqlite3.connect(tmp_path / "1.assay")) as db, db:
            db.execute("PRAGMA writable_schema = 1")
            db.execute(statement)
    lines = {line.name: line for line in Library(tmp_path).summaries()}
    assert lines["1"].problem.startswith("it cannot be rated: ") and not lines["1"].link
    assert all(lines[name].rate and lines[name].link for name in "02")


def test_a_name_that_is_not_utf8_is_listed_with_the_reason(tmp_path: Path):
    with Store.writing(tmp_path / "a.assay"):
        pass
    (tmp_path / "a.assay").rename(tmp_path / os.fsdecode(b"b\xff.assay"))
    (line,) = Library(tmp_path).summaries()
    assert line.name == "b\N{REPLACEMENT CHARACTER}" and not line.link
    assert line.problem == "the file name is not valid UTF-8"


def test_cached_values_are_recomputed_after_a_change(tmp_path: Path):
    path, calls = tmp_path / "a.assay", []
    path.write_text("1")

    def read(file: Path) -> str:
        calls.append(file)
        return file.read_text()

    get = cached(read, size=2)
    assert [get(path), get(path)] == ["1", "1"] and len(calls) == 1
    path.write_text("22")
    assert get(path) == "22" and len(calls) == 2
