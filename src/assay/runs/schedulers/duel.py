"""A duel: runs two policies on the same episodes, start by start, until it is known which one is better.

Starts (task and seed) come in a fixed random order that both policies share; starts that are added later come
after the others. From each start, some episodes are selected at random: one, by default, because episodes from the
same start are correlated and carry less information than the same number from different starts.

The comparison (`assay.support.stats.sequential`) is of one number per start: the mean difference B - A of success (0
or 1), or of progress (0 to 1), over the start's episodes that both policies executed without an error. A start counts
once both policies have finished it and all starts before it, so the verdict depends neither on workers nor on
interruptions. The number of starts of the first command is stored: its boundary ends there, and starts that are added
later are decided by bets. A false verdict over all conditions has a probability of at most alpha, and so have those
of the individual conditions jointly (Bonferroni).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Unpack

import numpy as np

from assay.episodes import Episode, EpisodeSpec, Outcome, Policy
from assay.errors import RunError
from assay.experiments import Experiment
from assay.runs.driver import Ending, drive_stepwise
from assay.runs.execute import Observer, choose_workers, make_executor, open_run, plain_name, store_plan
from assay.runs.executor import Player
from assay.runs.options import RunOptions, RunOptionsDict
from assay.runs.plan import RunPlan
from assay.runs.schedulers.plan import Batch, Scheduler
from assay.runs.schedulers.until import ALPHA, start_order
from assay.runs.store import SUFFIX, PlannedEpisode, Store
from assay.support.stats.judgement import Judgement, Line, PairVerdict
from assay.support.stats.sequential import Comparison, interval_at_stop, median_unbiased

SIDES = ("A", "B")
SUCCESS, PROGRESS = "success", "progress"
MEASURES = (SUCCESS, PROGRESS)
"""Scores of an episode, 0 to 1, by which policies can be compared."""
META = "duel"
"""Key in a run's meta table for the duel's episodes per start, order of starts, planned starts, and measure."""

Start = tuple[str, int]
Scores = dict[str, float | None]
"""Scores of executed episodes by key, from 0 to 1; None for an error."""
Contender = str | Policy | Player


@dataclass(frozen=True, slots=True)
class Duel:
    """The result of a duel."""

    judgement: Judgement
    runs: tuple[Path, Path]
    left: int
    """Number of episodes that the same command, if repeated, would execute; 0 if the duel is over."""
    reason: str = ""
    """Reason why the duel ended early, for example an unreachable policy; empty if it did not."""


def duel(
    first: Contender,
    second: Contender,
    experiment: str | Experiment,
    *,
    margin: float = 0.05,
    each: bool = False,
    per_start: int | None = 1,
    measure: str = SUCCESS,
    out: str | Path | None = None,
    labels: tuple[str | None, str | None] = (None, None),
    observer: Observer | None = None,
    options: RunOptions | None = None,
    **overrides: Unpack[RunOptionsDict],
) -> Duel:
    """Run two policies on the same episodes until the second is known to be better, equivalent or worse.

    ``margin``: the smallest relevant difference in score, 0 to 1. ``out``: the folder of ``A.assay`` and
    ``B.assay``; the same call resumes the duel. With ``each``, every single condition must be decided, too.
    ``per_start``: number of episodes selected from each start; None for all. ``measure``: the score to
    compare, "success" or "progress". The other arguments are the fields of `RunOptions`. Raises AssayError.
    """
    observer, policies = observer or Observer(), (first, second)
    options = RunOptions.of(options, **overrides)
    if measure not in MEASURES:
        raise RunError(f"measure '{measure}': choose one of {', '.join(MEASURES)}")
    if not 0 < margin < 1:
        raise RunError(
            f"margin {margin:g}: expected a number between 0 and 1, such as 0.05 (5 percentage points)"
        )
    if per_start is not None and per_start < 1:
        raise RunError(f"per_start={per_start}: expected an integer >= 1")
    if (options.repeats or 1) > 1:
        raise RunError("duel: repeats cannot be set; a duel counts each start once")
    if out is None:
        if not all(isinstance(policy, str) for policy in policies):
            raise RunError("duel: with a policy object, out is required (a folder)")
        out = Path("runs") / "-".join(("duel", *(plain_name(str(policy)) for policy in policies)))
    options = choose_workers(options, policies, max(1, (os.cpu_count() or 1) // 2))
    drawn = draw(RunPlan.make(experiment, options), per_start)
    plans = [
        drawn.for_policy(policy, Path(out) / f"{side}{SUFFIX}", label)
        for side, policy, label in zip(SIDES, policies, labels, strict=True)
    ]
    order, lengths = _stored_order(plans, per_start, measure)
    with ExitStack() as held:
        stores = [held.enter_context(open_run(plan, observer)) for plan in plans]
        names = []
        for store, plan in zip(stores, plans, strict=True):
            if "label" not in store.meta:  # a file named A.assay does not identify the policy
                store.describe(label=plan.policy)
            names.append(str(store.meta["label"]))
        interrupted = any(
            store_plan(store, plan, observer).left for store, plan in zip(stores, plans, strict=True)
        )
        judge = Judge(stores, order, lengths, options, margin=margin, each=each, measure=measure)
        stored: dict[str, object] = {
            "per_start": per_start,
            "planned": judge.lengths,
            "order": [list(start) for start in judge.starts],
        }
        if measure != SUCCESS:
            stored["measure"] = measure
        for store in () if interrupted else stores:  # half a plan is not the number of starts that is wanted
            store.describe(**{META: stored})
        reason = "" if interrupted else _play(judge, stores, plans, observer)
        return Duel(
            judge.judgement(names[0], names[1]),
            (plans[0].path, plans[1].path),
            2 * len(drawn.specs) if interrupted else 0 if judge.over else judge.waiting,
            reason,
        )


def draw(plan: RunPlan, per_start: int | None) -> RunPlan:
    """Select ``per_start`` episodes of each start, pseudo-randomly, among those in which success is expected."""
    fair = [spec for spec in plan.specs if spec.labels.get("plausible") is not False] or plan.specs
    starts: dict[Start, list[EpisodeSpec]] = {}
    for spec in fair:
        starts.setdefault((spec.task, spec.seed), []).append(spec)

    def rank(spec: EpisodeSpec) -> str:
        return hashlib.sha256(f"dealt {spec.key}".encode()).hexdigest()

    chosen = {spec.key for specs in starts.values() for spec in sorted(specs, key=rank)[:per_start]}
    return replace(plan, specs=[spec for spec in fair if spec.key in chosen])


def _stored_order(
    plans: Sequence[RunPlan], per_start: int | None, measure: str
) -> tuple[list[Start], list[int]]:
    """Return the order of starts of a resumed duel, and how many each command planned; nothing for a new duel.

    Raises RunError if the duel had other settings.
    """
    order: list[Start] = []
    lengths: list[int] = []
    for path in (plan.path for plan in plans):
        if path.is_file():
            with Store.reading(path) as store:
                stored, done = store.meta.get(META), store.done
            if stored is None and not done:  # killed before the order was stored
                continue
            if stored is None:
                raise RunError(f"{path} is a run, but not part of a duel; choose another --out")
            for name, wanted in (("per_start", per_start), ("measure", measure)):
                if (known := stored.get(name, SUCCESS)) != wanted:
                    raise RunError(
                        f"{path} was started with {name}={known}, not {wanted}; choose another --out"
                    )
            order = order or [(task, seed) for task, seed in stored["order"]]
            lengths = lengths or stored["planned"]
    return order, lengths


def score_of(outcome: Outcome, progress: float | None, measure: str) -> float | None:
    """Return an episode's score, 0 to 1, or None for an error. Raises RunError if its world records no progress."""
    if outcome is Outcome.ERROR:
        return None
    if measure == SUCCESS:
        return float(outcome is Outcome.SUCCESS)
    if progress is None:
        raise RunError("measure 'progress': this world, or this run, does not record progress")
    return progress


