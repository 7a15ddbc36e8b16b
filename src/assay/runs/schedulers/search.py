"""Search for the smallest change that breaks a policy, along each axis of each task, as an ordinary run.

Each search is a generator that requests the certification or execution of episodes and receives the results, so
that a run and a simulation can drive the same code. A search's requests depend only on its own episodes, so the
result is the same for any number of workers, and after an interruption.
"""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from assay.episodes import Episode, EpisodeSpec, Outcome, Policy
from assay.errors import ExperimentError, RunError
from assay.experiments.axes import AXES, Axis, AxisError, Rung, variant
from assay.experiments.axes import search as whole_grid
from assay.experiments.base import Variant
from assay.runs import execute
from assay.runs.certificates import CertificateCache, admit, certify, claims, remember
from assay.runs.driver import drive_stepwise
from assay.runs.execute import Observer
from assay.runs.executor import Player
from assay.runs.options import RunOptions
from assay.runs.plan import RunPlan
from assay.runs.schedulers.plan import Batch, Scheduler
from assay.runs.store import PlannedEpisode, Store
from assay.support.plugins import plugins_of
from assay.support.stats.thresholds import ALPHA, LEVEL, LadderEvidence, starts_needed
from assay.support.streams import stream
from assay.tasks import Task

META = "search"
"""Key of a search in a run's meta table."""
EPISODES_PER_SEARCH = 90
"""Default number of episodes per axis and task."""
EPISODES_PER_START = 3
"""Episodes of a start: the control, a magnitude with likely success, and one with unlikely success."""
SEEDS = tuple(range(200))
"""Default seeds."""
MIN_CONTROLS = 5
"""Number of controls after which, if all failed, a task is abandoned because it has no success to lose."""
MAX_REFUSED = 4
"""Number of refused starts at which a magnitude is abandoned, if more than twice as many as certified starts."""
MAX_BARREN_STARTS = 8
"""Number of starts without any certified magnitude at which a task is abandoned, unless other starts had one."""

Item = tuple[int, int | None]
"""A seed, and the index of a magnitude (a rung of the axis's ladder); the index is None for the control."""


@dataclass(frozen=True, slots=True)
class Request:
    """Request by a search: certify episodes and their controls, or execute episodes.

    The answer to a request for certification is the set of solvable items. Otherwise it is the success of each
    item, or None for an error.
    """

    items: tuple[Item, ...]
    certify: bool = False


Answer = frozenset[Item] | dict[Item, bool | None]
Procedure = Generator[Request, Answer, None]


@dataclass(slots=True)
class ThresholdSearch:
    """Search along one axis of one task, start by start, until the threshold is known or the budget is used up."""

    rungs: int
    budget: int
    """Maximum number of episodes, including controls."""
    level: float = LEVEL
    alpha: float = ALPHA
    starts: int = 0
    """Number of starts whose control was executed without an error."""
    succeeded: int = 0
    """Number of starts whose control succeeded."""
    episodes: int = 0
    given_up: list[int] = field(default_factory=list)
    """Indices of magnitudes that were abandoned because hardly any start can be solved at them."""
    ended: str = ""
    """Reason why the search ended: settled, budget, controls, refused or starts; empty while it continues."""
    evidence: LadderEvidence = field(init=False)

    def __post_init__(self) -> None:
        self.evidence = LadderEvidence(self.rungs, self.level, self.alpha)

    def procedure(self, seeds: Iterable[int]) -> Procedure:
        """Execute starts until further episodes cannot narrow the threshold down, or the budget is used up."""
        refused: Counter[int] = Counter()
        solved: Counter[int] = Counter()
        barren = 0
        for seed in seeds:
            playable = [rung for rung in range(self.rungs) if rung not in self.given_up]
            if self.evidence.is_settled(playable):
                self.ended = "settled"
                return
            rungs = self.evidence.next(playable)
            if self.episodes + 1 + len(rungs) > self.budget:
                self.ended = "budget"
                return
            solvable = yield Request(tuple((seed, rung) for rung in rungs), certify=True)
            for rung in rungs:
                (solved if (seed, rung) in solvable else refused)[rung] += 1
                if refused[rung] >= MAX_REFUSED and refused[rung] > 2 * solved[rung]:
                    self.given_up.append(rung)
            rungs = tuple(rung for rung in rungs if (seed, rung) in solvable)
            if not rungs:
                barren += 1
                if barren >= MAX_BARREN_STARTS and not solved:
                    self.ended = "refused"
                    return
                continue
            # The perturbed episodes are executed whatever the control does: starts chosen by the success of their
            # control would seem to lose success without any change.
            self.episodes += 1 + len(rungs)
            outcomes = yield Request(tuple((seed, rung) for rung in (None, *rungs)))
            assert isinstance(outcomes, dict)
            control = outcomes[seed, None]
            if control is None:
                continue
            self.starts += 1
            self.succeeded += control
            successes = {rung: outcomes[seed, rung] for rung in rungs}
            self.evidence.see(control, {rung: won for rung, won in successes.items() if won is not None})
            if self.starts >= MIN_CONTROLS and not self.succeeded:
                self.ended = "controls"
                return
        self.ended = "starts"


