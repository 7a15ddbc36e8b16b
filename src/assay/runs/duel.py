"""A duel: two policies on the same episodes, start by start, until it is known which is better.

Starts (task and seed) come in a random order that both policies share, and that stays: starts that are added later come
after those that were there. Of each start some episodes are dealt, at random: one, by default, because episodes of
one start resemble each other and tell less than as many of different starts.

What is bet on (`assay.support.stats.betting`) is one number for each start: the mean difference of success (0 or 1),
or of progress (0 to 1), B - A, over the start's episodes that both did without an error. A start counts when both have
done it and all before it, so the verdict depends neither on workers nor on interruptions. All that is said follows
from one interval that holds at all times: for all together with a probability of 1 - alpha, and likewise for all
conditions at once (Bonferroni).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from assay.episodes import Episode, EpisodeSpec, Outcome, Policy
from assay.errors import RunError
from assay.experiments import Experiment
from assay.runs.connections import SUFFIX
from assay.runs.driver import Driving, driving
from assay.runs.execute import Observer, Request, executor_for, opened, plan, request
from assay.runs.executor import Player
from assay.runs.sequential import ALPHA, start_order
from assay.runs.store import Store
from assay.runs.todo import Todo
from assay.runs.work import Options, Work, prepare
from assay.support.stats.betting import Wager, anytime_interval
from assay.support.stats.judgement import Judgement, Line, Verdict, verdict_of

MARGIN = 0.05
"""Differences smaller than this do not matter."""
PER_START = 1
"""Episodes that are dealt of each start, if nobody says."""
SIDES = ("A", "B")
SUCCESS, PROGRESS = "success", "progress"
MEASURES = (SUCCESS, PROGRESS)
"""What policies can be compared by: bounded scores of an episode, from 0 to 1."""
META = "duel"
"""Of the run's meta table: how the duel was dealt, and in which order."""

Start = tuple[str, int]
Contender = str | Policy | Player


@dataclass(frozen=True, slots=True)
class Duel:
    """What came of a duel, and where it is kept."""

    judgement: Judgement
    runs: tuple[Path, Path]
    left: int
    """Episodes that the same command would still play; 0 where it is over."""
    reason: str = ""
    """Why it ended early, if a policy was away."""


def default_folder(first: str, second: str) -> Path:
    """Where a duel goes if nobody says."""
    plain = ["".join(c if c.isalnum() or c in ".=_-" else "-" for c in each) for each in (first, second)]
    return Path("runs") / f"duel-{plain[0]}-{plain[1]}"


