"""Questions and who answered them how, as arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from assay.extensions.eqa.actions import SIZE, Level, signs
from assay.extensions.eqa.annotations import Annotations
from assay.extensions.eqa.asking import answers
from assay.extensions.eqa.asking.answers import State
from assay.extensions.eqa.asking.parsing import BLOCKED, lenient
from assay.extensions.eqa.errors import QuestionError
from assay.extensions.eqa.question import LETTERS, Kind, Question
from assay.extensions.eqa.scoring.means import Cell

NONE = -1
"""Stands for a letter, or a verdict, that there is not."""
HUMAN = "human: "
"""Before an annotator's name, where models have theirs."""


DIMENSIONS = (
    *(f"translation {axis}" for axis in "XYZ"),
    *(f"rotation {axis}" for axis in "XYZ"),
    "gripper",
)
COMPONENTS = {"translation": slice(0, 3), "rotation": slice(3, 6), "gripper": slice(6, 7)}
"""Of an action (7,)."""


@dataclass(frozen=True, slots=True, eq=False)
class Given:
    """One model's answers to the questions of a sheet, in their order."""

    letters: np.ndarray
    """(questions,) int8: 0 to 3, or -1."""
    right: np.ndarray
    """(questions,) int8: 1, 0, or -1 where it does not count."""
    lenient: np.ndarray
    """The same, where the form of an answer is forgiven."""
    unparsed: Mapping[str, int]
    """Why an answer is none -> how often; these are wrong."""
    unanswered: int
    """Questions that were asked in vain; they do not count."""
    strangers: int = 0
    """Answers to questions of other folders."""
    asked_with: tuple[str, ...] = ()
    """Endpoints, and parameters as JSON, that answers were asked with; several where they differ."""
    tokens: tuple[int, int] = (0, 0)
    """Sent and received, as far as they were counted."""
    days: tuple[str, str] = ("", "")
    """When the first and the last answer came, ISO 8601."""


