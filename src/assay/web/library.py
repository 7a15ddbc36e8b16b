"""Summaries of the runs in a folder, and the state of a run while it is being written; runs are only read."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar
from urllib.parse import quote

import polars as pl

from assay.episodes.spec import CONTROL
from assay.errors import AssayError, RunError
from assay.measures.frames import ACTIONS, OBJECTS, pairs, plausible
from assay.measures.result import Missing, attempt
from assay.measures.success.rates import Rate, rates, success_rate
from assay.measures.words.paraphrase import grid
from assay.runs.rows import COLUMNS, FRAME, with_labels
from assay.runs.store import SUFFIX, lock_file, signature
from assay.support.files import is_locked
from assay.web.queries import NotFoundError, OpenRun, reading

T = TypeVar("T")

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
    rate: Rate | None = None
    """Success rate of the perturbed episodes in which success is expected, as in the report.

    If no episode is perturbed, the success rate of all episodes.
    """
    control: Rate | None = None
    """Success rate of unperturbed episodes."""
    perturbed: bool = False
    """Whether ``rate`` covers perturbed episodes."""


class Library:
    """Runs in a folder and its subfolders."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise RunError(f"{folder} is not a folder; expected a folder with runs (*{SUFFIX})")
        self.folder = folder.resolve()
        self._summarise = cached(_summarise, size=10_000)
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
        runs = []
        for path in self.folder.rglob(f"*{SUFFIX}"):
            relative = path.relative_to(self.folder)
            if not any(part.startswith(".") for part in relative.parts):
                runs.append(self._summary(relative.as_posix().removesuffix(SUFFIX), path))
        runs.sort(key=lambda run: run.name)
        return sorted(runs, key=lambda run: (not run.problem, str(run.meta.get("started", ""))), reverse=True)

    def _summary(self, name: str, path: Path) -> RunSummary:
        text = os.fsencode(name).decode(errors="replace")
        if text != name:
            return RunSummary(text, problem="the file name is not valid UTF-8")
        try:
            file = self.path(name)
            summary = self._summarise(file)
        except NotFoundError:
            problem = "it is a folder" if path.is_dir() else "it is a link to a file outside the folder"
            return RunSummary(text, problem=problem)
        except (AssayError, sqlite3.Error, ValueError) as error:
            return RunSummary(text, problem=str(error).removeprefix(f"{file}: "))
        return replace(summary, name=name, link=run_address(name), running=is_running(file))


def _summarise(path: Path) -> RunSummary:
    with reading(path) as run:
        rows, counts, meta = _read_rate_frame(run), run.store.counts(), run.store.meta
    perturbed = plausible(rows).filter(pl.col("condition") != CONTROL)
    rate = attempt(success_rate, perturbed if len(perturbed) else rows)
    control = attempt(success_rate, rows.filter(pl.col("condition") == CONTROL))
    return RunSummary(
        name=path.stem,
        meta=meta,
        planned=int(counts["planned"].sum()),
        done=int(counts["done"].sum()),
        errors=int(counts["error"].sum()),
        rate=None if isinstance(rate, Missing) else rate,
        control=None if isinstance(control, Missing) else control,
        perturbed=len(perturbed) > 0,
    )


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
    rows = run.rows(f"SELECT {', '.join(_RATE_COLUMNS)} FROM ({FRAME})")
    frame = pl.DataFrame(rows, schema={name: COLUMNS[name] for name in _RATE_COLUMNS}, orient="row")
    return with_labels(frame).drop(*run.store.world.start_columns, strict=False)


def run_address(name: str) -> str:
    """Return the address of a run's page."""
    return f"/runs/{quote(name)}{SUFFIX}"


def is_running(path: Path) -> bool:
    """Return whether a driver is currently writing a run."""
    return is_locked(lock_file(path))