class Judge:
    """Compares A and B, start by start, until it is known which is better."""

    def __init__(
        self,
        stores: Sequence[Store],
        order: Sequence[Start],
        lengths: Sequence[int],
        options: RunOptions,
        *,
        margin: float,
        each: bool,
        measure: str,
    ) -> None:
        """``order``: starts of an earlier command of the same duel, which come first.

        ``lengths``: number of starts that were planned at first, and after every extension by such a command.
        """
        self._margin, self._each, self._measure = margin, each, measure
        self.scores: tuple[Scores, Scores] = ({}, {})
        """Scores of the executed episodes, for policy A and for policy B."""
        plans = [store.outcomes() for store in stores]
        for store, plan, scores in zip(stores, plans, self.scores, strict=True):
            waiting = {entry.key for entry in store.todo(retry=options.retry)}
            for episode in plan:
                if episode.outcome is not None and episode.key not in waiting:
                    scores[episode.key] = score_of(episode.outcome, episode.progress, measure)
        shared = {episode.key for episode in plans[1]}
        starts: dict[Start, list[tuple[str, str]]] = {}
        for episode in plans[0]:
            if episode.key in shared:
                starts.setdefault((episode.task, episode.seed), []).append((episode.key, episode.condition))
        before = [start for start in order if start in starts]
        fresh = sorted(starts.keys() - set(before), key=lambda start: start_order(*start))
        self.starts = {start: starts[start] for start in (*before, *fresh)}
        """Keys and conditions of the episodes that are in both plans, by start, in the order of execution."""
        longer = not lengths or len(self.starts) > lengths[-1]
        self.lengths = [*lengths, len(self.starts)] if longer else [*lengths]
        """Number of starts that were planned at first, and after every extension."""
        names = dict.fromkeys(episode.condition for episode in plans[0])
        self._overall = self._contest(None, ALPHA)
        self._conditions = [self._contest(name, ALPHA / max(1, len(names))) for name in names]
        self._advance()

    def _contest(self, condition: str | None, alpha: float) -> _Contest:
        starts = [
            [key for key, name in episodes if condition in (None, name)] for episodes in self.starts.values()
        ]
        plans = [sum(map(bool, starts[:length])) for length in self.lengths]
        binary = self._measure == SUCCESS and all(len(keys) <= 1 for keys in starts)
        comparison = Comparison(plans, margin=self._margin, alpha=alpha, binary=binary)
        return _Contest(condition, [keys for keys in starts if keys], plans, alpha, comparison)

    def see(self, side: int, key: str, episode: Episode) -> None:
        """Update the scores with a recorded episode."""
        self.scores[side][key] = score_of(episode.outcome, episode.progress, self._measure)
        self._advance()

    def _advance(self) -> None:
        for contest in (self._overall, *self._conditions):
            contest.advance(*self.scores)

    @property
    def over(self) -> bool:
        """Whether the overall comparison is decided and, with ``each``, every condition."""
        return self._overall.verdict.final and (
            not self._each or all(condition.verdict.final for condition in self._conditions)
        )

    @property
    def decided_conditions(self) -> set[str]:
        """Conditions that need no more episodes; empty until the overall comparison is decided."""
        if not (self._each and self._overall.verdict.final):
            return set()
        return {str(condition.condition) for condition in self._conditions if condition.verdict.final}

    @property
    def waiting(self) -> int:
        """Number of episodes, of both policies together, that are still needed."""
        decided = self.decided_conditions
        needed = [key for key, condition in self._episodes() if condition not in decided]
        return sum(key not in scores for scores in self.scores for key in needed)

    def places(self) -> dict[str, int]:
        """Return the position of each episode in the duel, by key."""
        return {key: place for place, (key, _) in enumerate(self._episodes())}

    def _episodes(self) -> Iterator[tuple[str, str]]:
        """Yield the key and condition of each episode, in order."""
        return (episode for episodes in self.starts.values() for episode in episodes)

    def judgement(self, first: str, second: str) -> Judgement:
        """Return the current judgement."""
        planned = self.places()
        scores = [score for done in self.scores for key, score in done.items() if key in planned]
        return Judgement(
            first=first,
            second=second,
            overall=self._overall.line(),
            conditions=tuple(condition.line() for condition in self._conditions),
            margin=self._margin,
            alpha=ALPHA,
            anytime=True,
            each=self._each,
            played=len(scores),
            planned=2 * len(planned),
            errors=sum(score is None for score in scores),
            measure=self._measure,
        )


