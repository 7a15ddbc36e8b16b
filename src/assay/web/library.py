"""Summaries of the runs in a folder, and the state of a run while it is being written; runs are only read."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote

import numpy as np
import polars as pl

from assay.episodes.spec import CONTROL
from assay.errors import AssayError, RunError, one_line
from assay.measures.clustering import shares
from assay.measures.frames import ACTIONS, OBJECTS, START, pairs
from assay.measures.result import Missing, attempt
from assay.measures.success.rates import rates
from assay.measures.words.paraphrase import grid
from assay.runs.rows import COLUMNS, FRAME, read_rows, with_labels
from assay.runs.store import SUFFIX, Store, lock_file, signature
from assay.support.files import is_locked
from assay.support.stats.intervals import Interval
from assay.web.queries import NotFoundError, OpenRun, reading

T = TypeVar("T")

RATED_TOGETHER = 100_000
"""Number of episodes above which the rates of the runs read so far are computed."""

_RATE_COLUMNS = (
    *("id", "key", "experiment", "condition", "task", "seed", "start", "labels", "instruction", "outcome"),
)


def cached(compute: Callable[..., T], size: int = 16) -> Callable[..., T]:
    """Wrap ``compute(*paths)`` in a cache of ``size`` values, each valid until one of its runs changes."""
    lock = Lock()
    remembered = lru_cache(size)(lambda signatures, *paths: compute(*paths))

    def get(*paths: Path) -> T:
        with lock:  # of two simultaneous requests the second uses the result of the first
            return remembered(tuple(map(signature, paths)), *paths)

    return get


class ListedRate(NamedTuple):
    """Success rate of a group of episodes of a run, excluding errors."""

    rate: float
    interval: Interval


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One row in the list of runs."""

    name: str
    """Path relative to the folder, without the suffix."""
    link: str = ""
    """Address of the run's page; empty if the run cannot be read."""
    problem: str = ""
    """Reason why the run cannot be read; empty if it can be read."""
    running: bool = False
    meta: dict[str, Any] = field(default_factory=dict)
    planned: int = 0
    done: int = 0
    errors: int = 0
    rate: ListedRate | None = None
    """Success rate of the perturbed episodes in which success is expected, as in the report; None without any."""
    control: ListedRate | None = None
    """Success rate of unperturbed episodes."""


