"""What measures read: the rows of a run that say something, and each one's control.

A frame is that of ``Store.frame``: one row for each episode, labels as columns. Errors say nothing about what
a policy knows; they are counted, and never enter a rate. A *start* is a task and an initial state, which is
its seed's unless it is held: then seeds are the policy's, an episode still goes with the control of its own
seed, and all seeds share the one start.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import polars as pl

from assay.episodes.spec import CONTROL
from assay.measures.result import MeasureError

PAIR = ("task", "seed")
"""What a perturbed episode shares with its control."""
START = ("task", "start")
"""What episodes share that begin alike: they are no independent witnesses of how much starts matter."""
_BASE = """
id key experiment condition task seed start instruction outcome steps seconds decisions images attempts touched moved
truth error initial_positions contacts clipped events stages progress lasts bystander_moved bystander_tilted left_open
peak_force arm_contact path_length jerk side_effects
"""
BASE = tuple(_BASE.split())
"""The columns of a frame that are no labels."""


def require(frame: pl.DataFrame, *names: str) -> None:
    """Raise MeasureError unless a frame has these columns, with a value somewhere."""
    lacking = [name for name in names if name not in frame.columns or frame[name].null_count() == len(frame)]
    if lacking:
        raise MeasureError(f"no episode has {' or '.join(lacking)}")


def judged(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows that are no errors, with a column ``success`` (0 or 1). Raises MeasureError if none is."""
    rows = with_starts(frame.filter(pl.col("outcome") != "error")).with_columns(
        success=(pl.col("outcome") == "success").cast(pl.Int64)
    )
    if not len(frame):
        raise MeasureError("there is no episode")
    if not len(rows):
        raise MeasureError(f"all {len(frame)} episodes ended in an error")
    return rows


def errors_as_failures(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows with every error as a failure: the least that success can be, if what broke would have failed."""
    broke = pl.when(pl.col("outcome") == "error").then(pl.lit("failure")).otherwise("outcome")
    return frame.with_columns(outcome=broke)


def with_starts(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with a column ``start``, which is the seed where they have none."""
    return rows if "start" in rows.columns else rows.with_columns(start=pl.col("seed"))


def held(rows: Codes) -> bool:
    """Whether some start is that of several seeds."""
    starts = rows(START)
    return bool(len(starts) and rows((*START, "seed")).max() > starts.max())


def nested(strata: np.ndarray, clusters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The number of each row's cluster within its stratum (n,), and to which stratum each such cluster belongs."""
    width = clusters.max() + 1
    pairs, where = np.unique(strata * width + clusters, return_inverse=True)
    return where, pairs // width


def codes(rows: pl.DataFrame, names: Sequence[str]) -> np.ndarray:
    """The number of each row's combination of values: (rows,)."""
    return Codes(rows)(names)


class Codes:
    """Numbers the combinations of values of the same rows, for several questions: each column is read once."""

    def __init__(self, rows: pl.DataFrame) -> None:
        self._rows = rows
        self._columns: dict[str, np.ndarray] = {}
        self._found: dict[tuple[str, ...], np.ndarray] = {(): np.zeros(len(rows), np.int64)}

    def __call__(self, names: Sequence[str]) -> np.ndarray:
        """The number of each row's combination of values: (rows,)."""
        wanted = tuple(names)
        if wanted not in self._found:
            last = self._column(wanted[-1])
            several = len(wanted) > 1 and len(last)
            self._found[wanted] = nested(self(wanted[:-1]), last)[0] if several else last
        return self._found[wanted]

    def _column(self, name: str) -> np.ndarray:
        if name not in self._columns:
            self._columns[name] = _numbered(self._rows[name])
        return self._columns[name]


def _numbered(column: pl.Series) -> np.ndarray:
    """The number of each value: texts by when they first appear, others by their order."""
    if column.dtype != pl.String:
        return np.unique(column.to_numpy(), return_inverse=True)[1]
    texts = column.to_list()  # of the few thousand rows of a run this is faster than a categorical
    number = {text: at for at, text in enumerate(dict.fromkeys(texts))}
    return np.fromiter(map(number.__getitem__, texts), np.int64, len(texts))


def controls(rows: pl.DataFrame) -> pl.DataFrame:
    """The judged rows in which nothing was changed, one for each seed (the first, if a plan has several)."""
    return rows.filter(pl.col("condition") == CONTROL).unique(PAIR, keep="first", maintain_order=True)


def perturbed_rows(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows in which something was changed."""
    return rows.filter(pl.col("condition") != CONTROL)


def guessable(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows of conditions whose instruction may be guessed although it does not ask for the task any more.

    One row that says so is enough: those of an older version of Assay in the same run do not.
    """
    if "guessable" not in frame.columns:
        return frame.clear()
    return frame.filter(pl.col("guessable").fill_null(False).any().over("condition"))


def plausible(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows in which success is expected: all that are not labelled implausible."""
    return frame.filter(pl.col("plausible").fill_null(True)) if "plausible" in frame.columns else frame


def pairs(rows: pl.DataFrame, *columns: str) -> pl.DataFrame:
    """Judged perturbed rows beside their controls', whose columns are named ``control_...``.

    Rows without a judged control are left out.
    """
    wanted = dict.fromkeys(("success", *columns))
    beside = controls(rows).select(*PAIR, *(pl.col(name).alias(f"control_{name}") for name in wanted))
    return perturbed_rows(rows).join(beside, on=PAIR, how="inner", maintain_order="left")


def in_another_world() -> pl.Expr:
    """Whether the axis of a row says that its world is changed."""
    return pl.col("axis").str.split("+").list.contains("world").fill_null(False)


def labels(frame: pl.DataFrame) -> list[str]:
    """The names of a frame's labels."""
    return [name for name in frame.columns if name not in (*BASE, "success")]


def sums(rows: pl.DataFrame, by: Sequence[str], **values: pl.Expr) -> np.ndarray:
    """The sums of expressions over the clusters that share ``by``: (clusters, values), in a stable order."""
    table = rows.group_by(by, maintain_order=True).agg(**{name: each.sum() for name, each in values.items()})
    return table.select(*values).to_numpy().astype(float)


def goal(truth: str = "truth") -> pl.Expr:
    """The goal of a row, from the column that says when each of its atoms was true; empty if unknown."""
    return pl.col(truth).map_elements(lambda each: " and ".join(sorted(atoms(each))), return_dtype=pl.String)


@lru_cache(maxsize=65_536)
def atoms(truth: str) -> frozenset[str]:
    """The goal's atoms, from what is recorded about when each was true."""
    return frozenset(json.loads(truth))