@dataclass(slots=True)
class _Contest:
    """Comparison of B with A in one condition, or in all together; episodes after the decision do not count."""

    condition: str | None
    starts: list[list[str]]
    """Keys of the episodes from each start, in order."""
    plans: list[int]
    """Number of starts that were planned at first, and after every extension."""
    alpha: float
    comparison: Comparison
    rates: list[tuple[float, float]] = field(default_factory=list)
    """Mean scores of A and of B over the episodes of each start; NaN if none ended without an error in both."""
    pairs: int = 0
    _next: int = 0

    @property
    def verdict(self) -> PairVerdict:
        """The verdict so far."""
        return self.comparison.verdicts[0]

    def advance(self, first: Scores, second: Scores) -> None:
        """Count the starts that both policies have finished, until the contest is decided.

        Starts count strictly in order: which starts count must not depend on the speed of a worker.
        """
        while not self.verdict.final and self._next < len(self.starts):
            keys = self.starts[self._next]
            if not all(key in first and key in second for key in keys):
                return
            self._next += 1
            self._count([(first[key], second[key]) for key in keys])

    def _count(self, scores: list[tuple[float | None, float | None]]) -> None:
        pairs = [(first, second) for first, second in scores if first is not None and second is not None]
        self.pairs += len(pairs)
        mine, theirs = np.mean(pairs, axis=0) if pairs else (np.nan, np.nan)
        self.rates.append((float(mine), float(theirs)))
        self.comparison.see(np.array([theirs - mine]))

    def line(self) -> Line:
        rates = np.array(self.rates).reshape(-1, 2)
        differences = rates[:, 1] - rates[:, 0]
        low, high = interval_at_stop(differences, self.verdict, alpha=self.alpha, plans=self.plans)
        rates = rates[~np.isnan(differences)]
        mine, theirs = (float(rates[:, side].mean()) if len(rates) else None for side in (0, 1))
        change = None if mine is None or theirs is None else theirs - mine
        if self.verdict in (PairVerdict.BETTER, PairVerdict.WORSE):
            change = min(max(median_unbiased(differences), low), high)
        rule = str(self.comparison.rules[0]) if self.verdict.final else None
        return Line(
            condition=self.condition,
            starts=len(rates),
            pairs=self.pairs,
            first_rate=mine,
            second_rate=theirs,
            change=change,
            low=low,
            high=high,
            verdict=self.verdict,
            planned=self.plans[0],
            rule=rule,
        )


