"""Driver of a run: hands out planned episodes, records their results, and decides when to stop."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass

from assay.episodes.episode import Episode, Outcome, no_trajectory
from assay.episodes.spec import EpisodeSpec
from assay.errors import RunError
from assay.runs.executor import Died, Done, Executor
from assay.runs.options import Retry
from assay.runs.schedulers.allocate import AllocatingScheduler
from assay.runs.schedulers.plan import Scheduler
from assay.runs.schedulers.until import UntilScheduler, parse_until
from assay.runs.store import PlannedEpisode, Store

MAX_CRASHES, MAX_KILLS = 2, 5
"""Numbers of worker deaths, by crash and by SIGKILL (or OOM), after which an episode is recorded as an error."""
MAX_OFFLINE_EPISODES_PER_WORKER = 3
"""Number of consecutive episodes per worker without a reachable policy server after which the run stops."""
MAX_IDLE_DEATHS_PER_WORKER = 5
"""Number of deaths of idle workers, per worker and since the last executed episode, after which the run stops."""

Watch = Callable[[EpisodeSpec | None, Episode | None], None]


@dataclass(frozen=True, slots=True)
class Ending:
    """Result of a command that executed a run."""

    done: int
    """Number of episodes recorded by this command."""
    left: int
    """Number of requested episodes that were not executed, excluding episodes of decided conditions."""
    reason: str = ""
    """Reason why the run ended early; empty if it did not."""
    errors: int = 0
    """Number of episodes recorded by this command that ended in an error."""


def drive(
    store: Store,
    executor: Executor,
    *,
    entries: Sequence[PlannedEpisode] | None = None,
    retry: Retry = "transient",
    until: str | None = None,
    allocate: bool = False,
    stopping: Callable[[], bool] = lambda: False,
    watch: Watch = lambda spec, episode: None,
) -> Ending:
    """Execute the remaining episodes of a store's plan, or only those in ``entries``.

    ``watch`` is called with each recorded episode and its spec, and periodically with None for both.
    """
    remaining = store.todo(retry=retry)
    entries = remaining if entries is None else entries
    if allocate:
        scheduler: Scheduler = AllocatingScheduler(store, entries, remaining)
    elif until is None:
        scheduler = Scheduler(store, entries)
    else:
        scheduler = UntilScheduler(store, parse_until(until), entries, remaining)
    (ending,) = deque(drive_stepwise(executor, scheduler, stopping=stopping, watch=watch), maxlen=1)
    return ending


def drive_stepwise(
    executor: Executor, scheduler: Scheduler, *, stopping: Callable[[], bool], watch: Watch
) -> Generator[Ending]:
    """Execute a scheduler's episodes, and yield the result so far after every event and at the end.

    A caller can do something else between two events: a duel, for example, alternates between two runs.
    """
    scheduler.workers = executor.workers
    deaths: Counter[int | None] = Counter()
    done, errors, offline, reason = 0, 0, 0, ""
    events = executor.execute(scheduler, lambda: bool(reason) or stopping()) if scheduler.left else ()
    for event in events:
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
            deaths.pop(None, None)
            errors += episode.outcome is Outcome.ERROR
            offline = offline + 1 if episode.transient else 0
            if offline >= MAX_OFFLINE_EPISODES_PER_WORKER * executor.workers:
                reason = episode.error
        else:
            watch(None, None)
        yield Ending(done, scheduler.left, reason, errors)
    yield Ending(done, scheduler.left, reason, errors)
