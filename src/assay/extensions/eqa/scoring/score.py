"""All scores for the answers to a folder of questions.

In addition to accuracies: paired contrasts of models, views and directions; errors by component of the action and by
category; the balance of letters; and the agreement of annotators.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import combinations
from typing import Annotated

import numpy as np
import scipy

from assay.extensions.eqa.actions import ActionLevel
from assay.extensions.eqa.annotations import AnnotatorAgreement, Mistake, all_agreements, find_category
from assay.extensions.eqa.question import LETTERS, Question, QuestionKind
from assay.extensions.eqa.scoring.accuracy import (
    CHANCE,
    COMPONENTS,
    DIMENSIONS,
    HUMAN,
    PARTS,
    AnswerSheet,
    Mean,
    ReplySummary,
    Standing,
    cell_weights,
    standing,
)
from assay.measures.result import Result
from assay.measures.views.table import Column
from assay.support.stats.intervals import Interval, paired_difference, share_interval, widen_to_p
from assay.support.stats.significance import holm, sign_flip


@dataclass(frozen=True, slots=True)
class PairedContrast(Result):
    """Two accuracies on the same questions or items, and their difference."""

    first: Annotated[str, Column("first")]
    second: Annotated[str, Column("second")]
    pairs: Annotated[int, Column("n", "count")]
    first_share: Annotated[float, Column("accuracy of the first", "share")]
    second_share: Annotated[float, Column("accuracy of the second", "share")]
    difference: Annotated[float, Column("second minus first", "change")]
    interval: Annotated[Interval, Column("95 % interval", "change")]
    """Newcombe interval of the difference, clustered by episode; extended to 0 if the test is not significant."""
    p: Annotated[float, Column("p", "p")]
    """p-value of the exact sign-flip test over episodes."""
    p_holm: Annotated[float, Column("Holm p", "p")] = 1.0
    """p-value of the sign-flip test, Holm-adjusted over all contrasts in the same table."""


@dataclass(frozen=True, slots=True)
class ComponentErrors(Result):
    """Errors on questions whose action involves a component or dimension."""

    component: Annotated[str, Column("component")]
    questions: Annotated[int, Column("n", "count")]
    errors: Annotated[int, Column("errors", "count")]
    rate: Annotated[float, Column("error rate", "share")]
    """Error rate: errors / questions."""
    interval: Annotated[Interval | None, Column("95 % interval", "share")] = None
    """Wilson interval of the rate, clustered by episode; None without questions."""
    proportion: Annotated[float | None, Column("proportion", "share")] = None
    """Rate divided by the sum of the three components' rates; None without errors, and for single dimensions."""


@dataclass(frozen=True, slots=True)
class MistakeCount(Result):
    """Number of wrong answers in an error category."""

    model: Annotated[str, Column("model")]
    level: Annotated[str, Column("level")]
    direction: Annotated[str, Column("direction")]
    """Direction of the question: prediction or inference."""
    group: Annotated[str, Column("group")]
    part: Annotated[str, Column("part")]
    """Middle tier of the taxonomy."""
    category: Annotated[str, Column("kind of mistake")]
    marker: Annotated[str, Column("marked by")]
    """Person or model that assigned the category: ``hand: NAME`` or ``judge: MODEL``."""
    count: Annotated[int, Column("count", "count")]


@dataclass(frozen=True, slots=True)
class LetterCounts(Result):
    """Frequencies of the four letters."""

    of: str
    """Source of the letters: a kind of question (its correct answers), or a model (its answers)."""
    counts: tuple[int, ...]
    """Numbers of A, B, C and D."""
    p: float
    """p-value of the chi-square test of equal frequencies."""

    @property
    def most(self) -> float:
        """Accuracy that results from always choosing the most frequent letter."""
        return max(self.counts) / sum(self.counts)


@dataclass(frozen=True, slots=True)
class ModelScore(ReplySummary):
    """Score of one model."""

    asked: int
    """Number of the folder's questions that the model was asked."""
    among_letters: float | None
    """Accuracy on the questions whose reply contains a letter; None if no reply does."""
    lenient: Mean
    """Overall mean with lenient parsing, which also accepts `B.`, `**B**`, a box, or the text after </think>."""
    standing: Standing
    views: dict[str, Standing]
    """Accuracies by view; empty if there is only one view."""
    view_contrasts: tuple[PairedContrast, ...]
    directions: tuple[PairedContrast, ...]
    """Contrasts of prediction and inference on the same two moments."""
    components: dict[str, tuple[ComponentErrors, ...]]
    """Errors by component, at the mid and the low level."""
    dimensions: dict[str, tuple[ComponentErrors, ...]]
    """Errors by dimension, at the mid and the low level."""
    view_components: dict[str, tuple[ComponentErrors, ...]]
    """Mid-level errors by component in each view."""