@dataclass(frozen=True)
class Sheet:
    """The questions, and each model's answers by its name."""

    questions: Sequence[Question]
    models: Mapping[str, Given]
    silent: Mapping[str, int] = field(default_factory=dict)
    """Models of which no answer counts, and how many questions they were asked in vain."""

    @cached_property
    def cells(self) -> list[Cell]:
        """Every data set and kind that there is."""
        there = {(question.dataset, question.kind) for question in self.questions}
        return sorted(there, key=lambda cell: (cell[0], list(Kind).index(cell[1])))

    @cached_property
    def cell(self) -> np.ndarray:
        """The place of each question's cell, (questions,)."""
        places = {cell: place for place, cell in enumerate(self.cells)}
        return np.array([places[question.dataset, question.kind] for question in self.questions])

    @cached_property
    def cluster(self) -> np.ndarray:
        """The number of each question's episode, (questions,): what is asked about one is not independent."""
        names = [f"{question.dataset}\0{question.episode}" for question in self.questions]
        return np.asarray(np.unique(names, return_inverse=True)[1])

    @cached_property
    def views(self) -> dict[str, np.ndarray]:
        """Which questions are of each view, (questions,)."""
        views = np.array([question.view for question in self.questions])
        return {str(view): views == view for view in sorted(set(views.tolist()))}

    @cached_property
    def truth(self) -> np.ndarray:
        """The place of each right option, (questions,)."""
        return np.array([question.right for question in self.questions], dtype=np.int8)

    @cached_property
    def item(self) -> np.ndarray:
        """The number of each question's item, (questions,): the same for every view of it."""
        return np.asarray(np.unique([question.item for question in self.questions], return_inverse=True)[1])

    @cached_property
    def level(self) -> np.ndarray:
        """Each question's level, (questions,)."""
        return np.array([str(question.kind.level) for question in self.questions])

    @cached_property
    def moved(self) -> np.ndarray:
        """Whether each question's action has each dimension, (questions, 7); none at the high level."""
        return np.array([_moved(question) for question in self.questions])

    @cached_property
    def has(self) -> np.ndarray:
        """Whether each question's action has each component, (questions, 3); none at the high level."""
        return np.stack([self.moved[:, part].any(axis=1) for part in COMPONENTS.values()], axis=1)

    @cached_property
    def both_directions(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """At each level, predictions and inferences of the same moments in the same view: (pairs,) each."""
        found = {}
        for level in Level:
            places: tuple[dict[object, int], dict[object, int]] = ({}, {})
            for place, question in enumerate(self.questions):
                if question.kind.level is level:
                    places[not question.kind.predicts].setdefault(_moments(question), place)
            both = [moment for moment in places[0] if moment in places[1]]
            forward, backward = (np.array([place[moment] for moment in both], dtype=int) for place in places)
            found[str(level)] = forward, backward
        return found

    def per_cluster(self, values: np.ndarray) -> np.ndarray:
        """Sums of values (questions,) over each episode."""
        return np.bincount(self.cluster, values, int(self.cluster.max()) + 1)


def sheet(
    questions: Sequence[Question], files: Sequence[Path], annotations: Annotations | None = None
) -> Sheet:
    """Questions with the answers of files, and of people. Raises QuestionError if nobody answered any."""
    index = pl.DataFrame(
        {
            "question": [question.id for question in questions],
            "place": range(len(questions)),
            "truth": [question.right for question in questions],
        }
    )
    models: dict[str, Given] = {}
    for file in files:
        for (model, style), rows in answers.read(file).group_by("model", "style", maintain_order=True):
            name = f"{model} ({style})" if style else str(model)
            if name in models:
                raise QuestionError(f"{file}: answers of {name} are given twice")
            models[name] = _given(rows, index)
    people = (
        {}
        if annotations is None
        else {person: annotations.answers(person) for person in annotations.annotators()}
    )
    for person, said in people.items():
        given = {question: each for question, each in said.items() if each.letter}
        rows = pl.DataFrame(
            {
                "question": list(given),
                "letter": [each.letter for each in given.values()],
                "state": [str(State.ANSWERED)] * len(given),
            },
            schema=dict.fromkeys(("question", "letter", "state"), pl.String),
        )
        rows = rows.with_columns(
            pl.lit("").alias(name) for name in ("reason", "text", "endpoint", "parameters", "at")
        )
        rows = rows.with_columns(pl.lit(None, pl.Int64).alias(name) for name in ("sent", "received"))
        models[f"{HUMAN}{person}"] = _given(rows, index)
    counted = {name: model for name, model in models.items() if (model.right != NONE).any()}
    silent = {name: model.unanswered for name, model in models.items() if name not in counted}
    if not counted:
        raise QuestionError("nobody answered any of these questions")
    return Sheet(questions, counted, silent)


def _moved(question: Question) -> np.ndarray:
    if question.kind.level is Level.HIGH or not question.actions:
        return np.zeros(SIZE, dtype=bool)
    moved = np.asarray(question.actions[0 if question.kind.predicts else question.right])
    if question.kind is not Kind.M_AI:  # whose actions are signs already
        moved = signs(moved, question.thresholds)
    return np.asarray(moved != 0)


def _moments(question: Question) -> tuple[str, ...]:
    """Before and after, as they were."""
    end = question.moments[1 + question.right] if question.kind.predicts else question.moments[1]
    return question.dataset, question.view, question.moments[0], end


def _given(rows: pl.DataFrame, index: pl.DataFrame) -> Given:
    known = rows.unique("question", keep="last", maintain_order=True)
    mine = index.join(known, on="question", how="left", maintain_order="left")
    chosen = _places(mine["letter"])
    state = mine["state"]
    counts = state.is_in([State.ANSWERED, State.UNPARSED]).fill_null(False).to_numpy()
    right = np.where(counts, (chosen == mine["truth"].to_numpy()).astype(np.int8), np.int8(NONE))
    truth = mine["truth"].to_numpy()
    forgiven = right.copy()
    for place in np.flatnonzero((state == State.UNPARSED).fill_null(False).to_numpy()):
        if mine["reason"][int(place)] == BLOCKED:  # its text is the endpoint's, not the model's
            continue
        meant = lenient(mine["text"][int(place)] or "")
        forgiven[place] = bool(meant) and LETTERS.index(meant) == truth[place]
    asked_with = known.select("endpoint", "parameters").unique(maintain_order=True).rows()
    days = known.filter(pl.col("at") != "")["at"].sort()
    reasons = Counter(mine.filter(pl.col("state") == State.UNPARSED)["reason"].to_list())
    return Given(
        chosen,
        right,
        forgiven,
        dict(reasons.most_common()),
        int((state == State.UNANSWERED).sum()),
        len(known) - int(state.is_not_null().sum()),
        tuple(" ".join(each).strip() for each in asked_with if any(each)),
        (int(known["sent"].sum() or 0), int(known["received"].sum() or 0)),
        (days[0], days[-1]) if len(days) else ("", ""),
    )


def _places(letters: pl.Series) -> np.ndarray:
    """Places of letters, -1 for anything else, (questions,) int8."""
    found = letters.replace_strict(
        {letter: place for place, letter in enumerate(LETTERS)}, default=NONE, return_dtype=pl.Int8
    )
    return np.asarray(found.fill_null(NONE).to_numpy())
