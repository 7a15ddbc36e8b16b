"""The tables and figures of ActionEQA, made from one's own answers: ``assay eqa score ... --paper actioneqa``.

Shares are means over data sets of each kind, as in the paper; the main view is one camera outside, where there are
several views. Averages over models leave people and baselines out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from assay.extensions.eqa.question import Question
from assay.extensions.eqa.scoring.actioneqa.mistakes import (
    mean_proportions_table,
    mistakes_figure,
    mistakes_table,
    proportions_table,
)
from assay.extensions.eqa.scoring.actioneqa.performance import (
    asymmetry_table,
    best_figures,
    consistency_table,
    kinds_figure,
    main_table,
    size_figure,
)
from assay.extensions.eqa.scoring.actioneqa.questions import (
    counts_figure,
    counts_table,
    statistics_table,
    verbs_table,
)
from assay.extensions.eqa.scoring.actioneqa.results import Facts, Results, read_facts
from assay.extensions.eqa.scoring.actioneqa.views import (
    camera_figures,
    cameras_table,
    perspectives_table,
    worth_table,
)
from assay.extensions.eqa.scoring.score import Score
from assay.measures.views.wording import plural
from assay.report.papers.base import Paper, PaperSection, exhibit
from assay.report.papers.page import PaperReport

__all__ = ["ABOUT", "PAPER", "Facts", "Results", "read_facts", "report"]

PAPER = "actioneqa"
ABOUT = "ActionEQA: Action Interface for Embodied Question Answering"


def report(score: Score, questions: Sequence[Question], facts: Mapping[str, Facts]) -> PaperReport:
    """The paper's tables and figures, as far as answers can give them."""
    results = Results(score, questions, facts)
    about = tuple((name, f"{model.standing.questions:,} answers") for name, model in score.models.items())
    return PaperReport(
        Paper(PAPER, ABOUT, lambda runs: ()),
        about,
        tuple(_sections(results)),
        made_from=f"answers to {plural(score.questions, 'question')}",
    )


def _sections(results: Results) -> Iterator[PaperSection]:
    yield PaperSection(
        "Performance",
        "How often each model is right, by data set and kind.",
        (
            exhibit("Table 1", "Models, data sets and kinds", main_table, results),
            exhibit("Figure 5", "The best models against people", best_figures, results),
            exhibit("Figure 20", "The best models across the six kinds", kinds_figure, results),
            exhibit("Figure 19", "Performance and size", size_figure, results),
            exhibit("Section 3.2", "Inference against prediction, and levels", asymmetry_table, results),
            exhibit("Section C.4", "Consistency across data sets", consistency_table, results),
        ),
    )
    yield PaperSection(
        "Views",
        "The same items, seen by more cameras or from elsewhere.",
        (
            exhibit("Table 2", "One to four cameras outside", cameras_table, results),
            exhibit(
                "Figure 6",
                "One to four cameras outside: overall, and what errors are about",
                camera_figures,
                results,
            ),
            exhibit("Table 3", "The hand's camera, one outside, and both", perspectives_table, results),
            exhibit("Table 4", "What the hand's camera and both are worth", worth_table, results),
        ),
    )
    yield PaperSection(
        "Errors",
        "What errors are about, and which kind of mistake they are.",
        (
            exhibit("Table 11", "Normalised error proportions by view", proportions_table, results),
            exhibit("Table 12", "The same, mean over models", mean_proportions_table, results),
            exhibit("Figure 7", "Kinds of mistakes by level", mistakes_figure, results),
            exhibit("Table 13", "Kinds of mistakes in full", mistakes_table, results),
        ),
    )
    yield PaperSection(
        "The questions",
        "What is asked.",
        (
            exhibit("Table 7", "Verbs of the instructions", verbs_table, results),
            exhibit("Table 8", "Questions, images and episodes", statistics_table, results),
            exhibit("Table 9", "Questions by level and direction", counts_table, results),
            exhibit("Figure 3", "Questions by kind and data set", counts_figure, results),
        ),
    )
