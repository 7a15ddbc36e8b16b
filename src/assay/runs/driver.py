"""The driver: hands out what is planned and not done, writes down what happened, stops when it should."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import cast

import polars as pl

from assay.episodes.episode import Episode, Outcome, no_trajectory
from assay.episodes.spec import CONTROL, EpisodeSpec
from assay.errors import RunError
from assay.runs.executor import Batch, Died, Done, Executor
from assay.runs.sequential import Pairs, Until, in_shared_order
from assay.runs.store import Retry, Store, Waiting
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
    """Episodes that were asked for and are not done, those of decided conditions left out."""
    reason: str = ""
    """Why it ended early, if it did."""


def drive(
    store: Store,
    executor: Executor,
    *,
    retry: Retry = "transient",
    until: Until | None = None,
    asked: Callable[[Waiting], bool] = lambda entry: True,
    stopping: Callable[[], bool] = lambda: False,
    watch: Watch = lambda spec, episode: None,
) -> Ending:
    """Execute what is left of a store's plan, or those of it that are ``asked`` for.

    ``watch`` sees each recorded episode, and None now and then.
    """
    waiting = store.todo(retry=retry)
    entries = [entry for entry in waiting if asked(entry)]
    if until is not None:  # a confidence sequence wants a random order, and pairs want the same one
        places = _places(store)
        entries.sort(key=lambda entry: places[entry.key])
    if not entries and until is None:
        return Ending(0, 0)
    todo = Todo(entries, strictly=until is not None)
    rule = None
    if until is not None:
        left = {entry.key for entry in waiting}
        rule = _StoppingRule(store, until, todo, left, left - {entry.key for entry in entries})

    def seen(spec: EpisodeSpec | None, episode: Episode | None) -> None:
        watch(spec, episode)
        if rule is not None and spec is not None and episode is not None:
            rule.see(spec, episode.outcome)

    return finish(driving(store, executor, todo, stopping=stopping, watch=seen))


Driving = Generator[None, None, Ending]
"""A run that is being driven, event by event."""


def finish(going: Driving) -> Ending:
    """Drive a run to its end."""
    while True:
        try:
            next(going)
        except StopIteration as end:
            return cast(Ending, end.value)


def driving(
    store: Store, executor: Executor, todo: Todo, *, stopping: Callable[[], bool], watch: Watch
) -> Driving:
    """Execute what is to be done, in steps: whoever drives two runs turns from one to the other after any of them."""
    source = _Source(store, todo, executor.workers)
    deaths: Counter[int] = Counter()
    done, away, reason = 0, 0, ""

    def over() -> bool:
        return bool(reason) or stopping()

    def record(number: int, episode: Episode) -> None:
        nonlocal done
        store.append(number, episode)
        done += 1
        watch(source.spec(number), episode)

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
        yield
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
    """Decides conditions, by their episodes in the order that all conditions share.

    An episode counts when all before it are done, so the verdict does not depend on how many workers there
    are. One that is neither done nor asked for is passed over: it would be waited for in vain. Errors say nothing
    about a success rate and are passed over, too. Controls are decided last, and keep every start that another
    condition has; where conditions are set against them, they go on.
    """

    def __init__(self, store: Store, until: Until, todo: Todo, waiting: set[str], unasked: set[str]) -> None:
        self._store, self._until, self._todo = store, until, todo
        self._lines = {
            condition: _line(store, condition, waiting, unasked)
            for condition, _ in store.conditions()
            if condition not in store.stopped or (until.paired and condition == CONTROL)
        }
        control = self._lines.get(CONTROL)
        self._usual = {start: key for key, start in control.starts.items()} if control else {}
        self._kept = _kept(store)
        for condition in sorted(self._lines, key=lambda each: each == CONTROL):
            self._decide(condition)

    def see(self, spec: EpisodeSpec, outcome: Outcome) -> None:
        """Take note of an episode that was recorded."""
        if spec.condition in self._lines:
            self._lines[spec.condition].outcomes[spec.key] = outcome
            again = self._lines if self._until.paired and spec.condition == CONTROL else (spec.condition,)
            for condition in again:
                self._decide(condition)
            if spec.condition != CONTROL and CONTROL in self._lines:
                self._decide(CONTROL)

    def _decide(self, condition: str) -> None:
        if self._until.paired and condition == CONTROL:
            return
        line = self._lines[condition]
        wanted: set[tuple[str, int]] = set()
        if condition == CONTROL:
            others = [each for name, each in self._lines.items() if name != CONTROL]
            if not all(other.over for other in others):
                return
            wanted = self._kept.union(*(other.counted_starts() for other in others)) & self._usual.keys()
            wanted -= line.counted_starts()
        while not line.decided and (last := line.next()) is not None:
            usual = self._control(line.starts[last]) if self._until.paired else None
            if self._until.paired and usual is None:
                return  # not yet done
            line.count_next(usual)
            wanted.discard(line.starts[last])
            if not wanted and self._until.met(line.successes, line.count, line.pairs.p):
                line.decided = True
                seen = line.pairs if self._until.paired else None
                self._store.stop(
                    condition, line.counted_keys(), self._until.as_json(line.successes, line.count, seen)
                )
                self._todo.drop(condition)

    def _control(self, start: tuple[str, int]) -> Outcome | None:
        """What came of the control of a start; an error where there is none."""
        key = self._usual.get(start)
        return Outcome.ERROR if key is None else self._lines[CONTROL].outcomes[key]


@dataclass(slots=True)
class _Line:
    """A condition's episodes by key, in the order in which they count, and how far that is."""

    outcomes: dict[str, Outcome | None]
    starts: dict[str, tuple[str, int]]
    """Key -> task and seed."""
    counted: int = 0
    successes: int = 0
    count: int = 0
    pairs: Pairs = field(default_factory=Pairs)
    decided: bool = False
    _keys: list[str] = field(init=False)
    _paired: set[tuple[str, int]] = field(default_factory=set)
    """Starts whose pair is counted: the first of their episodes that has an outcome."""

    def __post_init__(self) -> None:
        self._keys = list(self.outcomes)

    def next(self) -> str | None:
        """The key of the next episode, if it is done."""
        if self.counted == len(self._keys) or self.outcomes[self._keys[self.counted]] is None:
            return None
        return self._keys[self.counted]

    def count_next(self, control: Outcome | None) -> None:
        """Count the next episode, beside its control if there is one and its start has no pair yet."""
        outcome = self.outcomes[self._keys[self.counted]]
        self.counted += 1
        self.count += outcome is not Outcome.ERROR
        self.successes += outcome is Outcome.SUCCESS
        start = self.starts[self._keys[self.counted - 1]]
        if control is not None and Outcome.ERROR not in (outcome, control) and start not in self._paired:
            self._paired.add(start)  # its control is one outcome, however many wordings are set against it
            self.pairs.see((outcome is Outcome.SUCCESS) - (control is Outcome.SUCCESS))

    @property
    def over(self) -> bool:
        """Whether it is decided, or has no more episodes."""
        return self.decided or self.counted == len(self._keys)

    def counted_starts(self) -> set[tuple[str, int]]:
        """The starts of those that count."""
        return {self.starts[key] for key in self.counted_keys()}

    def counted_keys(self) -> list[str]:
        """The keys of those that count."""
        return self._keys[: self.counted]


def _places(store: Store) -> dict[str, int]:
    """Where each planned episode stands in the order that all conditions share: key -> place."""
    planned = [
        (condition, task, seed, key)
        for condition, _ in store.conditions()
        for key, task, seed, _ in store.outcomes(condition)
    ]
    return {key: place for place, (*_, key) in enumerate(in_shared_order(planned, lambda each: each))}


def _kept(store: Store) -> set[tuple[str, int]]:
    """The starts (task and seed) of conditions that were stopped before."""
    if not store.stopped:
        return set()
    rows = store.frame().filter(
        pl.col("condition").is_in([*store.stopped]) & (pl.col("condition") != CONTROL)
    )
    return set(rows.select("task", "seed").iter_rows())


def _line(store: Store, condition: str, waiting: set[str], unasked: set[str]) -> _Line:
    """A condition's episodes, those that are ``waiting`` (keys) as not done, without those nobody asked for."""
    known = in_shared_order(store.outcomes(condition), lambda each: (condition, each[1], each[2], each[0]))
    known = [each for each in known if each[0] not in unasked]
    return _Line(
        {key: None if key in waiting else outcome for key, _, _, outcome in known},
        {key: (task, seed) for key, task, seed, _ in known},
    )
