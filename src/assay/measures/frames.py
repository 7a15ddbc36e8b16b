"""Rows of a run for measures: selection, pairing with controls, and labels of changes.

A frame comes from ``Store.frame``: one row for each episode, with labels as columns. Errors are counted and never enter
a rate. A *start* is a task and an initial state. The seed determines the initial state, unless the run holds the start
fixed: then the seed applies only to the policy, and all seeds of a task share one start. In both cases an episode is
paired with the control that has the same task and seed.

Perturbations declare their change, and plans record it as the label ``change``: ``position``, or ``appearance+object``
for a joint change. Whether a changed instruction uses other names for objects is determined from its text.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import polars as pl

from assay.episodes.perturbation import Change
from assay.episodes.spec import CONTROL, REPEAT_STRIDE
from assay.errors import AssayError
from assay.measures.result import MeasureError
from assay.support.stats.intervals import Difference, stratified_difference, widen_to_p
from assay.support.stats.significance import paired_p

NONE = "none"
"""Name of the type that keeps the object names, or the action phrasing, of the original instruction."""
OBJECTS = (NONE, "addition", "contextual", "habitual")
"""Ways to name objects, after LIBERO-Para; ``assay.perturb.words.grid.cells`` defines them."""
ACTIONS = (
    *(NONE, "addition", "contextual", "habitual", "coordination", "subordination"),
    *("need", "embedded", "permission", "question", "hint"),
)
"""Ways to phrase the action."""
PAIR = ("task", "seed")
"""Columns that a perturbed episode shares with its control."""
START = ("task", "start")
"""Columns that identify a start; episodes with the same start are not independent."""
CLUSTER = (*START, "seed", "condition", "instruction")
"""Columns from which it follows which episodes are independent."""
_PAIR_SEED = (
    pl.when(pl.col("seed") % REPEAT_STRIDE == pl.col("start")).then(pl.col("start")).otherwise(pl.col("seed"))
)
"""Seed of the episodes with which a control is compared; see `EpisodeSpec.repeat`."""
IN_ANOTHER_WORLD = pl.col("axis").str.split("+").list.contains("world").fill_null(False)
"""Whether the axis of a row includes ``world``."""


def require(frame: pl.DataFrame, *names: str) -> None:
    """Raise MeasureError unless a frame has these columns, each with at least one value."""
    missing = [name for name in names if name not in frame.columns or frame[name].null_count() == len(frame)]
    if missing:
        raise MeasureError(f"no episode has {' or '.join(missing)}")


def valid_rows(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the rows without errors, with a column ``success`` (0 or 1). Raises MeasureError if none exist."""
    rows = frame.filter(pl.col("outcome") != "error").with_columns(
        success=(pl.col("outcome") == "success").cast(pl.Int64)
    )
    if not len(frame):
        raise MeasureError("the run has no episodes")
    if not len(rows):
        raise MeasureError(f"all {len(frame)} episodes ended in an error")
    return rows


def narrow(frame: pl.DataFrame, *names: str) -> pl.DataFrame:
    """Return only these columns, where they exist: several copies of all columns of a large run exceed the memory."""
    return frame.select(name for name in frame.columns if name in names)


def group_rows(rows: pl.DataFrame, by: Sequence[str]) -> list[tuple[tuple[Any, ...], pl.DataFrame]]:
    """Return the groups of rows with equal values in the columns ``by``, with those values, in order of appearance.

    If there are no columns, there is a single group.
    """
    return list(rows.group_by(by, maintain_order=True)) if by else [((), rows)]


def controls(rows: pl.DataFrame, *, repeats: bool = False) -> pl.DataFrame:
    """Return the control rows, one for each task and seed (the first if a plan has several).

    With ``repeats``, also return the repetitions of a control, which have seeds of their own (``--repeats``).
    """
    chosen = rows.filter(pl.col("condition") == CONTROL).unique(PAIR, keep="first", maintain_order=True)
    if repeats or "start" not in rows.columns:
        return chosen
    return chosen.filter(pl.col("seed") == _PAIR_SEED)


