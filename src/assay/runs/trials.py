"""Trials: a few episodes of one policy, task by task, without a run file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from assay.episodes import Episode, EpisodeSpec, Outcome
from assay.runs.driver import drive_stepwise
from assay.runs.execute import make_executor
from assay.runs.executor import WorkerConfig
from assay.runs.options import MEASURED, RunOptions
from assay.runs.schedulers.plan import Scheduler
from assay.runs.store import Store
from assay.support.trust import PYTHON

Attempt = tuple[EpisodeSpec, Episode]
"""An executed episode of a task."""


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """The episodes of one task."""

    task: str
    attempts: tuple[Attempt, ...]

    def ending_in(self, outcome: Outcome) -> list[Episode]:
        """Return the episodes with a given outcome."""
        return [episode for _, episode in self.attempts if episode.outcome is outcome]

    @property
    def success_rate(self) -> tuple[int, int]:
        """Number of successes, and number of episodes without an error."""
        successes = len(self.ending_in(Outcome.SUCCESS))
        return successes, successes + len(self.ending_in(Outcome.FAILURE))

    def as_json(self) -> dict[str, object]:
        """Return the trial as a JSON object."""
        errors = self.ending_in(Outcome.ERROR)
        return {
            "task": self.task,
            "episodes": len(self.attempts),
            "successes": self.success_rate[0],
            "errors": len(errors),
            "steps": [episode.steps for episode in self.ending_in(Outcome.SUCCESS)],
            "failed_seeds": [
                spec.seed for spec, episode in self.attempts if episode.outcome is Outcome.FAILURE
            ],
            "reasons": [episode.error for episode in errors],
            "attempts": [
                {
                    "seed": spec.seed,
                    "outcome": episode.outcome.value,
                    "steps": episode.steps,
                    "why_not": episode.error,
                    "traceback": episode.traceback,
                    "clipped": episode.clipped,
                    "inference_ms": list(episode.inference),
                }
                for spec, episode in self.attempts
            ],
        }


def by_task(attempts: Sequence[Attempt]) -> list[Trial]:
    """Group attempts by task, in the order of each task's first attempt, with seeds in order."""
    tasks: dict[str, list[Attempt]] = {}
    for attempt in attempts:
        tasks.setdefault(attempt[0].task, []).append(attempt)
    return [
        Trial(task, tuple(sorted(group, key=lambda attempt: attempt[0].seed)))
        for task, group in tasks.items()
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
    """Execute unperturbed tasks with a policy and yield each finished episode; only some of a run's options apply.

    With stored states, a seed is the index of a state in LIBERO's file for the task. ``videos``: the folder for videos,
    if the options request them. Without a number of workers, episodes are executed in this process.
    """
    assert options.latency != MEASURED
    specs = [
        EpisodeSpec(
            task,
            seed,
            pack,
            steps=options.steps,
            replan=options.replan,
            initial="sampled" if options.states is None else "stored",
            latency=options.latency,
            while_waiting=(options.while_waiting if options.latency else None) or "play",
        )
        for task in tasks
        for seed in seeds
    ]
    worker = WorkerConfig(
        policy,
        world,
        videos=videos if options.video is not None else None,
        video_successes=options.video == "all",
        states=options.states and options.states.absolute(),
        plugins=(pack,) if pack.startswith(PYTHON) else (),
    )
    executor = make_executor(worker, replace(options, workers=options.workers or 0))
    finished: list[Attempt] = []

    def watch(spec: EpisodeSpec | None, episode: Episode | None) -> None:
        if spec is not None and episode is not None:
            finished.append((spec, episode))

    with Store.scratch() as store:
        store.plan(specs)
        scheduler = Scheduler(store, store.todo())
        for _ in drive_stepwise(executor, scheduler, stopping=lambda: False, watch=watch):
            yield from finished
            finished.clear()
    yield from finished
