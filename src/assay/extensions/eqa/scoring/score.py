"""Everything that is said about answers to a folder of questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.extensions.eqa.actions import Level
from assay.extensions.eqa.annotations import Mistake
from assay.extensions.eqa.scoring import contrasts
from assay.extensions.eqa.scoring.accuracy import CHANCE, Mean, Standing, standing
from assay.extensions.eqa.scoring.agreement import Agreement, agreements
from assay.extensions.eqa.scoring.balance import Letters, chosen_letters, right_letters
from assay.extensions.eqa.scoring.contrasts import Contrast
from assay.extensions.eqa.scoring.errors import Component, MistakeCount, components, dimensions, mistakes
from assay.extensions.eqa.scoring.sheet import HUMAN, Sheet
from assay.measures.result import Result


@dataclass(frozen=True, slots=True)
class ModelScore(Result):
    """One model's."""

    asked: int
    """Questions of the folder that it was asked."""
    unparsed: dict[str, int]
    """Why an answer is none -> how often; wrong."""
    among_letters: float | None
    """How often it is right where it gave a letter at all; None where it never did."""
    lenient: Mean
    """The overall mean where the form of answers is forgiven: `B.`, `**B**`, a box, what follows </think>."""
    unanswered: int
    """Asked in vain; not counted."""
    strangers: int
    """Answers to questions of other folders; left out."""
    standing: Standing
    views: dict[str, Standing]
    """With one view only; empty where there is but one."""
    view_contrasts: tuple[Contrast, ...]
    directions: tuple[Contrast, ...]
    """Where both directions ask about the same two moments."""
    components: dict[str, tuple[Component, ...]]
    """mid and low."""
    dimensions: dict[str, tuple[Component, ...]]
    """mid and low: errors by single dimension."""
    view_components: dict[str, tuple[Component, ...]]
    """At the mid level, by view."""
    asked_with: tuple[str, ...]
    """Endpoints and parameters."""
    tokens: tuple[int, int]
    """Sent and received."""
    days: tuple[str, str]
    """When the first and the last answer came."""


@dataclass(frozen=True, slots=True)
class Score(Result):
    """All models on one folder."""

    questions: int
    chance: float
    models: dict[str, ModelScore]
    """By overall mean, the best first."""
    comparisons: tuple[Contrast, ...]
    right_letters: tuple[Letters, ...]
    chosen_letters: tuple[Letters, ...]
    agreement: tuple[Agreement, ...]
    mistakes: tuple[MistakeCount, ...]
    silent: dict[str, int]
    """Models of which no answer counts, and how many questions they were asked in vain."""
    views: tuple[str, ...]
    """Of the questions."""


def score(sheet: Sheet, marks: Sequence[Mistake] = ()) -> Score:
    """Score every model of a sheet; ``marks`` are the mistakes that were looked at."""
    found = {name: _model(sheet, name) for name in sheet.models}
    best_first = sorted(found.items(), key=lambda each: -each[1].standing.overall.share)
    people = {name: model.letters for name, model in sheet.models.items() if name.startswith(HUMAN)}
    return Score(
        len(sheet.questions),
        CHANCE,
        dict(best_first),
        contrasts.models(sheet),
        right_letters(sheet),
        chosen_letters(sheet),
        agreements(people),
        mistakes(sheet, marks),
        dict(sheet.silent),
        tuple(sheet.views),
    )


def _model(sheet: Sheet, name: str) -> ModelScore:
    given = sheet.models[name]
    several = {
        view: mine
        for view, mine in sheet.views.items()
        if len(sheet.views) > 1 and (given.right[mine] >= 0).any()
    }
    return ModelScore(
        int((given.right >= 0).sum()) + given.unanswered,
        dict(given.unparsed),
        float((given.right[given.letters >= 0] == 1).mean()) if (given.letters >= 0).any() else None,
        standing(sheet, given.lenient).overall,
        given.unanswered,
        given.strangers,
        standing(sheet, given.right),
        {view: standing(sheet, given.right, mine) for view, mine in several.items()},
        contrasts.views(sheet, given.right),
        contrasts.directions(sheet, given.right),
        {str(level): components(sheet, given.right, level) for level in (Level.MID, Level.LOW)},
        {str(level): dimensions(sheet, given.right, level) for level in (Level.MID, Level.LOW)},
        {view: components(sheet, given.right, Level.MID, mine) for view, mine in several.items()},
        given.asked_with,
        given.tokens,
        given.days,
    )