@dataclass(slots=True, eq=False)
class Search:
    """One axis of one task, its changes of increasing magnitude (ladder), and the state of the search along it."""

    task: Task
    axis: Axis
    ladder: tuple[Rung, ...]
    threshold: ThresholdSearch
    procedure: Procedure
    request: Request | None = None
    specs: dict[Item, EpisodeSpec] = field(default_factory=dict)
    """Requested episodes, by seed and index of the magnitude."""

    def advance(self, answer: Answer | None, plan: RunPlan) -> None:
        """Send an answer to the search (None starts the search) and store its next request."""
        try:
            self.request = next(self.procedure) if answer is None else self.procedure.send(answer)
        except StopIteration:
            self.request = None
        self.specs = {item: self._spec(plan, *item) for item in (self.request.items if self.request else ())}

    def _spec(self, plan: RunPlan, seed: int, rung: int | None) -> EpisodeSpec:
        variants: tuple[Variant, ...] = ()
        if rung is not None:
            way = draw_way(self.task.id, self.ladder[rung], seed)
            variants = (variant(self.axis.name, self.ladder[rung], way),)
        options = plan.options
        *_, spec = replace(plan.experiment, variants=lambda task: variants).plan(
            (self.task,),
            (seed,),
            pack=plan.pack,
            initial=plan.specs[0].initial,
            start=options.hold_start,
            steps=options.steps,
            replan=options.replan,
        )
        return spec


class SearchScheduler(Scheduler):
    """Scheduler that lets searches choose the next batch of episodes."""

    def __init__(self, store: Store, plan: RunPlan, searches: Sequence[Search], observer: Observer) -> None:
        super().__init__(store, ())
        self._plan, self._searches, self._observer = plan, searches, observer
        waiting = {entry.key for entry in store.todo(retry=plan.options.retry)}
        self._outcomes = {
            episode.key: episode.outcome
            for episode in store.outcomes()
            if episode.outcome is not None and episode.key not in waiting
        }
        self.refused: set[str] = set()
        """Keys of episodes that cannot be solved."""
        self.interrupted = False
        self._served: dict[str, EpisodeSpec] = {}
        self._requested: set[str] = set()
        self.add(self._next_entries())

    def take(self, latest: str | None = None) -> Batch:
        """See `Scheduler`."""
        if not self.left:
            self.add(self._next_entries())
        return super().take(latest)

    def record(self, number: int, episode: Episode) -> EpisodeSpec:
        """Store an executed episode, which a search has requested."""
        spec = super().record(number, episode)
        self._outcomes[spec.key] = episode.outcome
        self._requested.discard(spec.key)
        return spec

    def stopping(self) -> bool:
        """Return whether to stop because certification was interrupted or the observer requests it."""
        return self.interrupted or self._observer.stopping()

    def _next_entries(self) -> Sequence[PlannedEpisode]:
        """Return the episodes that the searches request next; empty while earlier requests are unfinished."""
        if self._requested:
            return ()
        while True:
            for search in self._searches:
                self._advance(search)
            undecided = [
                spec
                for search in self._searches
                if search.request is not None and search.request.certify
                for spec in search.specs.values()
                if not self._is_decided(spec)
            ]
            if not undecided:
                break
            if not self._certify(undecided):
                self.interrupted = True
                return ()
        wanted = {
            spec.key: self._served.get(spec.key, spec)
            for search in self._searches
            if search.request is not None
            for spec in search.specs.values()
            if spec.key not in self._outcomes
        }
        self._store.plan(wanted.values())
        entries = [entry for entry in self._store.todo(retry="errors") if entry.key in wanted]
        self._requested = {entry.key for entry in entries}
        return entries

    def _advance(self, search: Search) -> None:
        """Advance a search as far as the recorded episodes and certificates allow."""
        if search.request is None and not search.threshold.ended:
            search.advance(None, self._plan)
        while search.request is not None:
            answer: Answer
            if search.request.certify:
                if not all(map(self._is_decided, search.specs.values())):
                    return
                answer = frozenset(
                    item for item, spec in search.specs.items() if spec.key not in self.refused
                )
            else:
                if any(spec.key not in self._outcomes for spec in search.specs.values()):
                    return
                outcomes = {item: self._outcomes[spec.key] for item, spec in search.specs.items()}
                answer = {
                    item: None if outcome is Outcome.ERROR else outcome is Outcome.SUCCESS
                    for item, outcome in outcomes.items()
                }
            search.advance(answer, self._plan)

    def _is_decided(self, spec: EpisodeSpec) -> bool:
        is_certified = spec.key in self._served or spec.key in self.refused
        return is_certified or not self._plan.requires_certificates

    def _certify(self, specs: Sequence[EpisodeSpec]) -> bool:
        """Run the demonstrator to certify the episodes; return False if it was interrupted."""
        plan = self._plan
        with CertificateCache(states=plan.states_digest) as cache:
            if wanted := [claim for claim in claims(specs) if cache.get(claim) is None]:
                executor = execute.make_executor(plan.demonstrator, plan.options)
                if certify(wanted, cache, executor, stopping=self._observer.stopping).left:
                    return False
            refused = []
            for spec in specs:
                admitted, unsolved = admit([spec], cache, plan.experiment.limit, plan.experiment.reference)
                if admitted:
                    self._served[spec.key] = admitted[0]
                else:
                    self.refused.add(spec.key)
                refused += unsolved
        remember(self._store, refused, specs)
        return True