@dataclass(frozen=True, slots=True)
class Score(Result):
    """Scores of all models on the questions of one folder."""

    questions: int
    chance: float
    models: dict[str, ModelScore]
    """Scores by model, in descending order of the overall mean."""
    comparisons: tuple[PairedContrast, ...]
    right_letters: tuple[LetterCounts, ...]
    chosen_letters: tuple[LetterCounts, ...]
    agreement: tuple[AnnotatorAgreement, ...]
    mistakes: tuple[MistakeCount, ...]
    silent: dict[str, int]
    """Number of questions asked, for each model without any scored answer."""
    views: tuple[str, ...]

    @classmethod
    def of(cls, sheet: AnswerSheet, marks: Sequence[Mistake] = ()) -> Score:
        """Score every model on an answer sheet; ``marks`` are categorised mistakes."""
        models = {name: _score_model(sheet, name) for name in sheet.models}
        people = {name: model.letters for name, model in sheet.models.items() if name.startswith(HUMAN)}
        right_letters = {
            str(part): np.array(
                [question.right for question in sheet.questions if part in ("all", question.kind)]
            )
            for part in ("all", *QuestionKind)
        }
        kinds = {question.id: question.kind for question in sheet.questions}
        mistakes = Counter(
            (mark.model, str(kind.level), kind.direction, *find_category(mark.category)[:2], *mark[3:1:-1])
            for mark in marks
            if (kind := kinds.get(mark.question)) is not None
        )
        chosen_letters = {name: model.letters[model.letters >= 0] for name, model in sheet.models.items()}
        return cls(
            questions=len(sheet.questions),
            chance=CHANCE,
            models=dict(sorted(models.items(), key=lambda model: -model[1].standing.overall.share)),
            comparisons=_compare_models(sheet),
            right_letters=_count_letters(right_letters),
            chosen_letters=_count_letters(chosen_letters),
            agreement=all_agreements(people),
            mistakes=tuple(MistakeCount(*key, count) for key, count in sorted(mistakes.items())),
            silent=dict(sheet.silent),
            views=tuple(sheet.views),
        )


def _score_model(sheet: AnswerSheet, name: str) -> ModelScore:
    answers = sheet.models[name]
    right, has_letter = answers.right, answers.letters >= 0
    views = {
        view: mask for view, mask in sheet.views.items() if len(sheet.views) > 1 and (right[mask] >= 0).any()
    }
    levels = {
        str(level): np.array([question.kind.level is level for question in sheet.questions])
        for level in (ActionLevel.MID, ActionLevel.LOW)
    }
    return ModelScore(
        **{field.name: getattr(answers, field.name) for field in fields(ReplySummary)},
        asked=int((right >= 0).sum()) + answers.unanswered,
        among_letters=float((right[has_letter] == 1).mean()) if has_letter.any() else None,
        lenient=standing(sheet, answers.lenient).overall,
        standing=standing(sheet, right),
        views={view: standing(sheet, right, mask) for view, mask in views.items()},
        view_contrasts=_compare_views(sheet, right),
        directions=compare_directions(sheet, right),
        components={level: component_errors(sheet, right, mask) for level, mask in levels.items()},
        dimensions={
            level: component_errors(sheet, right, mask, DIMENSIONS) for level, mask in levels.items()
        },
        view_components={
            view: component_errors(sheet, right, mask & levels["mid"]) for view, mask in views.items()
        },
    )


def _compare_models(sheet: AnswerSheet) -> tuple[PairedContrast, ...]:
    """Compare each pair of models on their common questions, with the weights of the overall mean."""
    contrasts = []
    for (first, one), (second, other) in combinations(sheet.models.items(), 2):
        both = (one.right >= 0) & (other.right >= 0)
        cells, cell, asked = np.unique(sheet.cell[both], return_inverse=True, return_counts=True)
        weights = np.zeros(len(both))
        weights[both] = (cell_weights([sheet.cells[place] for place in cells], PARTS["overall"]) / asked)[
            cell
        ]
        contrasts.append(_contrast(first, second, one.right, other.right, sheet.cluster, weights))
    return _adjust(contrasts)


