"""An evaluation that fits into a time budget, for use in a training loop.

It executes the experiment's first n seeds on the chosen tasks completely, and lists what was left out. For given
seeds and tasks, the episodes do not depend on how long they take; the budget only sets their number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic

from assay.episodes import Policy
from assay.errors import RunError
from assay.experiments import Experiment
from assay.runs.estimates import certificates, duration, parse_duration, time_episodes
from assay.runs.execute import Observer, execute
from assay.runs.options import RunOptions
from assay.runs.plan import RunPlan
from assay.runs.store import Store

TIMED_CONTROLS = 2
"""Number of controls that are timed before the tasks are chosen."""


@dataclass(frozen=True, slots=True)
class FittedRun:
    """A run within a time budget, with a list of what was left out."""

    path: Path
    tasks: tuple[str, ...]
    seeds: int
    """Number of seeds."""
    seconds: float
    """Wall-clock time, in seconds."""
    left_out: tuple[str, ...]
    """Descriptions of the parts of the experiment that did not fit into the budget."""


def run_within(
    budget: str | float | None,
    experiment: str | Experiment,
    policy: str | Policy,
    path: Path,
    options: RunOptions,
    observer: Observer | None = None,
) -> FittedRun:
    """Run as many seeds as fit into a time such as ``2min``, on fewer tasks if necessary; None for no limit.

    Raises RunError if not even one seed of one task fits, or if ``path`` exists, because digests cannot show that
    a policy in training has changed.
    """
    if path.exists():
        raise RunError(f"{path} already exists; every evaluation needs a new file")
    began = monotonic()
    whole = RunPlan.make(experiment, options)
    all_tasks = tuple(dict.fromkeys(spec.task for spec in whole.specs))
    all_seeds = tuple(dict.fromkeys(spec.paired_seed for spec in whole.specs))
    tasks, seeds = all_tasks, len(all_seeds)
    if budget is None:
        execute(experiment, policy, path, options, observer)
    else:
        allowed = parse_duration(budget)
        first = RunPlan.make(experiment, replace(options, seeds=all_seeds[:1]))
        tasks, seeds = _choose_tasks(first, all_tasks, policy, allowed, began, budget), 1
        within = replace(options, tasks=",".join(tasks), seeds=all_seeds[:1])
        count, since = _count(RunPlan.make(experiment, within)), monotonic()
        ending = execute(experiment, policy, path, within, observer)
        pace = (monotonic() - since) / max(count, 1)  # seconds per episode or certificate, over all workers
        left = allowed - (monotonic() - began)
        while not ending.left and seeds < len(all_seeds):
            left -= pace * _count(RunPlan.make(experiment, replace(within, seeds=(all_seeds[seeds],))))
            if left < 0:
                break
            seeds += 1
        if seeds > 1:
            execute(experiment, policy, path, replace(within, seeds=all_seeds[:seeds]), observer)
    left_out = []
    if missing := [task for task in all_tasks if task not in tasks]:
        left_out.append(f"{len(missing)} of {len(all_tasks)} tasks: {', '.join(missing)}")
    if seeds < len(all_seeds):
        left_out.append(f"{len(all_seeds) - seeds} of {len(all_seeds)} seeds")
    with Store.reading(path) as store:
        undone = len(store.todo())
    if undone:
        left_out.append(f"{undone} planned episodes that were not executed")
    return FittedRun(path, tasks, seeds, monotonic() - began, tuple(left_out))


def _choose_tasks(
    first: RunPlan,
    tasks: Sequence[str],
    policy: str | Policy,
    allowed: float,
    began: float,
    budget: str | float,
) -> tuple[str, ...]:
    """Return the tasks for which one seed fits: all tasks, or an evenly spaced subset."""
    pace = time_episodes(first, policy, TIMED_CONTROLS)
    if isinstance(pace, str):
        return tuple(tasks)  # every control failed with an error, which the evaluation will report
    seconds = _count(first) * pace.seconds / first.options.worker_count
    room = (allowed - (monotonic() - began)) / max(seconds, 1e-9)
    if room >= 1:
        return tuple(tasks)
    count = int(room * len(tasks))
    if count < 1:
        raise RunError(
            f"budget {budget}: one seed of one task of {first.experiment.name} takes about "
            f"{duration(seconds / len(tasks))} ({len(first.specs) // len(tasks)} episodes); allow more time, or "
            "choose fewer conditions"
        )
    return tuple(tasks[place * len(tasks) // count] for place in range(count))


def _count(plan: RunPlan) -> int:
    """Return the number of a plan's episodes plus the number of its missing certificates."""
    return len(plan.specs) + certificates(plan).missing