@dataclass(frozen=True, slots=True)
class SearchEnding:
    """Result of a command that executed a search."""

    path: Path
    played: int
    """Number of episodes in the run."""
    refused: int
    """Number of episodes that were not executed because the oracle did not solve their scene."""
    left: int
    """Number of searches that the same command, if repeated, would continue; 0 if all are over."""
    notes: tuple[str, ...] = ()
    """Axes that could not be searched, one sentence each."""
    reason: str = ""
    """Reason why the search ended early, for example an unreachable policy; empty if it did not."""


def search(
    policy: str | Policy | Player,
    axes: Sequence[str],
    path: Path | None,
    options: RunOptions,
    *,
    budget: int | None = None,
    level: float = LEVEL,
    confidence: float = 1 - ALPHA,
    label: str | None = None,
    observer: Observer | None = None,
) -> SearchEnding:
    """Search along axes; a repeated call resumes the search. Raises AssayError, or DeclinedError if not approved.

    ``budget``: the maximum number of episodes, including controls.
    """
    observer = observer or Observer()
    options = execute.choose_workers(options, [policy], os.cpu_count() or 1)
    if (options.repeats or 1) > 1:
        raise RunError("search: repeats cannot be set; a search needs one control of each start")
    if path is None:
        if not isinstance(policy, str):
            raise RunError("search: with a policy object, out is required (a file)")
        path = execute.default_path(META, policy)
    for name, value, example in (("level", level, 0.5), ("confidence", confidence, 0.95)):
        if not 0 < value < 1:
            raise RunError(f"{name} {value:g}: expected a number between 0 and 1, such as {example:g}")
    if not axes or len(set(axes)) < len(axes):
        raise ExperimentError(f"axes '{', '.join(axes)}': choose distinct axes from {', '.join(AXES)}")
    seeds = options.seeds or SEEDS
    plan = RunPlan.make(whole_grid(()), replace(options, seeds=seeds[:1]))
    plan = replace(plan, options=replace(options, seeds=seeds))
    tasks = plan.experiment.choose(options.tasks)
    searches, cannot = _searches(
        tasks, seeds, [AXES.load(name) for name in axes], budget, level, 1 - confidence
    )
    count = sum(search.threshold.budget for search in searches)
    changes = {
        type(change) for search in searches for rung in search.ladder for way in rung.ways for change in way
    }
    used = (*plan.plugins, *plugins_of([*(search.axis.changes for search in searches), *changes]))
    by_module = {plugin.module: plugin for plugin in used}
    plan = replace(
        plan,
        specs=list(islice(cycle(plan.specs), count)),  # for estimates only: the search chooses the episodes
        plugins=tuple(by_module[name] for name in sorted(by_module)),
    ).for_policy(policy, path, label)
    observer.note(describe_resolution(searches[0].threshold.budget, level, 1 - confidence))
    settings: dict[str, object] = {"level": level, "confidence": confidence, "guided": True}
    with execute.open_run(plan, observer) as store:
        stored = store.meta.get(META, settings)
        for setting, wanted in settings.items():
            if stored[setting] != wanted:
                raise RunError(
                    f"{path} was searched with {setting} {stored[setting]}, not {wanted}; choose another --out"
                )
        store.describe(**{META: settings | _describe_searches(store, searches, cannot)})
        observer.began(store, count)
        scheduler = SearchScheduler(store, plan, searches, observer)
        executor = execute.make_executor(plan.worker, plan.options, plan.actor, store)
        steps = drive_stepwise(executor, scheduler, stopping=scheduler.stopping, watch=observer.episode)
        (ending,) = deque(steps, maxlen=1)
        store.describe(**{META: settings | _describe_searches(store, searches, cannot)})
        left = sum(not search.threshold.ended for search in searches)
        notes, refused = tuple(_notes(searches)), len(scheduler.refused)
        return SearchEnding(path, store.done, refused, left, notes, ending.reason)


