"""The tables and figures of the ActionEQA paper, from the user's answers: ``assay eqa score ... --paper actioneqa``.

Accuracies are means over the data sets of each kind, as in the paper. With several views, the main one is a single
static camera. Averages over models exclude people and baselines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.extensions.eqa.question import Question
from assay.extensions.eqa.scoring.actioneqa.figures import FIGURES
from assay.extensions.eqa.scoring.actioneqa.results import ModelFacts, PaperResults
from assay.extensions.eqa.scoring.actioneqa.tables import TABLES
from assay.extensions.eqa.scoring.score import Score
from assay.measures.views.wording import plural
from assay.report.papers import ExhibitPlan, Paper, PaperReport, plan_sections

PAPER = "actioneqa"
ABOUT = "ActionEQA: Action Interface for Embodied Question Answering"
SECTIONS = (
    (
        "Performance",
        "Accuracy of each model by data set and kind.",
        ("Table 1", "Figure 5", "Figure 20", "Figure 19", "Section 3.2", "Section C.4"),
    ),
    (
        "Views",
        "The same items with more cameras or from another perspective.",
        ("Table 2", "Figure 6", "Table 3", "Table 4"),
    ),
    (
        "Errors",
        "Components of the action in wrong answers, and error categories.",
        ("Table 11", "Table 12", "Figure 7", "Table 13"),
    ),
    ("The questions", "Statistics of the question set.", ("Table 7", "Table 8", "Table 9", "Figure 3")),
)
"""Title, description and exhibits of each section."""


def report(score: Score, questions: Sequence[Question], facts: Mapping[str, ModelFacts]) -> PaperReport:
    """Create the paper's tables and figures for which there are answers."""
    plans = (ExhibitPlan(label, *plan) for label, plan in {**TABLES, **FIGURES}.items())
    sections = tuple(plan_sections(SECTIONS, plans)(PaperResults(score, questions, facts)))
    models = tuple((name, f"{model.standing.questions:,} answers") for name, model in score.models.items())
    made_from = f"answers to {plural(score.questions, 'question')}"
    return PaperReport(Paper(PAPER, ABOUT, lambda runs: ()), models, sections, made_from=made_from)
