"""Questions and the answers of models and people, as arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from assay.extensions.eqa.actions import SIZE, ActionLevel, signs
from assay.extensions.eqa.annotations import Annotations
from assay.extensions.eqa.asking import answers
from assay.extensions.eqa.asking.answers import BLOCKED, AnswerState, parse_leniently
from assay.extensions.eqa.question import LETTERS, Question, QuestionError, QuestionKind
from assay.measures.result import Result

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
        """Read the answers to questions from files and annotators. Raises QuestionError if none exist."""
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
                "no question of this folder has an answer; use assay eqa ask or assay eqa annotate"
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
        """Return the sums of values (questions,) over each episode."""
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
