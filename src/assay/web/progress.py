"""Where a run stands: success so far for each condition and cell, also while it is being written."""

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
from assay.runs.queries import reading
from assay.web.library import is_running, measured

RECENT = 120.0
"""Seconds over which a run's speed is measured."""


@dataclass(frozen=True, slots=True)
class Line:
    """One group of episodes."""

    id: str
    """What the page calls its place."""
    name: str
    planned: int | None
    done: int
    rate: Rate | None
    """None where nothing has ended yet."""
    decided: bool = False
    """Whether it was stopped before its end, because its rate was known well enough."""
    success_expected: bool = True
    """Whether what is asked for can be known and done."""
    control: tuple[int, int] | None = None
    """Successes and number of the controls of the same tasks and seeds; None where there are none, or of controls."""

    def as_json(self) -> dict[str, Any]:
        """What the page shows, in place."""
        rate = self.rate
        return {
            "done": self.done,
            "planned": self.planned,
            "successes": rate.successes if rate else 0,
            "count": rate.count if rate else 0,
            "errors": rate.errors if rate else 0,
            "control": self.control,
            "rate": rate.rate if rate else None,
            "low": rate.interval.low if rate and rate.interval else None,
            "high": rate.interval.high if rate and rate.interval else None,
        }


@dataclass(frozen=True, slots=True)
class Progress:
    """A run at one moment."""

    planned: int
    done: int
    running: bool
    conditions: tuple[Line, ...]
    cells: dict[tuple[str, str], Line]
    """By object and action; empty unless the run has paraphrases."""
    errors: dict[str, int]
    """What broke, and how often."""

    objects = OBJECTS
    actions = ACTIONS

    def as_json(self) -> dict[str, Any]:
        """What the page asks for every two seconds."""
        return {
            "planned": self.planned,
            "done": self.done,
            "running": self.running,
            "lines": {
                condition.id: condition.as_json() for condition in (*self.conditions, *self.cells.values())
            },
        }


def progress(path: Path) -> Progress:
    """Measure a run as it is."""
    with reading(path) as run:
        frame, counts, stopped = measured(run), run.store.counts(), run.store.stopped
        errors = run.store.reasons()
    known = rates(frame, stopped=stopped) if len(frame) else ()
    found = {str(each.group["condition"]): each for each in known}
    controls = _controls(frame)
    conditions = tuple(
        Line(
            f"c{number}",
            name,
            planned,
            done,
            found.get(name),
            name in stopped,
            success_expected=expected,
            control=controls.get(name),
        )
        for number, (name, planned, done, *_, expected) in enumerate(counts.iter_rows())
    )
    cells = attempt(grid, frame)
    return Progress(
        planned=sum(condition.planned or 0 for condition in conditions),
        done=sum(condition.done for condition in conditions),
        running=is_running(path),
        conditions=conditions,
        cells={}
        if isinstance(cells, Missing)
        else {
            (cell.object, cell.action): Line(
                f"g-{cell.object}-{cell.action}",
                f"{cell.object}, {cell.action}",
                None,
                cell.rate.count + cell.rate.errors,
                cell.rate,
            )
            for cell in cells.cells
        },
        errors=errors,
    )


def _controls(frame: pl.DataFrame) -> dict[str, tuple[int, int]]:
    """For each condition the successes and the number of its episodes' controls."""
    start = ["task", "seed"]
    judged = frame.filter(pl.col("outcome") != "error")
    usual = judged.filter(pl.col("condition") == CONTROL).unique(start, keep="first")
    pairs = judged.filter(pl.col("condition") != CONTROL).join(
        usual.select(*start, usual=pl.col("outcome") == "success"), on=start
    )
    found = pairs.group_by("condition").agg(pl.col("usual").sum(), pl.len())
    return {condition: (successes, count) for condition, successes, count in found.iter_rows()}


class Pace:
    """How fast runs go on, from how much was done whenever somebody asked."""

    def __init__(self) -> None:
        self._seen: dict[Path, deque[tuple[float, int]]] = {}
        self._lock = Lock()

    def __call__(
        self, path: Path, done: int, planned: int, now: float | None = None
    ) -> dict[str, float] | None:
        """Episodes a minute and the seconds left; None until that can be told."""
        now = time.monotonic() if now is None else now
        with self._lock:
            seen = self._seen.setdefault(path, deque())
            if seen and done < seen[-1][1]:
                seen.clear()
            seen.append((now, done))
            while now - seen[0][0] > RECENT:
                seen.popleft()
            then, before = seen[0]
        if done <= before or now <= then:
            return None
        rate = (done - before) / (now - then)
        return {"per_minute": 60 * rate, "left": (planned - done) / rate}
