"""The state of a run: success so far by condition and cell, also while it is being written."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import polars as pl

from assay.episodes.spec import CONTROL
from assay.measures import Missing, attempt, grid
from assay.measures.success.rates import Rate, rates
from assay.measures.views.heat_map import ACTIONS, OBJECTS
from assay.web.library import is_running, read_rate_frame
from assay.web.queries import reading

PACE_WINDOW_S = 120.0
"""Seconds over which a run's speed is measured."""


@dataclass(frozen=True, slots=True)
class GroupProgress:
    """The episodes of one condition or cell."""

    id: str
    """Identifier of the element on the page."""
    name: str
    planned: int | None
    done: int
    rate: Rate | None
    """Success rate; None before the first episode has ended."""
    decided: bool = False
    """Whether the condition was stopped early because its rate was known precisely enough."""
    success_expected: bool = True
    """Whether the instruction can be understood and carried out."""
    control: tuple[int, int] | None = None
    """Successes and number of the controls of the same tasks and seeds; None if there are no such controls."""

    def as_json(self) -> dict[str, Any]:
        """The numbers that the page updates in place."""
        rate = self.rate
        interval = rate.interval if rate else None
        return {
            "done": self.done,
            "planned": self.planned,
            "successes": rate.successes if rate else 0,
            "count": rate.count if rate else 0,
            "errors": rate.errors if rate else 0,
            "control": self.control,
            "rate": rate.rate if rate else None,
            "low": interval.low if interval else None,
            "high": interval.high if interval else None,
        }


@dataclass(frozen=True, slots=True)
class RunProgress:
    """A run at one moment."""

    planned: int
    done: int
    running: bool
    conditions: tuple[GroupProgress, ...]
    cells: dict[tuple[str, str], GroupProgress]
    """Progress by object and action; empty unless the run has paraphrases."""
    errors: dict[str, int]
    """Error messages and how often each occurred."""

    objects = OBJECTS
    actions = ACTIONS

    def as_json(self) -> dict[str, Any]:
        """The state that a page polls every two seconds."""
        return {
            "planned": self.planned,
            "done": self.done,
            "running": self.running,
            "lines": {group.id: group.as_json() for group in (*self.conditions, *self.cells.values())},
        }

    @classmethod
    def read(cls, path: Path) -> RunProgress:
        """Measure the current state of a run."""
        with reading(path) as run:
            frame, counts, stopped = read_rate_frame(run), run.store.counts(), run.store.stopped
            errors = run.store.reasons()
        by_condition = rates(frame, stopped=stopped) if len(frame) else ()
        condition_rates = {str(rate.group["condition"]): rate for rate in by_condition}
        controls = _count_controls(frame)
        conditions = tuple(
            GroupProgress(
                f"c{number}",
                name,
                planned,
                done,
                condition_rates.get(name),
                name in stopped,
                success_expected=expected,
                control=controls.get(name),
            )
            for number, (name, planned, done, *_, expected) in enumerate(counts.iter_rows())
        )
        paraphrases = attempt(grid, frame)
        cells = {
            (cell.object, cell.action): GroupProgress(
                f"g-{cell.object}-{cell.action}",
                f"{cell.object}, {cell.action}",
                None,
                cell.rate.count + cell.rate.errors,
                cell.rate,
            )
            for cell in (() if isinstance(paraphrases, Missing) else paraphrases.cells)
        }
        return cls(
            planned=sum(condition.planned or 0 for condition in conditions),
            done=sum(condition.done for condition in conditions),
            running=is_running(path),
            conditions=conditions,
            cells=cells,
            errors=errors,
        )


def _count_controls(frame: pl.DataFrame) -> dict[str, tuple[int, int]]:
    """For each condition the successes and the number of its episodes' controls."""
    start = ["task", "seed"]
    judged = frame.filter(pl.col("outcome") != "error")
    controls = judged.filter(pl.col("condition") == CONTROL).unique(start, keep="first")
    pairs = judged.filter(pl.col("condition") != CONTROL).join(
        controls.select(*start, control=pl.col("outcome") == "success"), on=start
    )
    counts = pairs.group_by("condition").agg(pl.col("control").sum(), pl.len())
    return {condition: (successes, count) for condition, successes, count in counts.iter_rows()}


class Pace:
    """Speed of runs, from the number of finished episodes at each poll."""

    def __init__(self) -> None:
        self._samples: dict[Path, deque[tuple[float, int]]] = {}
        self._lock = Lock()

    def __call__(
        self, path: Path, done: int, planned: int, now: float | None = None
    ) -> dict[str, float] | None:
        """Episodes a minute and the seconds left; None before two samples differ."""
        now = time.monotonic() if now is None else now
        with self._lock:
            samples = self._samples.setdefault(path, deque())
            if samples and done < samples[-1][1]:  # the run was started again
                samples.clear()
            samples.append((now, done))
            while now - samples[0][0] > PACE_WINDOW_S:
                samples.popleft()
            first_time, first_done = samples[0]
        if done <= first_done or now <= first_time:
            return None
        rate = (done - first_done) / (now - first_time)
        return {"per_minute": 60 * rate, "left": (planned - done) / rate}
