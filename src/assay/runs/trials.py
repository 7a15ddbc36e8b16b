"""A few episodes of one policy, task by task: a quick count, with nothing stored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from assay.episodes import LIBERO, Episode, EpisodeSpec, Initial, Outcome, WhileWaiting
from assay.runs.worker import EpisodeRunner, WorkerConfig


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
        """How many there were."""
        return len(self.attempts)

    @property
    def successes(self) -> int:
        """How many reached the goal."""
        return len(self.steps)

    @property
    def failed(self) -> tuple[int, ...]:
        """The seeds of those that ran out of time."""
        return tuple(
            attempt.spec.seed for attempt in self.attempts if attempt.episode.outcome is Outcome.FAILURE
        )

    @property
    def errors(self) -> int:
        """In how many the policy broke."""
        return len(self.reasons)

    @property
    def counted(self) -> int:
        """How many say something about success: all but errors."""
        return self.episodes - self.errors

    @property
    def steps(self) -> tuple[int, ...]:
        """Control steps of the successes."""
        return tuple(
            attempt.episode.steps for attempt in self.attempts if attempt.episode.outcome is Outcome.SUCCESS
        )

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the policy broke, where it did."""
        return tuple(
            attempt.episode.error for attempt in self.attempts if attempt.episode.outcome is Outcome.ERROR
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Why it failed, where it says so."""
        return tuple(
            attempt.episode.error
            for attempt in self.attempts
            if attempt.episode.outcome is Outcome.FAILURE and attempt.episode.error
        )

    def as_json(self) -> dict[str, object]:
        """A JSON object."""
        return {
            "task": self.task,
            "episodes": self.episodes,
            "successes": self.successes,
            "errors": self.errors,
            "steps": list(self.steps),
            "failed_seeds": list(self.failed),
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
    """Attempts, task by task."""
    return [
        Trial(task, tuple(each)) for task, each in groupby(attempts, key=lambda attempt: attempt.spec.task)
    ]


def attempts(
    address: str,
    chosen: Sequence[str],
    seeds: Sequence[int],
    *,
    pack: str = "primitives",
    initial: Initial = "sampled",
    steps: int | None = None,
    replan: int | None = None,
    latency: int = 0,
    while_waiting: WhileWaiting = "play",
    states: Path | None = None,
    world: str = LIBERO,
    videos: Path | None = None,
    video_successes: bool = True,
) -> Iterator[Attempt]:
    """Run a policy on the tasks of some ids; one attempt after the other, as it is done.

    With ``initial="stored"`` a seed is the index of a state in LIBERO's file of the task. ``videos``: a folder
    for a video of each, or of failures alone.
    """
    config = WorkerConfig(address, world, videos=videos, video_successes=video_successes, states=states)
    runner = EpisodeRunner(config)
    try:
        for task in chosen:
            for seed in seeds:
                spec = EpisodeSpec(task, seed, pack, steps=steps, replan=replan, initial=initial)
                if latency:
                    spec = replace(spec, latency=latency, while_waiting=while_waiting)
                yield Attempt(spec, runner.run(spec))
    finally:
        runner.close()
