"""Accuracy of a model, from questions and the answers of models and people as arrays.

There is one accuracy per kind and data set, and hierarchical means. A hierarchical mean averages over the data sets of
each kind, then over kinds, so that every kind has the same weight regardless of its number of data sets and questions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated

import numpy as np
import polars as pl

from assay.extensions.eqa.actions import SIZE, ActionLevel, signs
from assay.extensions.eqa.annotations import Annotations
from assay.extensions.eqa.asking import answers
from assay.extensions.eqa.asking.answers import BLOCKED, AnswerState, parse_leniently
from assay.extensions.eqa.question import LETTERS, Question, QuestionError, QuestionKind
from assay.measures.result import Result
from assay.measures.views.table import Column
from assay.support.stats.intervals import LEVEL, Interval, Z, newcombe, share_interval, wilson_interval
from assay.support.stats.resampling import FEWEST
from assay.support.stats.significance import t_quantile

NONE = -1
"""Value for a missing letter, or for a question that is not scored."""
HUMAN = "human: "
"""Prefix of annotators' names in the list of models."""
COMPONENTS = {"translation": slice(0, 3), "rotation": slice(3, 6), "gripper": slice(6, 7)}
"""Columns of each component of an action (7,)."""
DIMENSIONS = {
    name: slice(place, place + 1)
    for place, name in enumerate(
        (*(f"{part} {axis}" for part in ("translation", "rotation") for axis in "XYZ"), "gripper")
    )
}
"""Column of each dimension of an action (7,)."""
Cell = tuple[str, QuestionKind]
"""A data set and a kind of question."""


@dataclass(frozen=True, slots=True)
class ReplySummary(Result):
    """Missing answers of one model, and its request settings."""

    unparsed: dict[str, int]
    """Number of replies without an answer by reason; they are scored as wrong."""
    unanswered: int
    """Number of questions that the endpoint did not answer; they are not scored."""
    strangers: int
    """Number of answers to questions in other folders, which are ignored."""
    asked_with: tuple[str, ...]
    """Endpoint and parameters (JSON) of the requests; several entries if they changed between answers."""
    tokens: tuple[int, int]
    """Numbers of input and output tokens, where the endpoint counted them."""
    days: tuple[str, str]
    """Times of the first and the last answer in ISO 8601 format."""


@dataclass(frozen=True, slots=True, eq=False)
class ModelAnswers(ReplySummary):
    """Answers of one model, in the order of the questions."""

    letters: np.ndarray
    """Index of the chosen letter, (questions,) int8: 0 to 3, or -1 for none."""
    right: np.ndarray
    """Correctness, (questions,) int8: 1, 0, or -1 if not scored."""
    lenient: np.ndarray
    """Correctness with lenient parsing, (questions,) int8."""


@dataclass(frozen=True)
class AnswerSheet:
    """Questions, and the answers of each model by name."""

    questions: Sequence[Question]
    models: Mapping[str, ModelAnswers]
    silent: Mapping[str, int] = field(default_factory=dict)
    """Number of questions asked, for each model without any scored answer."""

    @classmethod
    def read(
        cls, questions: Sequence[Question], files: Sequence[Path], annotations: Annotations | None = None
    ) -> AnswerSheet:
        """Read the answers to questions from files and annotators. Raises QuestionError if there are none."""
        index = pl.DataFrame(
            {
                "question": [question.id for question in questions],
                "truth": [question.right for question in questions],
            }
        )
        models: dict[str, ModelAnswers] = {}
        for file in files:
            for (model, style), rows in answers.read(file).group_by("model", "style", maintain_order=True):
                name = f"{model} ({style})" if style else str(model)
                if name in models:
                    raise QuestionError(f"{file}: duplicate answers from {name}")
                models[name] = _match_answers(rows, index)
        for person, choices in ({} if annotations is None else annotations.answers()).items():
            content = [
                {"question": question, "letter": answer.choice, "state": str(AnswerState.ANSWERED)}
                for question, answer in choices.items()
                if answer.choice
            ]
            rows = pl.DataFrame(content, schema=answers.SCHEMA)
            rows = rows.with_columns(pl.col("reason", "text", "endpoint", "parameters", "at").fill_null(""))
            models[f"{HUMAN}{person}"] = _match_answers(rows, index)
        scored = {name: model for name, model in models.items() if (model.right != NONE).any()}
        silent = {name: model.unanswered for name, model in models.items() if name not in scored}
        if not scored:
            raise QuestionError(
                "no question in this folder has an answer; use assay eqa ask or assay eqa annotate"
            )
        return cls(questions, scored, silent)

    @cached_property
    def cells(self) -> list[Cell]:
        """Cells (data set and kind) with questions."""
        cells = {(question.dataset, question.kind) for question in self.questions}
        return sorted(cells, key=lambda cell: (cell[0], list(QuestionKind).index(cell[1])))

    @cached_property
    def cell(self) -> np.ndarray:
        """Index of each question's cell, (questions,)."""
        places = {cell: place for place, cell in enumerate(self.cells)}
        return np.array([places[question.dataset, question.kind] for question in self.questions])

    @cached_property
    def cluster(self) -> np.ndarray:
        """Index of each question's episode, (questions,): questions about one episode are not independent."""
        names = [f"{question.dataset}\0{question.episode}" for question in self.questions]
        return np.asarray(np.unique(names, return_inverse=True)[1])

    @cached_property
    def views(self) -> dict[str, np.ndarray]:
        """Mask of the questions of each view, (questions,)."""
        views = np.array([question.view for question in self.questions])
        return {str(view): views == view for view in sorted(set(views.tolist()))}

    @cached_property
    def moved(self) -> np.ndarray:
        """Whether each question's action involves each dimension, (questions, 7); False at the high level."""
        moved = np.zeros((len(self.questions), SIZE), dtype=bool)
        for row, question in zip(moved, self.questions, strict=True):
            if question.kind.level is not ActionLevel.HIGH and question.actions:
                action = np.asarray(question.actions[0 if question.kind.predicts else question.right])
                if question.kind is not QuestionKind.M_AI:  # whose actions are signs already
                    action = signs(action, question.thresholds)
                row[:] = action != 0
        return moved

    def per_cluster(self, values: np.ndarray) -> np.ndarray:
        """Return the sum of ``values`` (questions,) for each episode."""
        return np.bincount(self.cluster, values, int(self.cluster.max()) + 1)


