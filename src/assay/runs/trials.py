"""Trials: a few episodes of one policy, task by task, without a run file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from assay.episodes import Episode, EpisodeSpec, Outcome, no_trajectory
from assay.errors import AssayError, one_line
from assay.runs.driver import driving
from assay.runs.execute import make_executor
from assay.runs.options import MEASURED, RunOptions
from assay.runs.schedulers.plan import Scheduler
from assay.runs.store import Store
from assay.runs.worker import WorkerConfig


@dataclass(frozen=True, slots=True, eq=False)
class Attempt:
    """One episode of a task."""

    spec: EpisodeSpec
    episode: Episode


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """The episodes of one task."""

    task: str
    attempts: tuple[Attempt, ...]

    @property
    def episodes(self) -> int:
        """Number of episodes."""
        return len(self.attempts)

    @property
    def successes(self) -> int:
        """Number of successes."""
        return len(self.steps)

    @property
    def failed_seeds(self) -> tuple[int, ...]:
        """Seeds of failures."""
        return tuple(attempt.spec.seed for attempt in self._ending_in(Outcome.FAILURE))

    @property
    def errors(self) -> int:
        """Number of errors."""
        return len(self.reasons)

    @property
    def count(self) -> int:
        """Number of episodes without an error."""
        return self.episodes - self.errors

    @property
    def steps(self) -> tuple[int, ...]:
        """Control steps of the successes."""
        return tuple(attempt.episode.steps for attempt in self._ending_in(Outcome.SUCCESS))

    @property
    def reasons(self) -> tuple[str, ...]:
        """Messages of the errors."""
        return tuple(attempt.episode.error for attempt in self._ending_in(Outcome.ERROR))

    @property
    def notes(self) -> tuple[str, ...]:
        """Explanations of failures, if a policy gives them."""
        return tuple(filter(None, (attempt.episode.error for attempt in self._ending_in(Outcome.FAILURE))))

    def _ending_in(self, outcome: Outcome) -> list[Attempt]:
        return [attempt for attempt in self.attempts if attempt.episode.outcome is outcome]

    def as_json(self) -> dict[str, object]:
        """A JSON object."""
        return {
            "task": self.task,
            "episodes": self.episodes,
            "successes": self.successes,
            "errors": self.errors,
            "steps": list(self.steps),
            "failed_seeds": list(self.failed_seeds),
            "reasons": list(self.reasons),
            "attempts": [
                {
                    "seed": attempt.spec.seed,
                    "outcome": attempt.episode.outcome.value,
                    "steps": attempt.episode.steps,
                    "why_not": attempt.episode.error,
                    "traceback": attempt.episode.traceback,
                    "clipped": attempt.episode.clipped,
                    "inference_ms": list(attempt.episode.inference),
                }
                for attempt in self.attempts
            ],
        }


def by_task(attempts: Sequence[Attempt]) -> list[Trial]:
    """Attempts grouped by task, in the order of their first attempts; seeds in order."""
    order = {
        task: place for place, task in enumerate(dict.fromkeys(attempt.spec.task for attempt in attempts))
    }
    attempts = sorted(attempts, key=lambda attempt: (order[attempt.spec.task], attempt.spec.seed))
    return [
        Trial(task, tuple(group)) for task, group in groupby(attempts, key=lambda attempt: attempt.spec.task)
    ]


def try_tasks(
    policy: str,
    world: str,
    tasks: Sequence[str],
    seeds: Sequence[int],
    pack: str,
    options: RunOptions,
    videos: Path | None = None,
) -> Iterator[Attempt]:
    """Execute the unperturbed tasks with a policy, with some of the options of a run; yields finished episodes.

    With stored states a seed is the index of a state in LIBERO's file of the task. ``videos``: the folder for videos,
    if the options ask for them. Without a number of workers, episodes are executed in this process.
    """
    assert options.latency != MEASURED
    specs = []
    for task in tasks:
        for seed in seeds:
            spec = EpisodeSpec(
                task, seed, pack, steps=options.steps, replan=options.replan, initial=options.initial
            )
            if options.latency:
                waiting = options.while_waiting or "play"
                spec = replace(spec, latency=options.latency, while_waiting=waiting)
            try:
                _ = spec.scene_key
            except AssayError as error:  # a file that is not a task
                yield Attempt(spec, Episode(Outcome.ERROR, 0, no_trajectory(), error=one_line(error, 300)))
            else:
                specs.append(spec)
    worker = WorkerConfig(
        policy,
        world,
        videos=videos if options.video is not None else None,
        video_successes=options.video == "all",
        states=options.states and options.states.absolute(),
    )
    executor = make_executor(worker, replace(options, workers=options.workers or 0))
    finished: list[Attempt] = []

    def watch(spec: EpisodeSpec | None, episode: Episode | None) -> None:
        if spec is not None and episode is not None:
            finished.append(Attempt(spec, episode))

    with Store.scratch() as store:
        store.plan(specs)
        scheduler = Scheduler(store, store.todo())
        for _ in driving(executor, scheduler, stopping=lambda: False, watch=watch):
            yield from finished
            finished.clear()
    yield from finished