def duel(
    experiment: str | Experiment,
    policies: tuple[Contender, Contender],
    folder: Path,
    options: Options,
    *,
    margin: float = MARGIN,
    each: bool = False,
    per_start: int | None = PER_START,
    measure: str = SUCCESS,
    labels: tuple[str | None, str | None] = (None, None),
    observer: Observer | None = None,
) -> Duel | None:
    """Play two policies against each other; the same again goes on. None where the observer did not approve.

    ``each``: every condition is to be decided, too. ``per_start``: episodes of each start, None for all of them.
    ``measure``: what is compared, success or progress. Raises AssayError.
    """
    observer = observer or Observer()
    if measure not in MEASURES:
        raise RunError(f"measure '{measure}': valid: {', '.join(MEASURES)}")
    if not 0 < margin < 1:
        raise RunError(f"margin {margin:g}: valid: between 0 and 1, such as 0.05 for five points")
    if per_start is not None and per_start < 1:
        raise RunError(f"per_start={per_start}: valid: 1 or more")
    objects = [policy for policy in policies if not isinstance(policy, str)]
    if objects and options.workers:
        raise RunError("a policy that is an object acts in this process: workers must be 0")
    if options.workers is None:
        options = replace(options, workers=0 if objects else max(1, (os.cpu_count() or 1) // 2))
    work = dealt(prepare(experiment, options), per_start)
    asked = [
        request(work, policy, folder / f"{side}{SUFFIX}", label)
        for side, policy, label in zip(SIDES, policies, labels, strict=True)
    ]
    order = _known_order(asked, per_start, measure)
    if not all(observer.approve(work, each.path, each.address) for each in asked):
        return None
    with ExitStack() as held:
        stores = [held.enter_context(opened(each)) for each in asked]
        names = [_called(store, one) for store, one in zip(stores, asked, strict=True)]
        interrupted = any(
            plan(store, work, one.config, observer).left for store, one in zip(stores, asked, strict=True)
        )
        table = Table.of(stores, order, options, measure)
        dealing: dict[str, object] = {
            "per_start": per_start,
            "order": [list(start) for start in table.order],
        }
        if measure != SUCCESS:
            dealing["measure"] = measure
        for store in stores:
            store.describe(**{META: dealing})
        judge = Judge(table, margin, each=each)
        reason = "" if interrupted else _play(judge, stores, asked, policies, observer)
        return Duel(
            judge.judgement(names[0], names[1]),
            (asked[0].path, asked[1].path),
            2 * len(work.specs) if interrupted else 0 if judge.over else judge.waiting,
            reason,
        )


def dealt(work: Work, per_start: int | None) -> Work:
    """Of each start so many episodes, at random but always the same; none after which success is not expected."""
    fair = [spec for spec in work.specs if spec.labels.get("plausible") is not False] or work.specs
    starts: dict[Start, list[EpisodeSpec]] = {}
    for spec in fair:
        starts.setdefault((spec.task, spec.seed), []).append(spec)
    chosen = {
        spec.key
        for several in starts.values()
        for spec in sorted(several, key=lambda spec: _drawn(spec.key))[:per_start]
    }
    return replace(work, specs=[spec for spec in fair if spec.key in chosen])


def _drawn(key: str) -> str:
    return hashlib.sha256(f"dealt {key}".encode()).hexdigest()


def _known_order(asked: Sequence[Request], per_start: int | None, measure: str) -> list[Start]:
    """The order of the starts of a duel that is to be resumed. Raises RunError where it was dealt otherwise."""
    order: list[Start] = []
    for path in (each.path for each in asked):
        if path.is_file():
            with Store.reading(path) as store:
                known, done = store.meta.get(META), store.done
            if known is None and not done:  # killed before it was told: nothing is lost
                continue
            if known is None:
                raise RunError(f"{path} is a run, but not of a duel: choose another --out")
            if known["per_start"] != per_start:
                raise RunError(
                    f"{path} has {known['per_start'] or 'all'} episodes of each start, not {per_start or 'all'}: "
                    "choose another --out"
                )
            if (compared := known.get("measure", SUCCESS)) != measure:
                raise RunError(f"{path} was compared by {compared}, not {measure}: choose another --out")
            order = order or [(task, seed) for task, seed in known["order"]]
    return order


def _called(store: Store, asked: Request) -> str:
    """What a policy is called, in its run, too: A.assay says nothing of itself."""
    if "label" not in store.meta:
        store.describe(label=asked.address)
    return str(store.meta["label"])


@dataclass(slots=True)
class Table:
    """The episodes of a duel, and what came of them."""

    order: list[Start]
    starts: dict[Start, list[tuple[str, str]]]
    """Key and condition of each episode that both have in their plan."""
    scores: tuple[dict[str, float | None], dict[str, float | None]]
    """Of each side, by key: 0 to 1, None for an error; what is to be done is not in it."""
    conditions: list[str]
    measure: str

    @classmethod
    def of(cls, stores: Sequence[Store], order: Sequence[Start], options: Options, measure: str) -> Table:
        """What the runs of both sides have in their plans; ``order``: of the starts that were there before."""
        plans = []
        scores: tuple[dict[str, float | None], dict[str, float | None]] = ({}, {})
        for store, known in zip(stores, scores, strict=True):
            came = store.progress() if measure == PROGRESS else {}
            waiting = {entry.key for entry in store.todo(retry=options.retry)}
            about: dict[str, tuple[Start, str]] = {}
            for condition, _ in store.conditions():
                for key, task, seed, outcome in store.outcomes(condition):
                    about[key] = ((task, seed), condition)
                    if outcome is not None and key not in waiting:
                        known[key] = score_of(outcome, came.get(key), measure)
            plans.append(about)
        starts: dict[Start, list[tuple[str, str]]] = {}
        for key, (start, condition) in plans[0].items():
            if key in plans[1]:
                starts.setdefault(start, []).append((key, condition))
        before = [start for start in order if start in starts]
        fresh = sorted(starts.keys() - set(before), key=lambda start: start_order(*start))
        conditions = [condition for condition, _ in stores[0].conditions()]
        return cls([*before, *fresh], starts, scores, conditions, measure)

    def keys(self) -> dict[str, int]:
        """Where each episode stands: key -> place."""
        several = (key for start in self.order for key, _ in self.starts[start])
        return {key: place for place, key in enumerate(several)}


def score_of(outcome: Outcome, progress: float | None, measure: str) -> float | None:
    """What an episode counts, 0 to 1; None for an error. Raises RunError where its world knows no progress."""
    if outcome is Outcome.ERROR:
        return None
    if measure == SUCCESS:
        return float(outcome is Outcome.SUCCESS)
    if progress is None:
        raise RunError("measure 'progress': the episodes of this world, or of this run, do not record it")
    return progress


class Judge:
    """Decides, start by start, what is known of B against A."""

    def __init__(self, table: Table, margin: float, *, each: bool, alpha: float = ALPHA) -> None:
        self._table, self._margin, self._alpha, self._each = table, margin, alpha, each
        self._overall = _Contest(None, table, margin, alpha)
        share = alpha / max(1, len(table.conditions))
        self._conditions = [_Contest(name, table, margin, share) for name in table.conditions]
        self._advance()

    def see(self, side: int, key: str, episode: Episode) -> None:
        """Take note of an episode that was recorded."""
        table = self._table
        table.scores[side][key] = score_of(episode.outcome, episode.progress, table.measure)
        self._advance()

    def _advance(self) -> None:
        for contest in (self._overall, *self._conditions):
            contest.advance()

    @property
    def over(self) -> bool:
        """Whether all that was asked for is decided."""
        return self._overall.verdict.final and (
            not self._each or all(condition.verdict.final for condition in self._conditions)
        )

    @property
    def dropped(self) -> set[str]:
        """Conditions of which no more episodes are wanted: decided, as all together is."""
        if not (self._each and self._overall.verdict.final):
            return set()
        return {str(condition.condition) for condition in self._conditions if condition.verdict.final}

    @property
    def waiting(self) -> int:
        """Episodes of both sides that are planned, wanted and not done."""
        dropped = self.dropped
        several = (each for start in self._table.starts.values() for each in start)
        wanted = [key for key, condition in several if condition not in dropped]
        return sum(key not in done for done in self._table.scores for key in wanted)

    def places(self) -> dict[str, int]:
        """Where each episode of the duel stands: key -> place."""
        return self._table.keys()

    def done(self, side: int) -> int:
        """How many episodes one side has done."""
        return len(self._table.scores[side])

    def judgement(self, first: str, second: str) -> Judgement:
        """What is known now."""
        planned = self._table.keys()
        known = [score for done in self._table.scores for key, score in done.items() if key in planned]
        return Judgement(
            first=first,
            second=second,
            overall=self._overall.line(),
            conditions=tuple(condition.line() for condition in self._conditions),
            margin=self._margin,
            alpha=self._alpha,
            anytime=True,
            each=self._each,
            played=len(known),
            planned=2 * len(planned),
            errors=sum(score is None for score in known),
            measure=self._table.measure,
        )


@dataclass(slots=True)
class _Contest:
    """B against A in the episodes of one condition, or of all; when it is decided, no more of them count."""

    condition: str | None
    table: Table
    margin: float
    alpha: float
    verdict: Verdict = Verdict.UNDECIDED
    rates: list[tuple[float, float]] = field(default_factory=list)
    """Success, or progress, of A and of B in each start that counts."""
    pairs: int = 0
    _starts: list[list[str]] = field(init=False)
    _next: int = 0
    _wagers: tuple[Wager, Wager, Wager, Wager] = field(init=False)
    """That B - A is above 0, above -margin; that A - B is above 0, above -margin."""

    def __post_init__(self) -> None:
        several = (
            [key for key, name in self.table.starts[start] if self.condition in (None, name)]
            for start in self.table.order
        )
        self._starts = [keys for keys in several if keys]
        self._wagers = (Wager(0.0), Wager(-self.margin), Wager(0.0), Wager(-self.margin))

    def advance(self) -> None:
        """Count the starts that both have done by now, until it is decided."""
        first, second = self.table.scores
        while not self.verdict.final and self._next < len(self._starts):
            keys = self._starts[self._next]
            if not all(key in first and key in second for key in keys):
                return
            self._next += 1
            self._count([(first[key], second[key]) for key in keys])

    def _count(self, scores: list[tuple[float | None, float | None]]) -> None:
        known = [(one, other) for one, other in scores if one is not None and other is not None]
        if not known:
            return
        self.pairs += len(known)
        mine, theirs = (sum(pair[side] for pair in known) / len(known) for side in (0, 1))
        self.rates.append((mine, theirs))
        for wager, sign in zip(self._wagers, (1, 1, -1, -1), strict=True):
            wager.see(sign * (theirs - mine))
        above_zero, above_loss, below_zero, below_gain = (wager.won(self.alpha / 2) for wager in self._wagers)
        self.verdict = verdict_of(
            above_zero=above_zero, below_zero=below_zero, above_loss=above_loss, below_gain=below_gain
        )

    def line(self) -> Line:
        rates = np.array(self.rates).reshape(-1, 2)
        low, high = anytime_interval(rates[:, 1] - rates[:, 0], self.alpha)
        mine, theirs = (float(rates[:, side].mean()) if len(rates) else None for side in (0, 1))
        change = None if mine is None or theirs is None else theirs - mine
        return Line(self.condition, len(rates), self.pairs, mine, theirs, change, low, high, self.verdict)


@dataclass(slots=True)
class _Side:
    """One policy's run, as it is being driven."""

    going: Driving
    todo: Todo
    workers: int
    alive: bool = True
    reason: str = ""

    def step(self) -> None:
        try:
            next(self.going)
        except StopIteration as end:
            self.alive, self.reason = False, end.value.reason


def _play(
    judge: Judge,
    stores: Sequence[Store],
    asked: Sequence[Request],
    policies: Sequence[Contender],
    observer: Observer,
) -> str:
    """Play what is left, neither side ahead by more than its workers; returns why it ended early, if it did."""
    options, reason = asked[0].work.options, ""

    def over() -> bool:
        return bool(reason) or judge.over or observer.stopping()

    def watch(side: int) -> Callable[[EpisodeSpec | None, Episode | None], None]:
        def seen(spec: EpisodeSpec | None, episode: Episode | None) -> None:
            observer.episode(spec, episode)
            if spec is not None and episode is not None:
                judge.see(side, spec.key, episode)

        return seen

    if over():
        return reason
    observer.began(stores[0], judge.waiting)
    with ExitStack() as held:
        sides = []
        for number, (store, one, policy) in enumerate(zip(stores, asked, policies, strict=True)):
            todo = _todo(store, judge, options)
            executor = executor_for(store, one.config, options, None if isinstance(policy, str) else policy)
            going = driving(store, executor, todo, stopping=over, watch=watch(number))
            held.enter_context(closing(going))
            sides.append(_Side(going, todo, executor.workers))
        while any(side.alive for side in sides):
            for number, side in enumerate(sides):
                other = sides[1 - number]
                ahead = judge.done(number) - judge.done(1 - number)
                if side.alive and (over() or not other.alive or ahead < side.workers):
                    side.step()
                    reason = reason or side.reason
                    for condition in judge.dropped:
                        side.todo.drop(condition)
                        other.todo.drop(condition)
    return reason


def _todo(store: Store, judge: Judge, options: Options) -> Todo:
    places = judge.places()
    entries = [entry for entry in store.todo(retry=options.retry) if entry.key in places]
    entries.sort(key=lambda entry: places[entry.key])
    return Todo([entry for entry in entries if entry.condition not in judge.dropped], strictly=True)