def control_means(rows: pl.DataFrame, **values: pl.Expr) -> pl.DataFrame:
    """Return the mean of each expression over a control and its repetitions, for each task and seed."""
    chosen = controls(rows, repeats=True)
    if "start" in rows.columns:
        chosen = chosen.with_columns(seed=_PAIR_SEED)
    return chosen.group_by(PAIR, maintain_order=True).agg(
        **{name: value.mean() for name, value in values.items()}
    )


def guessable(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of conditions in which a policy can guess the task although it is no longer requested.

    A condition is included if at least one of its rows has the label ``guessable``.
    """
    if "guessable" not in frame.columns:
        return frame.clear()
    return frame.filter(pl.col("guessable").fill_null(False).any().over("condition"))


def plausible(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the rows in which success is expected: all but those with the label ``plausible`` set to false."""
    return frame.filter(pl.col("plausible").fill_null(True)) if "plausible" in frame.columns else frame


def allocated_rounds(stopped: Collection[str]) -> int:
    """Return the planned number of rounds of an allocation, from its stopped conditions; 0 without one."""
    rules = stopped.values() if isinstance(stopped, Mapping) else ()
    return max((int(rule.get("rounds", 0)) for rule in rules), default=0)


def pairs(rows: pl.DataFrame, *columns: str) -> pl.DataFrame:
    """Join perturbed rows with their controls, whose columns have the prefix ``control_``.

    ``control_rate`` is the success rate of the control and its repetitions. Rows without a control are left out.
    """
    names = dict.fromkeys(("success", *columns))
    control = controls(rows).select(*PAIR, *(pl.col(name).alias(f"control_{name}") for name in names))
    rates = control_means(rows, control_rate=pl.col("success"))
    control = control.join(rates, on=PAIR, how="left", maintain_order="left")
    perturbed = rows.filter(pl.col("condition") != CONTROL)
    return perturbed.join(control, on=PAIR, how="inner", maintain_order="left")


def sums(rows: pl.DataFrame, by: Sequence[str], **values: pl.Expr) -> np.ndarray:
    """Return the sum of each expression over each cluster of ``by``: (clusters, values), in a stable order."""
    totals = {name: value.sum() for name, value in values.items()}
    table = rows.group_by(by, maintain_order=True).agg(**totals)
    return table.select(*values).to_numpy().astype(float)


def start_table(rows: pl.DataFrame, *by: str) -> pl.DataFrame:
    """Count pairs (column count) and successes (columns control and perturbed) by start and by columns ``by``."""
    return rows.group_by(*by, *START, maintain_order=True).agg(
        control=pl.col("control_success").sum(), perturbed=pl.col("success").sum(), count=pl.len()
    )


def outcome_counts(table: pl.DataFrame) -> np.ndarray:
    """Return the columns control, perturbed and count of a table made by `start_table`: (starts, 3)."""
    return table.select("control", "perturbed", "count").to_numpy().astype(float)


def two_sides(rows: pl.DataFrame, by: Sequence[str], mine: pl.Expr) -> pl.DataFrame:
    """Count successes and episodes with ``mine`` false and ``mine`` true, in each stratum of ``by`` with both.

    The columns are ``by``, then hits and count (``mine`` false), mine_hits and mine_count (``mine`` true).
    """
    success = pl.col("success")
    table = rows.group_by(by, maintain_order=True).agg(
        hits=success.filter(~mine).sum(),
        count=(~mine).sum(),
        mine_hits=success.filter(mine).sum(),
        mine_count=mine.sum(),
    )
    return table.filter((pl.col("count") > 0) & (pl.col("mine_count") > 0))


def side_counts(table: pl.DataFrame) -> np.ndarray:
    """Return the columns hits, count, mine_hits and mine_count of a table made by `two_sides`: (4, strata)."""
    return table.select("hits", "count", "mine_hits", "mine_count").to_numpy().astype(float).T


def compare_sides(table: pl.DataFrame, p: float | None = None) -> tuple[Difference, float]:
    """Return the success with ``mine`` true minus that with it false, and the p value: ``p`` or an exact one.

    The interval is extended to include 0 if the test is not significant.
    """
    sides = side_counts(table)
    p, estimate = paired_p(*sides) if p is None else p, stratified_difference(*sides)
    return replace(estimate, interval=widen_to_p(estimate.interval, p)), p


def goal(truth: str = "truth") -> pl.Expr:
    """Return an expression for the goal of a row: its atoms, joined with "and"; empty if unknown.

    ``truth`` names the column that records when each atom of the goal was true.
    """
    return pl.col(truth).map_elements(lambda text: " and ".join(sorted(atoms(text))), return_dtype=pl.String)


@lru_cache(maxsize=65_536)
def atoms(truth: str) -> frozenset[str]:
    """Return the atoms of a goal from the JSON object that records when each was true."""
    return frozenset(json.loads(truth))


JOINED = "+"
"""Separator between the nouns in the column ``renamed``."""


def label_changes(frame: pl.DataFrame) -> pl.DataFrame:
    """Add the columns ``change`` and ``renamed`` to the frame of a run.

    ``change`` is null if success is not expected. ``renamed`` lists the nouns, joined with +, that a paraphrase
    replaces; it is null unless only the instruction changed. Episodes whose planned event did not happen are left out.
    """
    if (
        "milder" in frame.columns
    ):  # weaker than other changes of its kind, so it is reported by condition only
        frame = frame.with_columns(
            change=pl.when(pl.col("milder").fill_null(False).cast(pl.Boolean)).then(None).otherwise("change")
        )
    if "events" in frame.columns:
        happened = frame["events"].map_elements(all_happened, return_dtype=pl.Boolean).fill_null(True)
        frame = frame if happened.all() else frame.filter(happened)
    sensible = plausible(frame.select("id", *({"plausible"} & set(frame.columns))))["id"]
    change = pl.col("change").cast(pl.String) if "change" in frame.columns else pl.lit(None, pl.String)
    frame = frame.with_columns(change=pl.when(pl.col("id").is_in(sensible.implode())).then(change))
    if "instruction" not in frame.columns:
        return frame.with_columns(renamed=pl.lit(None, pl.String))
    worded = frame.filter(pl.col("change") == Change.WORDING).select("task", "instruction").unique()
    worded = worded.with_columns(
        renamed=pl.Series([find_renamed(*row) for row in worded.iter_rows()], dtype=pl.String),
        change=pl.lit(str(Change.WORDING)),
    )
    keys = frame.select("task", "instruction", "change")
    renamed = keys.join(worded, on=keys.columns, how="left", maintain_order="left")["renamed"]
    return frame.with_columns(renamed).with_columns(
        change=pl.when(pl.col("renamed") != "").then(pl.lit(str(Change.NAMES))).otherwise("change")
    )


def all_happened(events: str) -> bool:
    """Return whether every event of an episode happened, from the JSON in the column ``events``."""
    return all(event["step"] is not None for event in json.loads(events))


def find_renamed(task: str, text: str) -> str:
    """Return the nouns of a task's instruction that a paraphrase does not contain verbatim, joined with +."""
    from assay.tasks.language.lexicon import mentions

    return JOINED.join(noun for noun, form in _nouns(task).items() if not mentions(text, form))


@lru_cache(maxsize=4096)
def _nouns(task: str) -> Mapping[str, str]:
    """Return the nouns in a task's instruction and their spelling; empty if it cannot be parsed."""
    from assay import tasks  # imported here because only paraphrases need the parser, which is slow to load
    from assay.tasks.language.lexicon import lexicon
    from assay.tasks.language.meaning import read_task

    try:
        mentions = read_task(tasks.load(task), lexicon()).mentions
    except AssayError:
        return {}
    return {mention.noun.name: mention.original for mention in mentions}
