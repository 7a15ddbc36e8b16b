"""Searches as an ordinary run: what they ask for is certified, planned, played by the run's workers, and recorded.

Each search goes its own way, which hangs on its own episodes alone: with one worker or many, and killed and
started again, it is the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from assay.api.searches.asking import Answer, Asked, Item, Play, Procedure
from assay.episodes import Episode, EpisodeSpec, Outcome, Policy
from assay.experiments.axes import Rung
from assay.experiments.search import FRESH, drawn_way, variant
from assay.runs.certificates import Cache, Refusal, Service, cache_file, missing, remember
from assay.runs.driver import Ending, driving, finish
from assay.runs.execute import Observer, Request, executor_for, make_certificates
from assay.runs.executor import Player
from assay.runs.store import Store, Waiting
from assay.runs.todo import Todo
from assay.runs.work import Work
from assay.tasks import Task


@dataclass(slots=True, eq=False)
class Search:
    """A procedure that is being carried out on a task."""

    task: Task
    ladders: dict[str, tuple[Rung, ...]]
    procedure: Procedure
    over: bool = False
    asked: Asked | None = None

    def specs(self, work: Work) -> dict[Item, EpisodeSpec]:
        """The episodes that are asked for."""
        assert self.asked is not None
        fresh = isinstance(self.asked, Play) and self.asked.fresh
        return {item: self._spec(work, item, fresh=fresh) for item in self.asked.items}

    def _spec(self, work: Work, item: Item, *, fresh: bool) -> EpisodeSpec:
        seed, setting = item
        changes = {axis: self.ladders[axis][rung] for axis, rung in setting}
        found = variant(changes, drawn_way(self.task.id, changes, seed)) if changes else None
        if found is not None and fresh:
            found = replace(found, labels={**found.labels, FRESH: True})
        design = replace(work.design, variants=lambda task: () if found is None else (found,))
        options = work.options
        *_, spec = design.plan(
            (self.task,),
            (seed,),
            pack=work.pack,
            initial=options.initial,
            start=options.hold_start,
            steps=options.steps,
            replan=options.replan,
        )
        return spec

    def answer(self, found: Answer | None) -> None:
        """Go on to what is asked for next."""
        try:
            self.asked = next(self.procedure) if found is None else self.procedure.send(found)
        except StopIteration:
            self.asked, self.over = None, True


@dataclass(slots=True)
class Round:
    """Carries searches out: between one batch of episodes and the next it decides what is to be played."""

    store: Store
    asked: Request
    observer: Observer
    searches: list[Search]
    then: Callable[[], Iterable[Search]] = tuple
    """Asked for further searches whenever one is over."""
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    refused: dict[str, Refusal] = field(default_factory=dict)
    """What cannot be solved, by key."""
    interrupted: bool = False
    _served: dict[str, EpisodeSpec] = field(default_factory=dict)
    _running: set[str] = field(default_factory=set)

    def play(self, policy: Policy | Player | None) -> Ending:
        """Play until every search is over, or it should stop."""
        store, options = self.store, self.asked.work.options
        waiting = {entry.key for entry in store.todo(retry=options.retry)}
        for condition, _ in store.conditions():
            for key, _, _, outcome in store.outcomes(condition):
                if outcome is not None and key not in waiting:
                    self.outcomes[key] = outcome
        todo = Todo(self._more(), more=self._more)
        executor = executor_for(store, self.asked.config, options, policy)
        ending = finish(driving(store, executor, todo, stopping=self._stopping, watch=self._see))
        return Ending(ending.done, sum(not search.over for search in self.searches), ending.reason)

    def _stopping(self) -> bool:
        return self.interrupted or self.observer.stopping()

    def _see(self, spec: EpisodeSpec | None, episode: Episode | None) -> None:
        self.observer.episode(spec, episode)
        if spec is not None and episode is not None:
            self.outcomes[spec.key] = episode.outcome
            self._running.discard(spec.key)

    def _more(self) -> Sequence[Waiting]:
        """What is to be played next: what all searches ask for, when nothing is being played."""
        if self._running:
            return ()
        while True:
            self._advance()
            undecided = [
                spec
                for search in self.searches
                if search.asked is not None and not isinstance(search.asked, Play)
                for spec in search.specs(self.asked.work).values()
                if not self._decided(spec)
            ]
            if not undecided:
                break
            if not self._certify(undecided):
                self.interrupted = True
                return ()
        wanted = {
            spec.key: self._served.get(spec.key, spec)
            for search in self.searches
            if isinstance(search.asked, Play)
            for spec in search.specs(self.asked.work).values()
            if spec.key not in self.outcomes
        }
        self.store.plan(wanted.values())
        found = [entry for entry in self.store.todo(retry="errors") if entry.key in wanted]
        self._running = {entry.key for entry in found}
        return found

    def _advance(self) -> None:
        """Every search as far as it comes with what is known."""
        while True:
            before = [(each, each.asked) for each in self.searches if not each.over]
            for search in (each for each, _ in before):
                answer = None if search.asked is None else self._answer(search)
                if search.asked is None or answer is not None:
                    search.answer(answer)
            new = list(self.then())
            self.searches += new
            if not new and all(search.asked is asked and not search.over for search, asked in before):
                return

    def _answer(self, search: Search) -> Answer | None:
        """What came of what a search asked for; None where that is not known yet."""
        specs = search.specs(self.asked.work)
        if isinstance(search.asked, Play):
            if any(spec.key not in self.outcomes for spec in specs.values()):
                return None
            known = {item: self.outcomes[spec.key] for item, spec in specs.items()}
            return {
                item: None if outcome is Outcome.ERROR else outcome is Outcome.SUCCESS
                for item, outcome in known.items()
            }
        if not all(map(self._decided, specs.values())):
            return None
        return frozenset(item for item, spec in specs.items() if spec.key not in self.refused)

    def _decided(self, spec: EpisodeSpec) -> bool:
        return not self.asked.work.served or spec.key in self._served or spec.key in self.refused

    def _certify(self, specs: Sequence[EpisodeSpec]) -> bool:
        """Let the demonstrator try; False where that was interrupted."""
        work = self.asked.work
        demonstrator = work.design.played_in.traits.demonstrator
        assert demonstrator is not None
        config = replace(self.asked.config, policy=demonstrator, retries=0, videos=None)
        with Cache(cache_file(), work.states) as cache:
            if missing(specs, cache):
                silent = _Silent(self.observer)
                if make_certificates(specs, cache, config, work.options, silent).left:
                    return False
            service = Service(cache, work.design.limit, work.design.reference)
            for spec in specs:
                before = len(service.refused)
                for served in service.serve([spec]):
                    self._served[spec.key] = served
                if len(service.refused) > before:
                    self.refused[spec.key] = service.refused[-1]
        remember(self.store, service.refused, specs)
        return True


class _Silent(Observer):
    """Knows when to stop, and says nothing: certificates are made between episodes."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer

    def stopping(self) -> bool:
        return self._observer.stopping()
