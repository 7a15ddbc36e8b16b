"""The driver: hands out what is planned and not done, writes down what happened, stops when it should."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from assay.episodes.episode import Episode, Outcome, no_trajectory
from assay.episodes.spec import EpisodeSpec
from assay.errors import RunError
from assay.runs.executor import Batch, Died, Done, Executor
from assay.runs.sequential import Until
from assay.runs.store import Retry, Store
from assay.runs.todo import Todo

DEATHS, VIOLENT_DEATHS = 2, 5
"""How many workers an episode may cost: by what it does; killed from outside, or for want of memory."""
AWAY = 3
"""After how many episodes in a row, for each worker, without the policy's server the run stops."""


Watch = Callable[[EpisodeSpec | None, Episode | None], None]


@dataclass(frozen=True, slots=True)
class Ending:
    """How driving a run ended."""

    done: int
    """Episodes recorded this time."""
    left: int
    """Episodes of the plan that are not done, those of decided conditions left out."""
    reason: str = ""
    """Why it ended early, if it did."""


def drive(
    store: Store,
    executor: Executor,
    *,
    retry: Retry = "transient",
    until: Until | None = None,
    stopping: Callable[[], bool] = lambda: False,
    watch: Watch = lambda spec, episode: None,
) -> Ending:
    """Execute what is left of a store's plan. ``watch`` sees each recorded episode, and None now and then."""
    entries = store.todo(retry=retry)
    if until is not None:
        entries.sort(
            key=lambda entry: entry.key
        )  # a confidence sequence wants a random order; keys are hashes
    if not entries and until is None:
        return Ending(0, 0)
    todo = Todo(entries, strictly=until is not None)
    source = _Source(store, todo, executor.workers)
    rule = _StoppingRule(store, until, todo, {entry.key for entry in entries}) if until is not None else None
    deaths: Counter[int] = Counter()
    done, away, reason = 0, 0, ""

    def over() -> bool:
        return bool(reason) or stopping()

    def record(number: int, episode: Episode) -> None:
        nonlocal done
        store.append(number, episode)
        done += 1
        spec = source.spec(number)
        watch(spec, episode)
        if rule is not None:
            rule.see(spec, episode.outcome)

    for event in executor.execute(source, over) if len(todo) else ():
        if isinstance(event, Done):
            record(event.number, event.episode)
            away = away + 1 if event.episode.transient else 0
            if away >= AWAY * executor.workers:
                reason = event.episode.error
        elif isinstance(event, Died):
            if event.number is None:
                deaths[-1] += 1
                if deaths[-1] > 5 * executor.workers:
                    raise RunError(f"workers keep dying: {event.reason}")
                continue
            deaths[event.number] += 1
            if deaths[event.number] < (VIOLENT_DEATHS if event.violent else DEATHS):
                todo.give_back([event.number])
                continue
            times = deaths[event.number]
            error = f"{event.reason} ({times} times on this episode)" if times > 1 else event.reason
            record(event.number, Episode(Outcome.ERROR, 0, no_trajectory(), error=error))
        else:
            watch(None, None)
    return Ending(done, len(todo), reason)


class _Source:
    """Reads specs from the store when they are wanted."""

    def __init__(self, store: Store, todo: Todo, workers: int) -> None:
        self._store, self._todo, self._workers = store, todo, workers
        self._given: dict[int, EpisodeSpec] = {}

    def take(self, latest: str | None) -> Batch:
        numbers = self._todo.take(self._workers, latest=latest)
        batch = list(zip(numbers, self._store.specs(numbers), strict=True)) if numbers else []
        self._given.update(batch)
        return batch

    def give_back(self, numbers: Sequence[int]) -> None:
        self._todo.give_back(numbers)

    def spec(self, number: int) -> EpisodeSpec:
        """The spec of an episode that was handed out and is recorded now."""
        return self._given.pop(number)


class _StoppingRule:
    """Decides conditions, by their episodes in the order of their keys.

    An episode counts when all before it are done, so the verdict does not depend on how many workers there
    are. Errors say nothing about a success rate and are passed over.
    """

    def __init__(self, store: Store, until: Until, todo: Todo, waiting: set[str]) -> None:
        self._store, self._until, self._todo = store, until, todo
        self._lines = {
            condition: _Line(
                {key: None if key in waiting else outcome for key, outcome in store.outcomes(condition)}
            )
            for condition, _ in store.conditions()
            if condition not in store.stopped
        }
        for condition in self._lines:
            self._decide(condition)

    def see(self, spec: EpisodeSpec, outcome: Outcome) -> None:
        """Take note of an episode that was recorded."""
        if spec.condition in self._lines:
            self._lines[spec.condition].outcomes[spec.key] = outcome
            self._decide(spec.condition)

    def _decide(self, condition: str) -> None:
        line = self._lines[condition]
        while not line.decided and (last := line.advance()) is not None:
            if self._until.met(line.successes, line.count):
                line.decided = True
                self._store.stop(condition, last, self._until.as_json(line.successes, line.count))
                self._todo.drop(condition)


@dataclass(slots=True)
class _Line:
    """A condition's episodes by key, and how far it has been counted."""

    outcomes: dict[str, Outcome | None]
    counted: int = 0
    successes: int = 0
    count: int = 0
    decided: bool = False
    _keys: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self._keys = list(self.outcomes)

    def advance(self) -> str | None:
        """Count the next episode, if it is done; returns its key."""
        if self.counted == len(self._keys) or (outcome := self.outcomes[self._keys[self.counted]]) is None:
            return None
        self.counted += 1
        self.count += outcome is not Outcome.ERROR
        self.successes += outcome is Outcome.SUCCESS
        return self._keys[self.counted - 1]
