"""The runs in a folder, by name: how far each is, and why one cannot be read. Nothing is ever written."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import polars as pl

from assay.episodes.spec import CONTROL
from assay.errors import AssayError, RunError
from assay.measures import Missing, attempt
from assay.measures.frames import perturbed_rows, plausible
from assay.measures.success.rates import Rate, success_rate
from assay.runs.queries import NotFoundError, Run, reading
from assay.runs.rows import COLUMNS, FRAME, with_labels
from assay.runs.store import SUFFIX, lock_file, signature
from assay.support.files import is_locked
from assay.web.memo import Memo

_NEEDED = (
    "id",
    "key",
    "experiment",
    "condition",
    "task",
    "seed",
    "start",
    "labels",
    "instruction",
    "outcome",
)

_FRAMES = 4
"""Runs whose episodes are kept at hand."""
_frames: dict[Path, tuple[tuple[int, ...], pl.DataFrame]] = {}


@dataclass(frozen=True, slots=True)
class Listed:
    """One line of the list of runs."""

    name: str
    """Its path below the folder, without the suffix."""
    link: str = ""
    """The address of its page; empty where it cannot be read."""
    problem: str = ""
    """Why it cannot be read."""
    running: bool = False
    meta: dict[str, Any] = field(default_factory=dict)
    planned: int = 0
    done: int = 0
    errors: int = 0
    rate: Rate | None = None
    """As in the report: of perturbed episodes in which success is expected; of all, if none is perturbed."""
    control: Rate | None = None
    """Of episodes with nothing changed."""
    perturbed: bool = False
    """Whether the rate is of perturbed episodes."""


class Library:
    """The runs below one folder."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise RunError(f"{folder} is not a folder; valid: one with runs (*{SUFFIX}) in it, or below")
        self.folder = folder.resolve()
        self._summary = Memo(_summary, most=10_000)
        self._experiment = Memo(_experiment, most=10_000)

    def path(self, name: str) -> Path:
        """The file of a run. Raises NotFoundError unless it is one below the folder."""
        try:
            path = (self.folder / f"{name}{SUFFIX}").resolve()
            hidden = any(part.startswith(".") for part in Path(name).parts)
            if hidden or not name or not path.is_relative_to(self.folder) or not path.is_file():
                raise NotFoundError(f"there is no run '{name[:100]}' here")
        except (OSError, ValueError):  # a name that no file can have
            raise NotFoundError(f"there is no run '{name[:100]}' here") from None
        return path

    def names(self) -> list[str]:
        """Every run that can be asked for, in the order of their names."""
        return [name for name, _ in self._found() if name.isprintable()]

    def alike(self, name: str) -> list[str]:
        """The other runs of the same experiment."""
        mine = self._experiment(self.path(name))
        return [each for each in self.names() if each != name and self._of(each) == mine]

    def _of(self, name: str) -> object:
        """The experiment of a run; None where it cannot be read."""
        try:
            return self._experiment(self.path(name))
        except (AssayError, sqlite3.Error, ValueError):
            return None

    def listed(self) -> list[Listed]:
        """Every run, the latest first; those that cannot be read at the end."""
        found = [self._line(name, path) for name, path in self._found()]
        found.sort(key=lambda each: str(each.meta.get("started", "")), reverse=True)
        return sorted(found, key=lambda each: bool(each.problem))

    def _found(self) -> Iterator[tuple[str, Path]]:
        for path in sorted(self.folder.rglob(f"*{SUFFIX}")):
            name = path.relative_to(self.folder)
            if not any(part.startswith(".") for part in name.parts):
                yield name.as_posix().removesuffix(SUFFIX), path

    def _line(self, name: str, path: Path) -> Listed:
        shown = os.fsencode(name).decode(errors="replace")
        try:
            file = self.path(name)
            if shown != name:
                raise NotFoundError("its name is not UTF-8")
            summary = self._summary(file)
        except NotFoundError as error:
            outside = path.is_symlink() and "a link that leads out of the folder"
            return Listed(shown, problem=outside or ("a folder" if path.is_dir() else str(error)))
        except (AssayError, sqlite3.Error, ValueError) as error:
            return Listed(shown, problem=str(error).removeprefix(f"{path}: ").removeprefix(f"{file}: "))
        return replace(summary, name=name, link=run_address(name), running=is_running(file))


def _experiment(path: Path) -> object:
    with reading(path) as run:
        return run.store.meta.get("experiment", "")


def _summary(path: Path) -> Listed:
    with reading(path) as run:
        rows, counts, meta = measured(run), run.store.counts(), run.store.meta
    asked = perturbed_rows(plausible(rows))
    rate = attempt(success_rate, asked if len(asked) else rows)
    control = attempt(success_rate, rows.filter(pl.col("condition") == CONTROL))
    planned, done, errors = (int(counts[name].sum()) for name in ("planned", "done", "error"))
    return Listed(
        name=path.stem,
        meta=meta,
        planned=planned,
        done=done,
        errors=errors,
        rate=None if isinstance(rate, Missing) else rate,
        control=None if isinstance(control, Missing) else control,
        perturbed=len(asked) > 0,
    )


def measured(run: Run) -> pl.DataFrame:
    """A run's episodes with what success rates need of them: as the report measures them, without all else it needs.

    The list and the page of a run both need it, mostly one after the other: the latest are kept until the run changes.
    """
    path, now = run.store.path, signature(run.store.path)
    known = _frames.get(path)
    if known is None or known[0] != now:
        rows = run.rows(f"SELECT {', '.join(_NEEDED)} FROM ({FRAME})")
        frame = pl.DataFrame(rows, schema={name: COLUMNS[name] for name in _NEEDED}, orient="row")
        known = now, with_labels(frame).drop(*run.store.world.start_columns, strict=False)
        _frames.pop(path, None)
        _frames[path] = known
        for oldest in list(_frames)[:-_FRAMES]:
            _frames.pop(oldest, None)
    return known[1]


def run_address(name: str) -> str:
    """Where a run's pages are."""
    return f"/runs/{quote(name)}{SUFFIX}"


def is_running(path: Path) -> bool:
    """Whether a driver is writing a run at this moment."""
    return is_locked(lock_file(path))