class DuelScheduler(Scheduler):
    """Schedules the episodes of one policy in a duel, except those of decided conditions."""

    def __init__(self, store: Store, waiting: Iterable[PlannedEpisode], side: int, judge: Judge) -> None:
        self._side, self._judge = side, judge
        places = judge.places()
        entries = [entry for entry in waiting if entry.key in places]
        super().__init__(store, sorted(entries, key=lambda entry: places[entry.key]), in_order=True)

    def record(self, number: int, episode: Episode) -> EpisodeSpec:
        """Store an executed episode and pass it to the judge."""
        spec = super().record(number, episode)
        self._judge.see(self._side, spec.key, episode)
        return spec

    def take(self, latest: str | None = None) -> Batch:
        """See `Scheduler`."""
        for condition in self._judge.decided_conditions:
            self.drop(condition)
        return super().take(latest)


def _play(judge: Judge, stores: Sequence[Store], plans: Sequence[RunPlan], observer: Observer) -> str:
    """Execute the remaining episodes; neither policy gets ahead of the other by more episodes than it has workers.

    Return the reason if the duel ended early, otherwise an empty text.
    """
    options, reason = plans[0].options, ""

    def over() -> bool:
        return bool(reason) or judge.over or observer.stopping()

    if over():
        return reason
    observer.began(stores[0], judge.waiting)
    with ExitStack() as held:
        running: dict[int, tuple[Generator[Ending], int]] = {}
        for side, (store, plan) in enumerate(zip(stores, plans, strict=True)):
            scheduler = DuelScheduler(store, store.todo(retry=options.retry), side, judge)
            executor = make_executor(plan.worker, options, plan.actor, store)
            steps = drive_stepwise(executor, scheduler, stopping=over, watch=observer.episode)
            running[side] = held.enter_context(closing(steps)), executor.workers
        while running:
            for side, (steps, workers) in list(running.items()):
                ahead = len(judge.scores[side]) - len(judge.scores[1 - side])
                if over() or 1 - side not in running or ahead < workers:
                    ending = next(steps, None)
                    if ending is None:
                        del running[side]
                    else:
                        reason = reason or ending.reason
    return reason
