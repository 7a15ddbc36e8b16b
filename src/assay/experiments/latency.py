"""Latency: the same tasks, decided upon later and later."""

from __future__ import annotations

from collections.abc import Iterator

from assay.episodes import Change, Label
from assay.episodes.latency import MOST_LATENCY
from assay.errors import ExperimentError
from assay.experiments.base import Experiment, Variant

STEPS = (1, 2, 4, 8)
"""Control steps of 50 ms."""


def latency(steps: tuple[int, ...] = STEPS) -> Experiment:
    """Each latency, in control steps; the control decides at once."""
    if not steps or len(set(steps)) < len(steps) or not all(1 <= step <= MOST_LATENCY for step in steps):
        raise ExperimentError(
            f"latency?steps={steps!r:.60}: valid: different numbers from 1 to {MOST_LATENCY}"
        )
    return Experiment(
        name="latency",
        about="A policy that thinks for 1, 2, 4, ... control steps: how late may its decisions come?",
        variants=lambda task: _variants(steps),
    )


def _variants(steps: tuple[int, ...]) -> Iterator[Variant]:
    for step in steps:
        labels: dict[str, Label] = {"axis": "senses", "change": Change.LATENCY, "plausible": True}
        yield Variant(f"latency/steps={step}", labels=labels, latency=step)