def _searches(
    tasks: Sequence[Task],
    seeds: Sequence[int],
    axes: Sequence[Axis],
    budget: int | None,
    level: float,
    alpha: float,
) -> tuple[list[Search], list[str]]:
    """Return the possible searches, and a sentence for each axis and task that cannot be searched.

    Raises RunError if no search is possible, or if the budget is too small.
    """
    searches: list[Search] = []
    cannot = []
    for task in tasks:
        for axis in axes:
            try:
                ladder = axis.ladder(task)
            except AxisError as error:
                cannot.append(f"{axis.name}: {error}")
                continue
            threshold = ThresholdSearch(len(ladder), 0, level, alpha)
            searches.append(Search(task, axis, ladder, threshold, threshold.procedure(seeds)))
    if not searches:
        raise RunError(f"nothing can be searched: {'; '.join(cannot)}")
    minimum = 2 * least_starts(level, alpha)
    default = max(EPISODES_PER_SEARCH, minimum)
    share = default if budget is None else budget // len(searches)
    if share < minimum:
        raise RunError(
            f"a budget of {budget} episodes leaves only {share} for each of {len(searches)} searches; "
            f"allow at least {minimum * len(searches)} (default: {default * len(searches)}), or fewer tasks or axes"
        )
    for search in searches:
        search.threshold.budget = share
    return searches, cannot


def _describe_searches(store: Store, searches: Sequence[Search], cannot: Sequence[str]) -> dict[str, Any]:
    """Return the searches as the run stores them, including those of earlier commands."""
    stored = store.meta.get(META, {})
    pairs = {(pair["task"], pair["axis"]): pair for pair in stored.get("pairs", ())}
    pairs |= {
        (search.task.id, search.axis.name): {
            "task": search.task.id,
            "axis": search.axis.name,
            "unit": search.axis.unit,
            "magnitudes": [rung.magnitude for rung in search.ladder],
            "ended": search.threshold.ended or "going on",
        }
        for search in searches
    }
    return {
        "pairs": list(pairs.values()),
        "cannot": list(dict.fromkeys([*stored.get("cannot", ()), *cannot])),
    }


def _notes(searches: Sequence[Search]) -> list[str]:
    """Return notes on searches without a result, one sentence each."""
    floor = [search for search in searches if search.threshold.ended == "controls"]
    notes = []
    for task in dict.fromkeys(search.task.id for search in floor):
        starts = max(search.threshold.starts for search in floor if search.task.id == task)
        notes.append(f"{task}: all {starts} controls failed, so there is no success to lose")
    for search in searches:
        if given_up := sorted(search.threshold.given_up):
            magnitudes = ", ".join(f"{search.ladder[rung].magnitude:g}" for rung in given_up)
            notes.append(
                f"{search.task.id}: the search at {search.axis.name} {magnitudes} {search.axis.unit}".rstrip()
                + " was abandoned, because the oracle can solve hardly any start"
            )
    return notes


def draw_way(task: str, rung: Rung, seed: int) -> int:
    """Return the index of the variant that is used for a seed, among those of equal magnitude."""
    return int(stream("search", "way", task, seed).integers(len(rung.ways))) if len(rung.ways) > 1 else 0


def describe_resolution(budget: int, level: float, alpha: float) -> str:
    """Describe what a number of episodes per search can determine."""
    starts = budget // EPISODES_PER_START
    rates = [percent for percent in range(100, 0, -5) if starts_needed(percent / 100, level, alpha) <= starts]
    text = f"{budget} episodes ({starts} starts) for each task and axis"
    if not rates:
        needed = EPISODES_PER_START * starts_needed(1.0, level, alpha)
        return f"{text} cannot locate a loss; about {needed} would, if all controls succeed"
    halved = EPISODES_PER_START * starts_needed(0.5, level, alpha)
    return (
        f"{text} locate an abrupt loss if at least {rates[-1]} % of the controls succeed (about {halved} episodes for "
        "50 %); a gradual loss takes more"
    )


def least_starts(level: float = LEVEL, alpha: float = ALPHA) -> int:
    """Return the number of starts after which a policy that never fails is known not to lose any success."""
    evidence, top = LadderEvidence(1, level, alpha), 0
    while not evidence.is_settled((0,)):
        evidence.see(True, {0: True})
        top += 1
    return top