def _match_answers(rows: pl.DataFrame, index: pl.DataFrame) -> ModelAnswers:
    latest = rows.unique("question", keep="last", maintain_order=True)
    matched = index.join(latest, on="question", how="left", maintain_order="left")
    places = {letter: place for place, letter in enumerate(LETTERS)}
    letters = matched["letter"].replace_strict(places, default=NONE, return_dtype=pl.Int8)
    chosen = np.asarray(letters.fill_null(NONE).to_numpy())
    state, truth = matched["state"], matched["truth"].to_numpy()
    is_scored = state.is_in([AnswerState.ANSWERED, AnswerState.UNPARSED]).fill_null(False).to_numpy()
    right = np.where(is_scored, (chosen == truth).astype(np.int8), np.int8(NONE))
    lenient = right.copy()
    for place in np.flatnonzero((state == AnswerState.UNPARSED).fill_null(False).to_numpy()):
        if matched["reason"][int(place)] == BLOCKED:  # the text is the endpoint's, not the model's
            continue
        letter = parse_leniently(matched["text"][int(place)] or "")
        lenient[place] = bool(letter) and LETTERS.index(letter) == truth[place]
    asked_with = latest.select("endpoint", "parameters").unique(maintain_order=True).rows()
    days = latest.filter(pl.col("at") != "")["at"].sort()
    reasons = Counter(matched.filter(pl.col("state") == AnswerState.UNPARSED)["reason"].to_list())
    return ModelAnswers(
        letters=chosen,
        right=right,
        lenient=lenient,
        unparsed=dict(reasons.most_common()),
        unanswered=int((state == AnswerState.UNANSWERED).sum()),
        strangers=len(latest) - int(state.is_not_null().sum()),
        asked_with=tuple(" ".join(setting).strip() for setting in asked_with if any(setting)),
        tokens=(int(latest["sent"].sum() or 0), int(latest["received"].sum() or 0)),
        days=(days[0], days[-1]) if len(days) else ("", ""),
    )


CHANCE = 1 / len(LETTERS)
PARTS: Mapping[str, tuple[QuestionKind, ...]] = {
    "overall": tuple(QuestionKind),
    **{str(level): tuple(kind for kind in QuestionKind if kind.level is level) for level in ActionLevel},
    "prediction": tuple(kind for kind in QuestionKind if kind.predicts),
    "inference": tuple(kind for kind in QuestionKind if not kind.predicts),
}
"""Kinds of questions that each hierarchical mean covers."""


@dataclass(frozen=True, slots=True)
class Accuracy(Result):
    """Accuracy on one kind and data set."""

    dataset: Annotated[str, Column("data set")]
    kind: Annotated[str, Column("kind")]
    questions: Annotated[int, Column("n", "count")]
    """Number of scored questions."""
    share: Annotated[float, Column("right", "share")]
    """Fraction of correct answers."""
    interval: Annotated[Interval, Column("95 % interval", "share")]
    """Wilson interval, clustered by episode."""


@dataclass(frozen=True, slots=True)
class Mean(Result):
    """A hierarchical mean."""

    share: float
    interval: Interval | None
    """Interval over episodes within data sets; None if there are too few episodes.

    Wilson for means; for differences, Student's t interval, or Newcombe's if both accuracies are 0 or 1.
    """


