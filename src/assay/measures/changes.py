"""What a change changes: where objects stand, how they look, what they are called, ...

Perturbations say it of themselves, and plans write it down as the label ``change``: ``position``, or, where several
things are changed together, ``appearance+object``. An instruction that was changed alone may call things by other
names; that is told from its text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache

import polars as pl

from assay.episodes.perturbation import Change
from assay.errors import AssayError
from assay.measures.frames import plausible

JOINED = "+"
"""Between nouns."""


def changed(frame: pl.DataFrame) -> pl.DataFrame:
    """A run's frame, with what is changed, and the names that are.

    ``change`` is null where success is not expected; ``renamed`` has the nouns that an instruction
    changed alone no longer has, joined with +. Episodes in which what was to happen did not are left out.
    """
    if "milder" in frame.columns:  # less than its kind of change: by condition only
        frame = frame.with_columns(
            change=pl.when(pl.col("milder").fill_null(False).cast(pl.Boolean)).then(None).otherwise("change")
        )
    frame = _without_absent_events(frame)
    sensible = plausible(frame.select("id", *({"plausible"} & set(frame.columns))))["id"]
    known = pl.col("change").cast(pl.String) if "change" in frame.columns else pl.lit(None, pl.String)
    frame = frame.with_columns(change=pl.when(pl.col("id").is_in(sensible.implode())).then(known))
    if "instruction" not in frame.columns:
        return frame.with_columns(renamed=pl.lit(None, pl.String))
    worded = frame.filter(pl.col("change") == Change.WORDING).select("task", "instruction").unique()
    worded = worded.with_columns(
        renamed=pl.Series([renamed(*row) for row in worded.iter_rows()], dtype=pl.String),
        change=pl.lit(str(Change.WORDING)),
    )
    joined = frame.join(worded, on=("task", "instruction", "change"), how="left", maintain_order="left")
    return joined.with_columns(
        change=pl.when(pl.col("renamed") != "").then(pl.lit(str(Change.NAMES))).otherwise("change")
    )


def _without_absent_events(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows in which what was to happen during the episode did; others are nothing but controls."""
    if "events" not in frame.columns:
        return frame
    return frame.filter(pl.col("events").map_elements(all_happened, return_dtype=pl.Boolean).fill_null(True))


def all_happened(events: str) -> bool:
    """Whether every event of an episode happened, from the JSON of a frame."""
    return all(load["step"] is not None for load in json.loads(events))


def renamed(task: str, text: str) -> str:
    """The nouns of a task's instruction that a text does not have, word for word; joined with +."""
    from assay.tasks.language.lexicon import mentions

    return JOINED.join(noun for noun, form in _nouns(task).items() if not mentions(text, form))


@lru_cache(maxsize=4096)
def _nouns(task: str) -> Mapping[str, str]:
    """The nouns of a task's instruction, and how they are written; empty if it cannot be read."""
    from assay import tasks  # the reader of instructions is heavy, and only paraphrases need it
    from assay.tasks.language import lexicon, read_task

    try:
        said = read_task(tasks.load(task), lexicon()).mentions
    except AssayError:
        return {}
    return {each.noun.name: each.original for each in said}