def _compare_views(sheet: AnswerSheet, right: np.ndarray) -> tuple[PairedContrast, ...]:
    """Compare each pair of views on the same items, given one model's correctness (questions,)."""
    if len(sheet.views) < 2:
        return ()
    items = np.unique([question.item for question in sheet.questions], return_inverse=True)[1]
    cluster = np.zeros(items.max() + 1, dtype=int)
    cluster[items] = sheet.cluster
    by_view = {}
    for name, mask in sheet.views.items():
        by_view[name] = np.full(len(cluster), -1, dtype=np.int8)
        by_view[name][items[mask]] = right[mask]
    return _adjust(
        [
            _contrast(first, second, by_view[first], by_view[second], cluster)
            for first, second in combinations(by_view, 2)
        ]
    )


def compare_directions(sheet: AnswerSheet, right: np.ndarray) -> tuple[PairedContrast, ...]:
    """Compare prediction and inference between the same two moments in the same view, at each level."""

    def moments(question: Question) -> tuple[str, ...]:
        end = question.moments[1 + question.right] if question.kind.predicts else question.moments[1]
        return question.dataset, question.view, question.moments[0], end

    contrasts = []
    for level in ActionLevel:
        predicted: dict[tuple[str, ...], int] = {}
        inferred: dict[tuple[str, ...], int] = {}
        for place, question in enumerate(sheet.questions):
            if question.kind.level is level:
                (predicted if question.kind.predicts else inferred).setdefault(moments(question), place)
        both = [moment for moment in predicted if moment in inferred]
        one, other = (
            np.array([places[moment] for moment in both], dtype=int) for places in (predicted, inferred)
        )
        names = f"{level} prediction", f"{level} inference"
        contrasts.append(_contrast(*names, right[one], right[other], sheet.cluster[one]))
    return _adjust(contrasts)


def _contrast(
    first: str,
    second: str,
    one: np.ndarray,
    other: np.ndarray,
    cluster: np.ndarray,
    weights: np.ndarray | None = None,
) -> PairedContrast | None:
    """Return the contrast of two correctness arrays (pairs,), weighted if given; None without common questions."""
    both = (one >= 0) & (other >= 0)
    if not both.any():
        return None
    number, weight = cluster[both], np.ones(int(both.sum())) if weights is None else weights[both]
    tried = np.bincount(number, weight)
    used = tried > 0
    hits = [np.bincount(number, side[both] * weight)[used] for side in (one, other)]
    effective = float(weight.sum() ** 2 / np.square(weight).sum())
    paired = paired_difference((hits[0], hits[1]), (tried[used], tried[used]), (effective, effective))
    p = sign_flip(hits[1] - hits[0])
    return PairedContrast(
        first,
        second,
        pairs=int(both.sum()),
        first_share=paired.first,
        second_share=paired.second,
        difference=paired.difference,
        interval=widen_to_p(paired.interval, p),
        p=p,
    )


def _adjust(contrasts: Sequence[PairedContrast | None]) -> tuple[PairedContrast, ...]:
    present = [contrast for contrast in contrasts if contrast is not None]
    values = holm([contrast.p for contrast in present]) if present else []
    return tuple(replace(contrast, p_holm=p) for contrast, p in zip(present, values, strict=True))


def component_errors(
    sheet: AnswerSheet, right: np.ndarray, within: np.ndarray, parts: Mapping[str, slice] = COMPONENTS
) -> tuple[ComponentErrors, ...]:
    """Return each action part's error rate over the questions in the mask ``within`` that involve it."""
    scored = (right >= 0) & within
    if not scored.any():
        return ()
    results = []
    for name, columns in parts.items():
        chosen = scored & sheet.moved[:, columns].any(axis=1)
        tried, missed = sheet.per_cluster(chosen), sheet.per_cluster(chosen & (right == 0))
        asked, errors, used = int(tried.sum()), int(missed.sum()), tried > 0
        interval = share_interval(missed[used], tried[used], asked) if asked else None
        results.append(ComponentErrors(name, asked, errors, errors / max(asked, 1), interval))
    total = sum(result.rate for result in results)
    if parts is not COMPONENTS or not total:
        return tuple(results)
    return tuple(replace(result, proportion=result.rate / total) for result in results)


def _count_letters(answers: dict[str, np.ndarray]) -> tuple[LetterCounts, ...]:
    """Count the letters in each non-empty array of answers, which are letter indices."""
    results = []
    for name, places in answers.items():
        if len(places):
            counts = np.bincount(places, minlength=len(LETTERS))
            squares = float(((counts - counts.mean()) ** 2).sum() / counts.mean())
            p = float(scipy.special.chdtrc(len(counts) - 1, squares))
            results.append(LetterCounts(name, tuple(counts.tolist()), p))
    return tuple(results)
