"""What a change changes: where things stand, how they look, what they are called, ...; and what it costs.

The perturbations of a condition tell. Conditions that change one thing alone are compared with their
controls; what several together do is for ``attribution``.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

import polars as pl

from assay.episodes.spec import CONTROL
from assay.errors import AssayError
from assay.measures.drops import Drop, drops
from assay.measures.names import renamed
from assay.measures.result import MeasureError
from assay.measures.table import plausible
from assay.runs.store import Store


class Change(StrEnum):
    """What is changed."""

    NAMES = "names"
    """The words, and what they call things."""
    WORDING = "wording"
    """The words; things keep their names."""
    TASK = "task"
    """The words and the goal: something else is asked for."""
    POSITION = "position"
    APPEARANCE = "appearance"
    OBJECT = "object"
    """Size or kind of the thing."""
    CLUTTER = "clutter"
    """Further things."""
    ROOM = "room"
    """Floor, walls, light."""
    CAMERA = "camera"
    ROBOT = "robot"
    SENSES = "senses"
    WORLD = "world"
    """Something else in the world."""


_OTHER_TASK = "words/other_task"
_BY_KIND = {
    "world/displace": Change.POSITION,
    "world/jitter": Change.POSITION,
    "world/relocate": Change.POSITION,
    "world/swap": Change.POSITION,
    "world/move_fixture": Change.POSITION,
    "world/recolour": Change.APPEARANCE,
    "world/resize": Change.OBJECT,
    "world/replace": Change.OBJECT,
    "world/confound": Change.CLUTTER,
    "world/distractors": Change.CLUTTER,
    "world/obstacle": Change.CLUTTER,
    "world/room": Change.ROOM,
    "world/repaint": Change.ROOM,
    "world/light": Change.ROOM,
    "world/camera": Change.CAMERA,
    "world/orbit": Change.CAMERA,
    "world/robot": Change.ROBOT,
    _OTHER_TASK: Change.TASK,
}
_BY_AXIS = {"words": Change.WORDING, "world": Change.WORLD, "senses": Change.SENSES}


def changed(store: Store, frame: pl.DataFrame) -> pl.DataFrame:
    """A run's frame with two columns more.

    ``change`` is what alone is changed, if a good policy should succeed all the same; ``renamed`` has
    the nouns that words changed alone no longer have, joined with +.
    """
    first = frame.filter(pl.col("condition") != CONTROL).group_by("condition").agg(pl.col("id").first())
    try:
        specs = store.specs(first["id"].to_list())
    except AssayError as error:
        raise MeasureError(f"changes: {error}") from None
    of_condition = {spec.condition: what(each.kind for each in spec.perturbations) for spec in specs}
    sensible = plausible(frame.select("id", *({"plausible"} & set(frame.columns))))["id"]
    frame = frame.with_columns(
        change=pl.when(pl.col("id").is_in(sensible.implode())).then(
            pl.col("condition").replace_strict(of_condition, default=None, return_dtype=pl.String)
        )
    )
    worded = frame.filter(pl.col("change") == Change.WORDING).select("task", "instruction").unique()
    worded = worded.with_columns(
        renamed=pl.Series([renamed(*row) for row in worded.iter_rows()], dtype=pl.String),
        change=pl.lit(str(Change.WORDING)),
    )
    found = frame.join(worded, on=("task", "instruction", "change"), how="left", maintain_order="left")
    return found.with_columns(
        change=pl.when(pl.col("renamed") != "").then(pl.lit(str(Change.NAMES))).otherwise("change")
    )


def what(kinds: Iterable[str]) -> str | None:
    """What perturbations of these kinds change, if it is one thing."""
    found = {_BY_KIND.get(kind) or _BY_AXIS.get(kind.split("/")[0], Change.WORLD) for kind in kinds}
    return str(found.pop()) if len(found) == 1 else None


def change_drops(frame: pl.DataFrame) -> tuple[Drop, ...]:
    """What each change costs alone. Needs the columns that ``changed`` adds."""
    rows = frame.filter(pl.col("change").is_not_null() | (pl.col("condition") == CONTROL))
    return drops(rows, ("change",))
