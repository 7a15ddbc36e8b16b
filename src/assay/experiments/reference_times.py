"""Human completion times of tasks, read from a CSV file; time limits are multiples of them, as in LIBERO-X."""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean
from typing import Any, Literal

from assay.episodes import EpisodeSpec
from assay.errors import ExperimentError, PerturbationError
from assay.experiments.base import Experiment, LazyVariant, Variant
from assay.perturb.words.grid.table import rows
from assay.sim.simulation import CONTROL_HZ
from assay.tasks.files import display_name

UNITS: Mapping[str, int] = {"steps": 1, "seconds": CONTROL_HZ}
"""Time column in the file -> control steps per unit."""
MAX_TASKS_NAMED = 3
TIMES = (0.8, 1.5)
"""Minimum and maximum time limit, as multiples of the reference time."""


@dataclass(frozen=True, slots=True)
class ReferenceTimes:
    """Human completion time of each task."""

    file: str
    """Path of the CSV file."""
    digest: str
    """Digest of the file's content, 12 hexadecimal digits."""
    steps: Mapping[str, float]
    """Control steps by task, which is identified by its id, or by its file name without folder and suffix."""

    def of(self, task: str) -> float:
        """Return the time of a task in control steps. Raises ExperimentError if the file lacks the task."""
        if display_name(task) not in self.steps:
            named_tasks = ", ".join(sorted(self.steps)[:MAX_TASKS_NAMED])
            more = ", ..." if len(self.steps) > MAX_TASKS_NAMED else ""
            raise ExperimentError(
                f"{self.file} has no time for {display_name(task)}; it lists: {named_tasks}{more}"
            )
        return self.steps[display_name(task)]


def read_times(file: str) -> ReferenceTimes:
    """Read the times in a CSV file with the columns task, and seconds or steps (of 1/20 s).

    Multiple rows for a task are averaged. Raises ExperimentError with the line number for an invalid time.
    """
    path, by_task = Path(file), defaultdict[str, list[float]](list)
    try:
        for line, fields in rows(path, ("task", tuple(UNITS))):
            units = [name for name in UNITS if fields.get(name, "").strip()]
            if len(units) != 1 or not fields["task"].strip():
                raise ExperimentError(f"{path}:{line}: expected a task, and either seconds or steps")
            text, unit = fields[units[0]], units[0]
            try:
                value = float(text)
            except ValueError:
                value = math.nan
            if not 0 < value < math.inf:
                raise ExperimentError(f"{path}:{line}: {unit} is '{text[:40]}': expected a number above 0")
            by_task[display_name(fields["task"].strip())].append(value * UNITS[unit])
        digest = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
    except PerturbationError as error:
        raise ExperimentError(str(error)) from None
    if not by_task:
        raise ExperimentError(f"{path} has no rows below its header")
    return ReferenceTimes(file, digest, {task: mean(times) for task, times in by_task.items()})


def with_reference_times(
    experiment: Experiment, time: float | Literal["unlimited"], times: str
) -> Experiment:
    """Return an experiment with a time limit that is a multiple of the times in a file, or of the demonstrator's time.

    Raises ExperimentError for a multiple outside LIBERO-X's range and, during planning, for a task missing from the
    file.
    """
    low, high = TIMES
    if time != "unlimited" and not low <= time <= high:
        raise ExperimentError(f"{experiment.name}: time={time}: expected {low:g} to {high:g}, or unlimited")
    limit = 0.0 if time == "unlimited" else time
    if not times:
        return replace(experiment, limit=limit)
    reference = read_times(times)

    def variants(task: Any) -> Iterable[Variant | LazyVariant]:
        reference.of(task.id)  # before anything runs
        return experiment.variants(task)

    return replace(experiment, limit=limit, reference=reference, variants=variants)


def apply_time_limit(spec: EpisodeSpec, limit: float | None, reference: float) -> EpisodeSpec:
    """Return a spec whose time limit is ``limit`` times a reference time in control steps; 0 adds only a label."""
    if limit is None:
        return spec
    labels = {**spec.labels, "reference_steps": reference, "limit_factor": limit or None}
    steps = max(1, round(limit * reference)) if limit else spec.steps
    return replace(spec, steps=steps, labels=labels)
