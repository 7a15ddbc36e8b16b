"""What a report will test of a plan, before anything is run: the changes whose cost it tells, and its one family.

How many tests there are is counted as the diagnosis makes them (``diagnosis``, ``search``); those that so few starts
could not bring below the level are counted too, because a report counts them as soon as seeds are added.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from assay.episodes import CONTROL, EpisodeSpec, world_of
from assay.episodes.perturbation import Change
from assay.measures.changes import changed
from assay.measures.flaws import shown_by
from assay.measures.frames import plausible
from assay.measures.memory.memorisation import FAR
from assay.measures.search import sayings
from assay.measures.success.labels import MANY
from assay.measures.words.actions import STRATUM
from assay.measures.words.surface import LABEL
from assay.support.stats.power import NAMED, SEARCHED, detectable, starts_for
from assay.tasks.labels import COLUMN

_WORDS = ("action", "object")
"""Labels of wordings: how an action is said, how things are named."""


@dataclass(frozen=True, slots=True)
class Tested:
    """A change whose cost a report tests, in one family with all that it tests besides."""

    change: str
    """What is changed: names, position, ...; changes made together have a + between."""
    conditions: tuple[str, ...]
    starts: int
    """Tasks and initial states with one of them."""
    family: int
    """How many are tested together (Holm)."""
    named: bool
    """Whether a flaw of this name is tested; changes made together are only looked for."""

    def detectable(self, success: float) -> float | None:
        """The least loss that is found with a power of 80 %, where so much of the controls succeeds."""
        return detectable(self.starts, success, self.family, self._level)

    def starts_for(self, loss: float, success: float) -> int | None:
        """How many starts find a loss with a power of 80 %."""
        return starts_for(loss, success, self.family, self._level)

    @property
    def _level(self) -> float:
        return NAMED if self.named else SEARCHED


@dataclass(frozen=True, slots=True)
class Expected:
    """What a report will test of a plan."""

    changes: tuple[Tested, ...]
    named: int
    """Tests of flaws that have a name."""
    searched: int
    """Patterns that are looked for besides."""
    unexpected: tuple[str, ...]
    """Conditions in which success is not expected: they tell of memory and of listening, not of a loss. Without those
    whose instruction may be guessed, which tell of neither."""


def expected(specs: Iterable[EpisodeSpec]) -> Expected:
    """What a report will test, if the controls of some starts succeed and some fail."""
    every = _frame(specs)
    rows = every.filter(pl.col("condition") != CONTROL)
    sensible = plausible(rows)
    lost = sensible.drop_nulls("change").filter(pl.col("change") != Change.TASK)
    named, searched = _named(every, rows, lost), _searched(sensible, lost)
    changes = []
    for (change,), group in sensible.drop_nulls("change").group_by("change", maintain_order=True):
        alone = len(shown_by(str(change))) == 1
        starts = group.select("task", "start").n_unique()
        conditions = tuple(group["condition"].unique(maintain_order=True))
        changes.append(Tested(str(change), conditions, starts, named if alone else searched, alone))
    without = rows.filter(~pl.col("plausible") & ~pl.col("guessable"))["condition"].unique(
        maintain_order=True
    )
    return Expected(tuple(changes), named, searched, tuple(without))


def _frame(specs: Iterable[EpisodeSpec]) -> pl.DataFrame:
    """A plan as a run's frame has it, as far as tests depend on it; with what is changed, and the names that are."""
    told: dict[tuple[object, ...], str] = {}
    rows = []
    for number, spec in enumerate(specs):
        labels, text = spec.labels, None
        sensible = bool(labels.get("plausible", True))
        if (
            sensible and labels.get("change") == Change.WORDING
        ):  # it may change names: that is told from the text
            key = (spec.task, spec.perturbations)
            if key not in told:
                told[key] = world_of(spec.task).task(spec).instruction.text
            text = told[key]
        rows.append(
            {
                "id": number,
                "task": spec.task,
                "seed": spec.seed,
                "start": spec.world_seed,
                "condition": spec.condition,
                "instruction": text,
                "plausible": sensible,
                "guessable": bool(labels.get("guessable")),
                "milder": bool(labels.get("milder")),
                "other_task": labels.get("change") == Change.TASK,
                "asked": labels.get("asked_goal") is not None or labels.get("change") == Change.TASK,
                "far": float(labels.get("distance") or 0.0),
                "kind": any(name.startswith(COLUMN) for name in labels),
                **{name: _text(labels.get(name)) for name in ("change", "axis", LABEL, *_WORDS)},
            }
        )
    return changed(pl.DataFrame(rows, infer_schema_length=None))


def _text(label: object) -> str | None:
    return None if label is None else str(label)


def _named(every: pl.DataFrame, rows: pl.DataFrame, lost: pl.DataFrame) -> int:
    """How many flaws are tested, as ``hypotheses`` has them; a flaw that two changes show is tested twice."""
    world = world_of(str(every["task"][0])).traits if len(every) else None
    paths = world is not None and world.continuous
    worded = lost.filter(pl.col("change").is_in([Change.WORDING, Change.NAMES]))
    kept, manners = worded.filter(pl.col("change") == Change.WORDING), worded["change"].n_unique()
    names = manners == 2 and _names_apart(worded)
    singles = {change for change in lost["change"].unique() if len(shown_by(change)) == 1}
    singles -= {Change.NAMES} if names else set()
    singles -= {Change.SURFACE} if rows[LABEL].is_not_null().any() else set()
    words = rows.filter((pl.col("axis") == "words") & (~pl.col("plausible") | pl.col("asked")))
    moved = rows.filter((pl.col("far") >= FAR) | pl.col("change").str.contains(Change.POSITION, literal=True))
    return sum(
        (
            bool(len(lost)),  # the fall over all changes
            len(singles),
            names,
            bool(len(kept.drop_nulls(_WORDS)) and _ways(kept)),
            bool(rows[LABEL].is_not_null().any()),
            bool((plausible(rows)["other_task"]).any()),
            bool((every["condition"] == CONTROL).any()),  # fails with nothing changed
            paths and bool((every["condition"] == CONTROL).any()),  # ... close to the successful path
            paths and bool(len(moved)),  # plays back what it has learnt
            bool(len(words)),  # does not listen
            bool(rows["kind"].any()) and rows["task"].n_unique() >= MANY,
        )
    )


def _names_apart(worded: pl.DataFrame) -> bool:
    """Whether some task has wordings that keep the names, and others that change them, in the same manner."""
    manner = pl.coalesce("action", pl.col("seed").cast(pl.String))
    return bool((worded.group_by("task", manner).agg(pl.col("change").n_unique())["change"] == 2).any())


def _ways(kept: pl.DataFrame) -> bool:
    """Whether some task is said in several ways."""
    return bool((kept.group_by(STRATUM).agg(pl.col("action").n_unique())["action"] > 1).any())


def _searched(sensible: pl.DataFrame, lost: pl.DataFrame) -> int:
    """How many patterns are looked for, as ``search`` has them."""
    ways = lost.filter(pl.col("change") == Change.WORDING).drop_nulls(_WORDS)
    same = sensible.filter(~pl.col("other_task"))
    tasks = sensible["task"].n_unique()
    return (
        same["axis"].drop_nulls().n_unique()
        + sum(len(shown_by(change)) > 1 for change in lost["change"].unique())
        + sensible["condition"].n_unique()
        + (lost.select("task", "change").n_unique() if tasks > 1 else 0)
        + (sum(1 for _ in sayings(0, ways.with_columns(success=pl.lit(1)))) if len(ways) else 0)
    )