@dataclass(frozen=True, slots=True)
class Standing(Result):
    """All accuracies of one model."""

    questions: int
    accuracies: tuple[Accuracy, ...]
    means: dict[str, Mean]
    """Means by part: overall, high, mid, low, prediction, inference; only those with questions."""
    asymmetry: dict[str, Mean]
    """Accuracy of inference minus that of prediction: overall, high, mid, low."""

    @property
    def overall(self) -> Mean:
        """Hierarchical mean over all kinds."""
        return self.means["overall"]


def cell_weights(cells: Sequence[Cell], kinds: Sequence[QuestionKind]) -> np.ndarray:
    """Return the weight of each cell in the hierarchical mean over the given kinds, (cells,)."""
    groups = [[place for place, (_, other) in enumerate(cells) if other is kind] for kind in kinds]
    groups = [group for group in groups if group]
    weights = np.zeros(len(cells))
    for group in groups:
        weights[group] = 1 / (len(groups) * len(group))
    return weights


def standing(sheet: AnswerSheet, right: np.ndarray, within: np.ndarray | None = None) -> Standing:
    """Compute accuracies from correctness (questions,): 1, 0, or -1 if unscored; ``within`` masks questions."""
    scored = (right >= 0) if within is None else (right >= 0) & within
    places = np.unique(sheet.cell[scored])
    cells = [sheet.cells[place] for place in places]
    masks = [scored & (sheet.cell == place) for place in places]
    tried = np.stack([sheet.per_cluster(mask) for mask in masks], axis=1)
    hit = np.stack([sheet.per_cluster(mask & (right == 1)) for mask in masks], axis=1)
    used = tried.any(axis=1)
    tried, hit = tried[used], hit[used]  # (episodes, cells)
    datasets = np.array([cells[place][0] for place in tried.argmax(axis=1)])
    accuracies = []
    for (dataset, kind), hits, tries in zip(cells, hit.T, tried.T, strict=True):
        total, asked = float(tries.sum()), tries > 0
        wilson = share_interval(hits[asked], tries[asked], total)
        accuracies.append(Accuracy(dataset, str(kind), int(total), float(hits.sum() / total), wilson))
    shares = np.array([accuracy.share for accuracy in accuracies])

    def episodes(weights: np.ndarray) -> int:
        return int(tried[:, weights != 0].any(axis=1).sum())

    means, asymmetry = {}, {}
    for name, members in PARTS.items():
        weights = cell_weights(cells, members)
        if weights.any():
            share = float(np.average(shares, weights=weights))
            error = mean_error(hit, tried, datasets, weights)
            interval: Interval | None = None
            if error and 0 < share < 1:  # with the effective number of episodes
                interval = wilson_interval(share, share * (1 - share) * (Z / error) ** 2)
            elif (count := episodes(weights)) >= FEWEST:
                interval = wilson_interval(share, count)
            means[name] = Mean(share, interval)
    for name in ("overall", *map(str, ActionLevel)):
        predicted = cell_weights(cells, [kind for kind in PARTS[name] if kind.predicts])
        inferred = cell_weights(cells, [kind for kind in PARTS[name] if not kind.predicts])
        if predicted.any() and inferred.any():
            sides = (
                float(np.average(shares, weights=predicted)),
                float(np.average(shares, weights=inferred)),
            )
            gap, interval = sides[1] - sides[0], None
            error = mean_error(hit, tried, datasets, inferred - predicted)
            if error == 0:  # each side all right, or all wrong
                interval = newcombe(sides, (episodes(predicted), episodes(inferred)), 0.0).interval
            elif error is not None:
                method = "student, over episodes within data sets"
                interval = Interval(max(-1.0, gap - error), min(1.0, gap + error), method)
            asymmetry[name] = Mean(gap, interval)
    return Standing(int(scored.sum()), tuple(accuracies), means, asymmetry)


def mean_error(hit: np.ndarray, tried: np.ndarray, datasets: np.ndarray, weights: np.ndarray) -> float | None:
    """Return the half-width of the interval of ``weights @ shares``, both (cells,); None if episodes are too few.

    ``hit`` and ``tried`` are the numbers of correct answers and of questions, (episodes, cells); ``datasets`` is
    the data set of each episode. The interval is symmetric and linearised. Episodes are sampled within their
    data sets; the degrees of freedom of Student's distribution follow Satterthwaite, so a small data set with the
    weight of a large one contributes few.
    """
    if len(tried) < FEWEST:
        return None
    total = tried.sum(axis=0)
    residual = (hit - hit.sum(axis=0) / total * tried) / total @ weights  # (episodes,)
    asked = (tried @ (weights != 0)) > 0
    variances, freedoms = [], []
    for dataset in np.unique(datasets[asked]):
        own = residual[asked & (datasets == dataset)]
        freedoms.append(max(len(own) - 1, 1))
        variances.append(float(own @ own) * len(own) / freedoms[-1])
    variance = np.array(variances)
    if variance.sum() < 1e-15:
        return 0.0
    freedom = float(variance.sum() ** 2 / (variance**2 / np.array(freedoms)).sum())
    return float(t_quantile((1 + LEVEL) / 2, freedom) * variance.sum() ** 0.5)
