"""LIBERO-Para: paraphrased instructions over a grid of object and action types."""

from __future__ import annotations

from assay.extensions.papers.libero_para import failures, figures, tables
from assay.report.papers import Paper, plan_sections

LAYOUT = (
    (
        "Success",
        "Success rates with the original instructions and with paraphrases, and PRIDE.",
        ("Table 2", "Table 3", "Figure 6", "Figure 17", "Summary by seed", "Summary by scope", "Table 11"),
    ),
    (
        "Difficulty of paraphrases",
        "Object names compared with action types, and the distance from the original instruction.",
        ("Figure 7", "Figure 14", "Figure 13", "Figure 16", "Table 10"),
    ),
    (
        "Failures",
        "Near failures follow the successful trajectory (execution errors); far ones do not (planning errors).",
        ("Table 4", "Table 16", "Figure 8", "Figure 18", "Figure 19"),
    ),
    (
        "The paraphrases",
        "The wordings in the runs. `assay words stats` makes the same tables from a table of wordings.",
        tuple(plan.label for plan in tables.PARAPHRASES),
    ),
)

PAPER = Paper(
    "libero-para",
    "LIBERO-Para: A Diagnostic Benchmark and Metrics for Paraphrase Robustness in VLA Models",
    plan_sections(LAYOUT, (*tables.EXHIBITS, *tables.PARAPHRASES, *figures.EXHIBITS, *failures.EXHIBITS)),
)
