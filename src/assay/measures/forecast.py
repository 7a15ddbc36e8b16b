"""A plan in numbers: what is to be done, how long that takes, what it can find; and what fits a budget."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from assay.episodes import CONTROL, EpisodeSpec, world_of
from assay.episodes.perturbation import Change
from assay.errors import AssayError
from assay.measures.flaws import shown_by
from assay.measures.frames import label_changes, plausible
from assay.measures.memory.memorisation import FAR
from assay.measures.search import search_phrasings
from assay.measures.success.task_labels import MIN_TASKS
from assay.measures.words.actions import STRATUM
from assay.measures.words.surface import LABEL
from assay.runs.execute import workers_of
from assay.runs.planning import (
    USUAL_SUCCESS,
    Certificates,
    Known,
    Pace,
    alone,
    certificates,
    earlier,
    timed,
)
from assay.runs.store import Store
from assay.runs.work import Work
from assay.support.stats.power import NAMED, SEARCHED, detectable, starts_for
from assay.tasks.labels import COLUMN

FEW = 300
"""Episodes and certificates up to which nothing is timed where no earlier run tells how long they take."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """What is known of a run before it is begun."""

    episodes: int
    """Of the plan; without certificates some may be refused."""
    done: int
    """Of them, recorded already."""
    seeds: int
    certificates: Certificates
    workers: int
    pace: Pace | None
    """Of an episode; None where nobody knows."""
    broke: str
    """Why all episodes broke that were to be timed; empty where none did."""
    certificate_pace: Pace | None
    success: float
    """Of the controls, measured or reckoned with."""
    success_source: str
    tested: tuple[TestedChange, ...]
    """The changes whose cost is tested."""
    unexpected: tuple[str, ...] = ()
    """Conditions in which success is not expected: no loss is looked for in them."""

    @property
    def seconds(self) -> float | None:
        """How long it takes, of the clock; None where nobody knows how long an episode does."""
        if self.pace is None or (self.certificates.missing and self.certificate_pace is None):
            return None
        certifying = self.certificates.missing * (
            self.certificate_pace.seconds if self.certificate_pace else 0.0
        )
        return ((self.episodes - self.done) * self.pace.seconds + certifying) / self.workers

    @property
    def hopeless(self) -> bool:
        """Whether the demonstrator solved nothing that it tried, with nothing changed: hardly anything is certified."""
        return self.certificate_pace is not None and self.certificate_pace.succeeded == 0

    @property
    def worst(self) -> float | None:
        """The largest of the losses that can be found under each change; None where under one of them none can."""
        found = [each.detectable(self.success) for each in self.tested]
        return max((each for each in found if each is not None), default=None) if all(found) else None

    def with_seeds(self, seeds: int) -> Forecast:
        """The same with another number of seeds, nothing done yet and as large a share certified."""
        share = seeds / self.seeds
        need = Certificates(round(share * self.certificates.known), round(share * self.certificates.missing))
        scaled = (replace(each, starts=int(each.starts * share)) for each in self.tested)
        return replace(
            self,
            episodes=round(share * self.episodes),
            done=0,
            seeds=seeds,
            certificates=need,
            tested=tuple(scaled),
        )

    def seeds_within(self, seconds: float) -> int | None:
        """The most seeds that a time allows; None where that is not known, 0 where not even one."""
        one = self.with_seeds(1).seconds if self.seeds else None
        return None if not one else math.floor(seconds / one)

    def seeds_for(self, loss: float) -> int | None:
        """The fewest seeds with which a loss is found under every change; None where no sensible number does."""
        found = [each.starts_for(loss, self.success) for each in self.tested]
        if not found or None in found:
            return None
        per_seed = [each.starts / self.seeds for each in self.tested]
        return max(math.ceil(starts / per) for starts, per in zip(found, per_seed, strict=True) if starts)

    def as_json(self) -> dict[str, Any]:
        """A JSON object."""
        told = asdict(self)
        for each, kept in zip(self.tested, told["tested"], strict=True):
            kept["detectable"] = each.detectable(self.success)
        return {**told, "seconds": self.seconds}


def forecast(
    work: Work,
    policy: str | None,
    *,
    path: Path | None = None,
    folders: Iterable[Path] = (),
    success: float | None = None,
    sample: int = 0,
    few: int = 0,
) -> Forecast:
    """Forecast a run of a policy. Earlier runs tell how long an episode takes and how often controls succeed.

    Where none does, ``sample`` controls are timed: of the policy, or, with ``few``, of the demonstrator alone, which
    takes less than any policy that looks at images, and only if there is more to do than that.
    """
    traits = work.design.played_in.traits
    need = certificates(work)
    known = (
        Known(None, None, 0) if policy is None else earlier(policy, work.pack, folders, work.options.steps)
    )
    worth = len(work.specs) + need.missing > few
    pace, certifying, broke = known.pace, None, ""
    if traits.demonstrator is not None and worth and need.missing:
        certifying = earlier(traits.demonstrator, work.pack, folders, work.options.steps).pace
        if certifying is None and sample:
            tried = timed(work, traits.demonstrator)
            certifying = None if isinstance(tried, str) else tried
    if pace is None and sample and worth:
        who = traits.demonstrator if few else policy
        pace = certifying if certifying is not None and who == traits.demonstrator else None
        if pace is None and who is not None:
            tried = timed(work, who, sample)
            pace, broke = (None, tried) if isinstance(tried, str) else (tried, "")
        pace = None if pace is None else replace(pace, at_least=who != policy)
    source = "given" if success is not None else "assumed"
    if success is None and known.success is not None:
        success, source = known.success, f"measured in {known.controls} controls of earlier runs"
    to_test = expect_tests(work.specs)
    return Forecast(
        episodes=len(work.specs),
        done=0 if path is None else _done(path, work.specs),
        seeds=len({spec.seed for spec in work.specs}),
        certificates=need,
        workers=workers_of(work.options),
        pace=pace,
        broke=broke,
        certificate_pace=certifying,
        success=USUAL_SUCCESS if success is None else success,
        success_source=source,
        tested=to_test.changes,
        unexpected=to_test.unexpected,
    )


def changes_alone(work: Work) -> tuple[Work, tuple[str, ...]] | None:
    """The part of a plan that makes one change at a time, and its conditions; None where that is all of it."""
    chosen = alone(work.specs)
    if not chosen:
        return None
    kept = {*chosen, "control"}
    return replace(work, specs=[spec for spec in work.specs if spec.condition in kept]), chosen


def _done(path: Path, specs: Iterable[EpisodeSpec]) -> int:
    """How many episodes of a plan a run's file holds; those that other commands recorded in it are not counted.

    A time limit that hangs on certificates is set after planning, so limits are not compared.
    """
    if not path.is_file():
        return 0
    try:
        with Store.reading(path) as store:
            known = {replace(spec, steps=None).key for spec in store.recorded()}
    except AssayError:
        return 0
    return sum(replace(spec, steps=None).key in known for spec in specs)


_WORDS = ("action", "object")
"""Labels of wordings: how an action is said, how things are named."""


@dataclass(frozen=True, slots=True)
class TestedChange:
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

    changes: tuple[TestedChange, ...]
    named: int
    """Tests of flaws that have a name."""
    searched: int
    """Patterns that are looked for besides."""
    unexpected: tuple[str, ...]
    """Conditions in which success is not expected: they tell of memory and of listening, not of a loss. Without those
    whose instruction may be guessed, which tell of neither."""


def expect_tests(specs: Iterable[EpisodeSpec]) -> Expected:
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
        changes.append(TestedChange(str(change), conditions, starts, named if alone else searched, alone))
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
    return label_changes(pl.DataFrame(rows, infer_schema_length=None))


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
            bool(rows["kind"].any()) and rows["task"].n_unique() >= MIN_TASKS,
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
        + (sum(1 for _ in search_phrasings(0, ways.with_columns(success=pl.lit(1)))) if len(ways) else 0)
    )
