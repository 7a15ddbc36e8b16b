"""Axes, which are kinds of change with increasing magnitude, and `search`, the experiment on their full grid."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

from assay.episodes import Label
from assay.errors import ExperimentError
from assay.experiments.base import Experiment, Variant
from assay.perturb import Perturbation, Say
from assay.perturb.senses.images import MAX_SEVERITY, GaussianNoise
from assay.perturb.senses.robot import ActionDelay
from assay.perturb.words.distance.pride import Distance, DistanceError, cached_attempts
from assay.perturb.words.grid.generate import paraphrases
from assay.perturb.world.ground import carrier, movable, target
from assay.perturb.world.objects import Resize
from assay.perturb.world.position import Displace
from assay.perturb.world.staging import Orbit, Relight
from assay.support.plugins import Registry
from assay.tasks import Task

PER_CELL = 2
"""Number of paraphrases per grid cell from which a rewording is drawn."""


class AxisError(ExperimentError):
    """Raised when an axis is not applicable to a task."""


@dataclass(frozen=True, slots=True)
class Rung:
    """A change of a given magnitude, in one or more variants, one of which is selected by the seed."""

    magnitude: float
    ways: tuple[tuple[Perturbation, ...], ...]
    labels: dict[str, Label] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Axis:
    """A kind of change with a magnitude. To register an axis: ``assay.register("axis", name)(Axis(...))``."""

    name: str
    about: str
    """Short description of the quantity that increases."""
    unit: str
    """Unit of the magnitudes, printed after them; empty if they are dimensionless."""
    changes: Callable[[Task], Sequence[Rung]]
    """Function that returns the changes to a task in increasing order. Raises AxisError if the axis is not
    applicable.
    """

    def ladder(self, task: Task) -> tuple[Rung, ...]:
        """Return the changes to a task in increasing order. Raises AxisError or ExperimentError."""
        rungs = tuple(self.changes(task))
        if not rungs:
            raise AxisError(f"no magnitude of this axis applies to {task.id}")
        if not all(0 < one.magnitude < other.magnitude for one, other in pairwise(rungs)):
            raise ExperimentError(f"axis {self.name}: the magnitudes for {task.id} do not increase")
        return rungs


def _rungs(magnitudes: Iterable[float], make: Callable[[float], Perturbation], label: str = "") -> list[Rung]:
    return [
        Rung(magnitude, ((make(magnitude),),), {label: magnitude} if label else {})
        for magnitude in magnitudes
    ]


def _distance(task: Task) -> Sequence[Rung]:
    name = carrier(task.scene, target(task))
    if name not in movable(task):
        raise AxisError(f"the target of {task.id} is {name}, which cannot be moved")
    return _rungs((round(0.025 * step, 3) for step in range(1, 17)), Displace, "distance")


def _size(task: Task) -> Sequence[Rung]:
    if target(task) not in movable(task):
        raise AxisError(f"the target of {task.id} is {target(task)}, a fixture, which has only one size")
    return _rungs(range(5, 55, 5), lambda percent: Resize(round(1 + percent / 100, 3)))


@lru_cache(maxsize=256)
def _rewording(task: Task) -> Sequence[Rung]:
    texts = [paraphrase.text for paraphrase in paraphrases(task, PER_CELL, seed=0)]
    scored = cached_attempts([(task.instruction.text, text) for text in texts])
    bins: dict[float, list[str]] = {}
    for text, distance in zip(texts, scored, strict=True):
        if isinstance(distance, Distance) and distance.pd > 0:
            bins.setdefault(round(0.05 * math.ceil(distance.pd / 0.05), 2), []).append(text)
    if not bins:
        why = next((f": {failure}" for failure in scored if isinstance(failure, DistanceError)), "")
        raise AxisError(f"{task.id} has no paraphrase that differs from its instruction{why}")
    return tuple(Rung(most, tuple((Say(text),) for text in sorted(bins[most]))) for most in sorted(bins))


AXES: Registry[Axis] = Registry(
    "axis",
    ExperimentError,
    {
        name: f"{__name__}:{name.upper()}"
        for name in ("distance", "camera", "light", "delay", "noise", "rewording", "size")
    },
)
"""All axes, by name."""

DISTANCE = Axis("distance", "displacement of the target from its original position", "m", _distance)
CAMERA = Axis(
    "camera",
    "angle by which the scene camera orbits to the right",
    "degrees",
    lambda task: _rungs(range(5, 95, 5), lambda degrees: Orbit(azimuth=math.radians(degrees))),
)
LIGHT = Axis(
    "light",
    "fraction by which the lamps are dimmed",
    "",
    lambda task: _rungs(
        [*(round(0.1 * step, 2) for step in range(1, 9)), 0.85, 0.9, 0.95, 0.98, 1.0],
        lambda fraction: Relight(intensity=round(1.0 - fraction, 3)),
    ),
)
DELAY = Axis(
    "delay",
    "delay of every action in control steps of 50 ms",
    "steps",
    lambda task: _rungs([*range(1, 11), 12, 14, 16, 20, 25, 30], lambda steps: ActionDelay(int(steps))),
)
NOISE = Axis(
    "noise",
    "severity of Gaussian noise on the images, from 1 to 10",
    "",
    lambda task: _rungs(range(1, MAX_SEVERITY + 1), lambda severity: GaussianNoise(int(severity))),
)
REWORDING = Axis("rewording", "maximum PRIDE distance of a paraphrase from the instruction", "PD", _rewording)
SIZE = Axis("size", "relative increase in the target's size", "%", _size)


NAME = "search"
AXIS, MAGNITUDE = "searched", "magnitude"
"""Labels of a condition: the axis, and the magnitude of the change along it."""


def search(axes: tuple[str, ...] = ("distance",)) -> Experiment:
    """Every magnitude of every axis: the full grid, from which `assay search` runs only the episodes that it needs.

    ``axes``: distance, camera, light, delay, noise, rewording, size, or the name of a plugin's axis.
    """
    chosen = [AXES.load(name) for name in axes]

    def variants(task: Task) -> Iterator[Variant]:
        for axis in chosen:
            try:
                ladder = axis.ladder(task)
            except AxisError:
                continue
            for rung in ladder:
                for way in range(len(rung.ways)):
                    yield variant(axis.name, rung, way)

    return Experiment(
        NAME,
        "A change of increasing magnitude: how much breaks the policy? assay search finds out with few episodes.",
        variants,
        tasks="libero_goal",
        certified=True,
    )


def variant(axis: str, rung: Rung, way: int) -> Variant:
    """Return the variant of a task for one magnitude of an axis; ``way`` is the index in ``rung.ways``."""
    labels: dict[str, Label] = {AXIS: axis, MAGNITUDE: rung.magnitude, **rung.labels}
    return Variant(f"{NAME}/{axis}={rung.magnitude:g}", rung.ways[way], labels)
