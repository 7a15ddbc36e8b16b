"""LIBERO-Para: paraphrased instructions over a grid of object and action types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay.report.papers.base import Paper, PaperRun, PaperSection, exhibit
from assay.report.papers.libero_para.tables import pride_table, success_table


def make(runs: Sequence[PaperRun]) -> Iterator[PaperSection]:
    """Its tables and figures, in the order of the paper."""
    yield PaperSection(
        "Results",
        "How often each model succeeds with the original instructions and with paraphrases.",
        (
            exhibit(
                "Table 2", "Success with the original instructions and with paraphrases", success_table, runs
            ),
            exhibit("Table 3", "Success against PRIDE", pride_table, runs),
        ),
    )


PAPER = Paper(
    "libero-para",
    "LIBERO-Para: A Diagnostic Benchmark and Metrics for Paraphrase Robustness in VLA Models",
    make,
)