class Library:
    """Runs in a folder and its subfolders."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise RunError(f"{folder} is not a folder; expected a folder with runs (*{SUFFIX})")
        self.folder = folder.resolve()
        self._summaries: dict[Path, tuple[tuple[int, ...], RunSummary]] = {}
        """Signature and summary of each listed run, by file."""
        self._lock = Lock()
        self.progress: Callable[[Path], dict[str, Any]] = cached(measure_progress)
        """Function that returns the current state of a run."""

    def path(self, name: str) -> Path:
        """Return the file of a run. Raises NotFoundError unless it is a run in the folder."""
        try:
            path = (self.folder / f"{name}{SUFFIX}").resolve()
            hidden = any(part.startswith(".") for part in Path(name).parts)
            if not hidden and name and path.is_relative_to(self.folder) and path.is_file():
                return path
        except (OSError, ValueError):  # not a valid file name
            pass
        raise NotFoundError(f"there is no run '{name[:100]}' in this folder")

    def names(self, experiment: str | None = None) -> list[str]:
        """Return the sorted names of all readable runs, or of those of one experiment."""
        return sorted(
            run.name
            for run in self.summaries()
            if run.link and experiment in (None, run.meta.get("experiment", ""))
        )

    def summaries(self) -> list[RunSummary]:
        """Return a summary of every run, with the latest first and unreadable runs last."""
        runs: list[RunSummary] = []
        files: dict[str, Path] = {}
        for path in self.folder.rglob(f"*{SUFFIX}"):
            relative = path.relative_to(self.folder)
            name = relative.as_posix().removesuffix(SUFFIX)
            text = os.fsencode(name).decode(errors="replace")
            if any(part.startswith(".") for part in relative.parts):
                continue
            if text != name:
                runs.append(RunSummary(text, problem="the file name is not valid UTF-8"))
                continue
            try:
                files[name] = self.path(name)
            except NotFoundError:
                problem = "it is a folder" if path.is_dir() else "it is a link to a file outside the folder"
                runs.append(RunSummary(name, problem=problem))
        with self._lock:  # of two simultaneous requests the second uses the results of the first
            self._summaries = summaries = self._update([*files.values()])
        for name, file in files.items():
            _, summary = summaries[file]
            link = "" if summary.problem else run_address(name)
            runs.append(replace(summary, name=name, link=link, running=bool(link) and is_running(file)))
        runs.sort(key=lambda run: run.name)
        return sorted(runs, key=lambda run: (not run.problem, str(run.meta.get("started", ""))), reverse=True)

    def _update(self, files: Sequence[Path]) -> dict[Path, tuple[tuple[int, ...], RunSummary]]:
        """Return ``_summaries``, after reading the runs that are new, have changed, or could not be read before."""
        marks, known = {file: signature(file) for file in files}, self._summaries
        changed = [
            file
            for file in marks
            if file not in known or known[file][0] != marks[file] or known[file][1].problem
        ]
        fresh = dict(summarise_runs(changed))
        return {file: (mark, fresh[file]) if file in fresh else known[file] for file, mark in marks.items()}


def summarise_runs(files: Sequence[Path]) -> Iterator[tuple[Path, RunSummary]]:
    """Yield a summary of each run, without its name.

    The rates of many runs are computed together, which takes a fraction of the time.
    """
    batch: dict[Path, tuple[RunSummary, pl.DataFrame]] = {}
    rows = 0
    for place, file in enumerate(files, start=1):
        try:
            batch[file] = _read_summary(file)
            rows += batch[file][0].done
        except (AssayError, sqlite3.Error, ValueError) as error:
            yield file, RunSummary("", problem=str(error).removeprefix(f"{file}: "))
        if batch and (rows > RATED_TOGETHER or place == len(files)):
            yield from _rate_batch(batch)
            batch, rows = {}, 0


def _rate_batch(batch: Mapping[Path, tuple[RunSummary, pl.DataFrame]]) -> Iterator[tuple[Path, RunSummary]]:
    """Yield the summaries with their rates; a run whose outcomes cannot be rated has a problem."""
    try:
        rates = _rate([outcomes for _, outcomes in batch.values()])
    except Exception as error:  # damaged outcomes raise errors of many kinds
        if len(batch) > 1:  # rate each run alone, so that the others are listed
            for file, run in batch.items():
                yield from _rate_batch({file: run})
        else:
            for file in batch:
                yield file, RunSummary("", problem=f"it cannot be rated: {one_line(error)}")
        return
    for number, (file, (summary, _)) in enumerate(batch.items()):
        control, rate = (rates.get((number, perturbed)) for perturbed in (False, True))
        yield file, replace(summary, control=control, rate=rate)


def _read_summary(file: Path) -> tuple[RunSummary, pl.DataFrame]:
    """Return the summary of a run without its rates, and the outcomes of its episodes."""
    with Store.reading(file, whole=False) as store:
        outcomes, meta = store.outcome_frame(), store.meta
        errors = int((outcomes["outcome"] == "error").sum())
        summary = RunSummary("", meta=meta, planned=store.planned, done=len(outcomes), errors=errors)
        has_wordings = "instruction" not in store.world.start_columns
        return summary, outcomes if has_wordings else outcomes.drop("instruction")


def _rate(runs: Sequence[pl.DataFrame]) -> dict[tuple[int, bool], ListedRate]:
    """Return the rates of the controls and of the perturbed episodes of each run, by its index and ``perturbed``."""
    by = ("run", "perturbed")
    lengths = [len(outcomes) for outcomes in runs]
    rows = pl.concat(runs, how="diagonal").with_columns(
        run=pl.Series(np.repeat(np.arange(len(runs)), lengths)),
        perturbed=pl.col("condition") != CONTROL,
        success=(pl.col("outcome") == "success").cast(pl.Int64),
    )
    rows = rows.filter((pl.col("outcome") != "error") & (~pl.col("perturbed") | pl.col("plausible")))
    # Starts with several seeds are treated differently, in all rows that are rated together.
    held = (pl.col("seed").n_unique().over(*by, *START) > 1).any().over(*by)
    rates: dict[tuple[int, bool], ListedRate] = {}
    for _, part in rows.with_columns(_held=held).group_by("_held"):
        estimates = shares(part, "success", by)
        totals = part.group_by(by).agg(pl.col("success").sum(), pl.len().alias("count"))
        for run, perturbed, successes, count in totals.iter_rows():
            _, interval = estimates[run, perturbed]
            rates[run, perturbed] = ListedRate(successes / count, interval)
    return rates


def measure_progress(path: Path) -> dict[str, Any]:
    """Measure the current state of a run: success by condition and, for paraphrases, by cell.

    A condition has its ``rate`` (None until the first episode has ended), whether it was ``decided`` (stopped
    early), and ``control``, the number of successes and of episodes among the controls with the same tasks and
    seeds (None if there are no such controls).
    """
    with reading(path) as run:
        frame, counts, stopped = _read_rate_frame(run), run.store.counts(), run.store.stopped
        errors = run.store.reasons()
    by_condition = {str(rate.group["condition"]): rate for rate in rates(frame, stopped=stopped)}
    judged = frame.filter(pl.col("outcome") != "error").with_columns(success=pl.col("outcome") == "success")
    counted = pairs(judged).group_by("condition").agg(pl.col("control_success").sum(), pl.len())
    paired = {condition: (successes, count) for condition, successes, count in counted.iter_rows()}
    paraphrases = attempt(grid, frame)
    cells = () if isinstance(paraphrases, Missing) else paraphrases.cells
    return {
        "planned": int(counts["planned"].sum()),
        "done": int(counts["done"].sum()),
        "conditions": [
            {
                "name": name,
                "planned": planned,
                "done": done,
                "rate": by_condition.get(name),
                "decided": name in stopped,
                "success_expected": expected,
                "control": paired.get(name),
            }
            for name, planned, done, *_, expected in counts.iter_rows()
        ],
        "objects": OBJECTS,
        "actions": ACTIONS,
        "cells": {(cell.object, cell.action): cell.rate for cell in cells},
        "errors": errors,
    }


def _read_rate_frame(run: OpenRun) -> pl.DataFrame:
    """Read only the episode columns needed for a run's success rates; reading all columns would be much slower."""
    cursor = run.db.execute(f"SELECT {', '.join(_RATE_COLUMNS)} FROM ({FRAME})")
    frame = read_rows(cursor, {name: COLUMNS[name] for name in _RATE_COLUMNS})
    return with_labels(frame).drop(*run.store.world.start_columns, strict=False)


def run_address(name: str) -> str:
    """Return the address of a run's page."""
    return f"/runs/{quote(name)}{SUFFIX}"


def is_running(path: Path) -> bool:
    """Return whether a driver is currently writing a run."""
    return is_locked(lock_file(path))
