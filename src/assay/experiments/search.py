"""What `assay search` plays: one change that grows, axis by axis; and several small ones together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from assay.episodes import Label
from assay.experiments.axes import AXES, AxisError, Rung
from assay.experiments.base import Experiment, Variant
from assay.support.streams import stream
from assay.tasks import Task

NAME = "search"
AXIS, MAGNITUDE, FRESH = "searched", "magnitude", "fresh"
"""Labels: the axis, or several with a plus; how large the change is; whether the start is one that confirms."""


def search(axes: tuple[str, ...] = ("distance",)) -> Experiment:
    """Every magnitude of every axis: the whole grid, of which `assay search` plays what it needs.

    ``axes``: distance, camera, light, delay, noise, rewording, size, or a plugin's.
    """
    chosen = [AXES[name] for name in axes]

    def variants(task: Task) -> Iterator[Variant]:
        for axis in chosen:
            try:
                ladder = axis.ladder(task)
            except AxisError:
                continue
            for rung in ladder:
                for way in range(len(rung.ways)):
                    yield variant({axis.name: rung}, way)

    return Experiment(
        NAME,
        "One change that grows: how much of it breaks the policy? assay search finds out with few episodes.",
        variants,
        tasks="libero_goal",
        certified=True,
    )


def variant(changes: Mapping[str, Rung], way: int) -> Variant:
    """Changes made together, by axis; ``way`` says which of several ways to make them."""
    names = "+".join(f"{axis}={rung.magnitude:g}" for axis, rung in changes.items())
    made = tuple(each for rung in changes.values() for each in rung.ways[way % len(rung.ways)])
    labels: dict[str, Label] = {AXIS: "+".join(changes)}
    if len(changes) == 1:
        (rung,) = changes.values()
        labels |= {MAGNITUDE: rung.magnitude, **rung.labels}
    return Variant(f"{NAME}/{names}", made, labels)


def drawn_way(task: str, changes: Mapping[str, Rung], seed: int) -> int:
    """Which way a seed draws."""
    most = max(len(rung.ways) for rung in changes.values())
    return int(stream("search", "way", task, seed).integers(most)) if most > 1 else 0
