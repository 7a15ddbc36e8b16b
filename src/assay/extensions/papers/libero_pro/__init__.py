"""LIBERO-PRO: objects, positions, wordings, tasks and rooms changed on four suites of LIBERO."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeVar

from assay.extensions.papers.libero_pro.tables import gaps, leaderboard
from assay.measures.measure import Measure
from assay.measures.memory.memorisation import MEMORISATION
from assay.measures.views.style import Drawing
from assay.measures.world.curves import CORRUPTION, DISPLACEMENT, DISSIMILARITY
from assay.report.figures.curves import corruption_figure, displacement_figure, dissimilarity_figure
from assay.measures.memory.memorisation import memorisation_figure
from assay.report.papers.base import Paper, PaperRun, PaperSection, Part, exhibit, of_each

T = TypeVar("T")


def make(runs: Sequence[PaperRun], *, beside: bool = False) -> Iterator[PaperSection]:
    """Its tables and figures; ``beside``: with what the authors published."""
    yield PaperSection(
        "Five dimensions on four suites",
        "How often each model succeeds when one thing is changed, and with nothing changed (control).",
        (
            exhibit("Leaderboard", "Success by suite and dimension", leaderboard, runs, beside=beside),
            exhibit("Gaps", "The same with intervals, and the gap from the control", gaps, runs),
        ),
    )
    yield PaperSection(
        "Memory",
        "Whether trajectories stay the same when objects or instructions change, and how far objects may be moved.",
        (
            exhibit("Figure 1", "Trajectories repeated", _drawn, runs, MEMORISATION, memorisation_figure),
            exhibit("Figure 6", "Success over displacement", _drawn, runs, DISPLACEMENT, displacement_figure),
        ),
    )
    yield PaperSection(
        "How much is too much",
        "Less and less of the instruction, and objects less and less like the one that the task is about.",
        (
            exhibit("Instructions", "Corrupted instructions", _drawn, runs, CORRUPTION, corruption_figure),
            exhibit("Objects", "Other objects", _drawn, runs, DISSIMILARITY, dissimilarity_figure),
        ),
    )


def _drawn(
    runs: Sequence[PaperRun], measure: Measure[T], draw: Callable[[Mapping[str, T]], Drawing]
) -> Iterator[Part]:
    """One figure of what the runs have measured, and a line for each run that has not."""
    found, missing = of_each(runs, lambda run: run.data.result(measure))
    yield draw(found if len(found) > 1 else {"": next(iter(found.values()))})
    yield from missing


PAPER = Paper(
    "libero-pro",
    "LIBERO-PRO: Towards Robust and Fair Evaluation of Vision-Language-Action Models Beyond Memorization",
    make,
    partial(make, beside=True),
)
