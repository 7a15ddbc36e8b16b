"""Driver of a run: hands out planned episodes, records their results, and decides when to stop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import cast

from assay.episodes.episode import Episode, Outcome, no_trajectory
from assay.episodes.spec import EpisodeSpec
from assay.errors import RunError
from assay.runs.executor import Died, Done, Executor
from assay.runs.options import Retry
from assay.runs.schedulers.plan import Scheduler
from assay.runs.schedulers.until import UntilScheduler, parse_until
from assay.runs.store import PlannedEpisode, Store

MAX_CRASHES, MAX_KILLS = 2, 5
"""Number of worker deaths after which an episode is recorded as an error: from crashes, and from SIGKILL or OOM."""
MAX_OFFLINE_EPISODES_PER_WORKER = 3
"""Number of consecutive episodes per worker with an unreachable policy server after which the run stops."""
MAX_IDLE_DEATHS_PER_WORKER = 5
"""Number of worker deaths without an executed episode, per worker, after which the run stops."""

Watch = Callable[[EpisodeSpec | None, Episode | None], None]


@dataclass(frozen=True, slots=True)
class Ending:
    """Result of a command that executed a run."""

    done: int
    """Number of episodes recorded by this command."""
    left: int
    """Number of requested episodes that were not executed, not counting those of decided conditions."""
    reason: str = ""
    """Reason why the run ended early; empty if it did not."""
    errors: int = 0
    """Number of episodes recorded by this command that ended in an error."""


def drive(
    store: Store,
    executor: Executor,
    *,
    retry: Retry = "transient",
    until: str | None = None,
    wanted: Callable[[PlannedEpisode], bool] = lambda entry: True,
    stopping: Callable[[], bool] = lambda: False,
    watch: Watch = lambda spec, episode: None,
) -> Ending:
    """Execute the remaining episodes of a store's plan, or only the ``wanted`` ones.

    ``watch`` is called with each recorded episode, and periodically with None.
    """
    waiting = store.todo(retry=retry)
    entries = [entry for entry in waiting if wanted(entry)]
    if until is None:
        scheduler = Scheduler(store, entries)
    else:
        scheduler = UntilScheduler(store, parse_until(until), entries, waiting)
    return finish(driving(executor, scheduler, stopping=stopping, watch=watch))


Driving = Generator[None, None, Ending]
"""A run being executed, event by event."""


def finish(steps: Driving) -> Ending:
    """Execute a run until it ends."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return cast(Ending, end.value)


def driving(
    executor: Executor, scheduler: Scheduler, *, stopping: Callable[[], bool], watch: Watch
) -> Driving:
    """Execute episodes step by step, so that a caller can alternate between two runs."""
    scheduler.workers = executor.workers
    deaths: Counter[int | None] = Counter()
    done, errors, offline, reason = 0, 0, 0, ""

    def over() -> bool:
        return bool(reason) or stopping()

    for event in executor.execute(scheduler, over) if len(scheduler) else ():
        if isinstance(event, Died):
            deaths[event.number] += 1
            times = deaths[event.number]
            if event.number is None:
                if times > MAX_IDLE_DEATHS_PER_WORKER * executor.workers:
                    raise RunError(f"workers keep dying: {event.reason}")
                continue
            if times < (MAX_KILLS if event.killed else MAX_CRASHES):
                scheduler.give_back([event.number])
                continue
            error = f"{event.reason} ({times} times on this episode)" if times > 1 else event.reason
            event = Done(event.number, Episode(Outcome.ERROR, 0, no_trajectory(), error=error))
        if isinstance(event, Done):
            episode = event.episode
            watch(scheduler.record(event.number, episode), episode)
            done += 1
            errors += episode.outcome is Outcome.ERROR
            offline = offline + 1 if episode.transient else 0
            if offline >= MAX_OFFLINE_EPISODES_PER_WORKER * executor.workers:
                reason = episode.error
        else:
            watch(None, None)
        yield
    return Ending(done, len(scheduler), reason, errors)
