"""Human annotations (answers, reviews, error categories) in one SQLite file, agreement, and reviewed question sets."""

from __future__ import annotations

import csv
import json
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from io import StringIO
from itertools import combinations
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import yaml

from assay.errors import did_you_mean
from assay.extensions.eqa.question import (
    BUILD,
    FOLDER_FILES,
    LETTERS,
    PICTURES,
    Question,
    QuestionError,
    save,
)
from assay.measures.result import MeasureError, Result
from assay.measures.views.table import Column
from assay.support.files import making
from assay.support.stats.intervals import Interval
from assay.support.stats.resampling import bootstrap
from assay.support.stats.significance import gwet_ac1, kappa

FILE = "annotations.sqlite"
"""Name of the annotation file in the folder of questions."""
MAX_COMMENT = 2_000
"""Maximum length of a comment, in characters."""
MAX_NAME = 60
HAND = "hand"
"""Prefix of `Mistake.marker` for a person (``hand: NAME``); a judge model has the marker ``judge: MODEL``."""
VERDICTS = ("keep", "drop")
_TABLES = """
CREATE TABLE IF NOT EXISTS answers (
    annotator TEXT NOT NULL, question TEXT NOT NULL, letter TEXT NOT NULL, comment TEXT NOT NULL,
    at TEXT NOT NULL, PRIMARY KEY (annotator, question));
CREATE TABLE IF NOT EXISTS mistakes (
    model TEXT NOT NULL, question TEXT NOT NULL, marker TEXT NOT NULL, category TEXT NOT NULL,
    note TEXT NOT NULL, at TEXT NOT NULL, PRIMARY KEY (model, question, marker));
CREATE TABLE IF NOT EXISTS reviews (
    reviewer TEXT NOT NULL, question TEXT NOT NULL, verdict TEXT NOT NULL, comment TEXT NOT NULL,
    at TEXT NOT NULL, PRIMARY KEY (reviewer, question));
"""


class HumanChoice(NamedTuple):
    """A person's answer to a question, or verdict on it."""

    choice: str = ""
    """Letter of the answer, or one of `VERDICTS`; empty if there is only a comment."""
    comment: str = ""


ByPerson = Mapping[str, Mapping[str, HumanChoice]]
"""Answers or verdicts: name of the person -> id of the question -> choice."""


class Mistake(NamedTuple):
    """Error category of a model's wrong answer."""

    model: str
    question: str
    """Id of the question."""
    marker: str
    """Person or model that assigned the category: ``hand: NAME`` or ``judge: MODEL``."""
    category: str
    note: str


class Annotations:
    """The annotation file; several processes may write to it. Raises QuestionError if the file is invalid."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._connect() as database:
            database.executescript(_TABLES)

    def answer(self, annotator: str, question: str, letter: str, comment: str = "") -> None:
        """Store an annotator's answer, replacing any earlier answer."""
        self._write("answers", annotator, question, letter, comment)

    def answers(self) -> ByPerson:
        """Return all answers."""
        return self._choices("SELECT annotator, question, letter, comment FROM answers ORDER BY 1, rowid")

    def review(self, reviewer: str, question: str, verdict: str, comment: str = "") -> None:
        """Store a reviewer's verdict, replacing any earlier verdict."""
        self._write("reviews", reviewer, question, verdict, comment)

    def reviews(self) -> ByPerson:
        """Return all verdicts of reviewers."""
        return self._choices("SELECT reviewer, question, verdict, comment FROM reviews ORDER BY 1, 2")

    def mark(self, mistake: Mistake) -> None:
        """Store the category of a mistake, replacing any earlier category from the same person or judge."""
        self._write("mistakes", *mistake)

    def mistakes(self) -> list[Mistake]:
        """Return all categorised mistakes."""
        rows = self._read("SELECT model, question, marker, category, note FROM mistakes ORDER BY 1, 2, 3")
        return [Mistake(*row) for row in rows]

    def _choices(self, sql: str) -> ByPerson:
        choices: dict[str, dict[str, HumanChoice]] = {}
        for person, question, *choice in self._read(sql):
            choices.setdefault(person, {})[question] = HumanChoice(*choice)
        return choices

    def _read(self, sql: str) -> list[tuple[str, ...]]:
        with self._connect() as database:
            return database.execute(sql).fetchall()

    def _write(self, table: str, *values: str) -> None:
        """Insert or replace a row whose last value is a comment."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        row = (*values[:-1], values[-1].strip()[:MAX_COMMENT], now)
        with self._connect() as database:
            database.execute(f"INSERT OR REPLACE INTO {table} VALUES ({', '.join('?' * len(row))})", row)

    @contextmanager
    def _connect(self) -> Iterator[sqlite3.Connection]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            database = sqlite3.connect(self.path, timeout=30.0)
            try:
                with database:
                    yield database
            finally:
                database.close()
        except (sqlite3.Error, OSError) as error:
            raise QuestionError(f"{self.path}: not an annotation file: {error}") from None


def normalise_name(name: str) -> str:
    """Return an annotator's name without superfluous spaces. Raises QuestionError if the name is invalid."""
    name = " ".join(name.split())
    if not name or len(name) > MAX_NAME or not name.isprintable() or "/" in name:
        raise QuestionError(f"expected a name of 1 to {MAX_NAME} printable characters without a slash")
    return name


class ErrorCategory(NamedTuple):
    """A category of ActionEQA's error taxonomy."""

    group: str
    """Top tier of the taxonomy: perceptual grounding or reasoning."""
    part: str
    """Middle tier of the taxonomy, for example negative hallucination."""
    meaning: str


@cache
def error_categories() -> Mapping[str, ErrorCategory]:
    """Return all error categories by name."""
    text = files("assay.extensions.eqa").joinpath("mistakes.yaml").read_text(encoding="utf-8")
    return {
        name: ErrorCategory(group, part, meaning)
        for group, parts in yaml.safe_load(text).items()
        for part, members in parts.items()
        for name, meaning in members.items()
    }


def find_category(name: str) -> ErrorCategory:
    """Return an error category. Raises QuestionError if it is unknown."""
    categories = error_categories()
    if name not in categories:
        raise QuestionError(f"unknown error category '{name[:60]}': {did_you_mean(name, categories)}")
    return categories[name]


@dataclass(frozen=True, slots=True)
class AnnotatorAgreement(Result):
    """Agreement between annotators on the questions that at least two of them answered."""

    annotators: tuple[str, ...]
    items: Annotated[int, Column("n", "count")]
    """Number of questions answered by at least two annotators."""
    observed: Annotated[float, Column("agreement", "share")]
    """Fraction of agreeing pairs among all pairs of answers to the same question."""
    interval: Annotated[Interval | None, Column("95 % interval", "share")]
    """Bootstrap interval of ``observed`` over questions; None if there are too few questions."""
    even_kappa: Annotated[float, Column("kappa, chance 1/4", "number")]
    """Kappa with uniform chance agreement: 1/4 for four letters."""
    kappa: Annotated[float | None, Column("Cohen's kappa", "number")]
    """Cohen's kappa, mean over all pairs of annotators; None if undefined."""
    ac1: Annotated[float | None, Column("Gwet's AC1", "number")]
    """Gwet's AC1; None if only one question has several answers.

    Chance agreement is estimated from all answers, including those to questions with a single annotator.
    """
    ac1_interval: tuple[float, float] | None


def agreement(letters: Mapping[str, np.ndarray], classes: int = len(LETTERS)) -> AnnotatorAgreement:
    """Compute the agreement between annotators; ``letters`` maps annotators to answers (questions,).

    An answer is an index from 0 to ``classes`` - 1, or -1 if it is missing.

    Raises MeasureError if no question has two answers.
    """
    rated = np.stack(list(letters.values()), axis=1).astype(np.int64)  # (questions, annotators)
    ratings = rated[(rated >= 0).sum(axis=1) > 1]
    if not len(ratings):
        raise MeasureError("agreement: no question was answered by at least two annotators")
    counts = np.stack([(ratings == label).sum(axis=1) for label in range(classes)], axis=1)
    raters = counts.sum(axis=1)
    same, all_pairs = (counts * (counts - 1)).sum(axis=1) / 2, raters * (raters - 1) / 2
    observed = float(same.sum() / all_pairs.sum())
    kappas = []
    for one, other in combinations(ratings.T, 2):
        both = (one >= 0) & (other >= 0)
        shares = [np.bincount(rater[both], minlength=classes) / max(both.sum(), 1) for rater in (one, other)]
        chance = float(shares[0] @ shares[1])
        if both.any() and chance < 1:
            kappas.append(kappa(float((one == other)[both].mean()), chance))
    ac1, low, high = gwet_ac1(rated, classes, 0.95) if len(ratings) > 1 else (None, 0.0, 0.0)
    return AnnotatorAgreement(
        annotators=tuple(letters),
        items=len(ratings),
        observed=observed,
        interval=bootstrap(np.stack([same, all_pairs], axis=1), lambda sums: sums[:, 0] / sums[:, 1]),
        even_kappa=kappa(observed, 1 / classes),
        kappa=float(np.mean(kappas)) if kappas else None,
        ac1=ac1,
        ac1_interval=None if ac1 is None else (low, high),
    )


def all_agreements(
    letters: Mapping[str, np.ndarray], classes: int = len(LETTERS)
) -> tuple[AnnotatorAgreement, ...]:
    """Compute the agreement between all annotators and, if there are three or more, between each pair of them."""
    pairs = [dict(pair) for pair in combinations(letters.items(), 2)]
    results = []
    for group in [letters, *pairs] if len(pairs) > 1 else pairs:
        with suppress(MeasureError):
            results.append(agreement(group, classes))
    return tuple(results)


CSV_COLUMNS = (
    *("question", "reviewer", "verdict", "comment"),
    *("kind", "data set", "view", "answer", "asked", "options"),
)


@dataclass(frozen=True, slots=True)
class ReviewSummary:
    """Summary of the verdicts on the questions in a folder."""

    verdicts: Mapping[str, Counter[str]]
    """Number of each verdict by reviewer."""
    dropped: Mapping[str, Mapping[str, str]]
    """Comments of the reviewers who dropped a question: question -> reviewer -> comment."""
    unreviewed: int
    """Number of questions without a verdict, which are kept."""
    agreement: tuple[AnnotatorAgreement, ...]
    """Agreement between all reviewers, and between each pair."""

    @classmethod
    def of(cls, questions: Sequence[Question], reviews: ByPerson) -> ReviewSummary:
        """Summarise verdicts; reviews of questions from other folders are ignored."""
        choices = {
            reviewer: [own.get(question.id, HumanChoice()) for question in questions]
            for reviewer, own in sorted(reviews.items())
        }
        choices = {reviewer: own for reviewer, own in choices.items() if any(choice for choice, _ in own)}
        marks = {
            reviewer: np.array([VERDICTS.index(choice) if choice else -1 for choice, _ in own])
            for reviewer, own in choices.items()
        }
        dropped = {}
        for place, question in enumerate(questions):
            against = {
                name: own[place].comment for name, own in choices.items() if own[place].choice == "drop"
            }
            if against:
                dropped[question.id] = against
        return cls(
            verdicts={name: Counter(choice for choice, _ in own if choice) for name, own in choices.items()},
            dropped=dropped,
            unreviewed=sum(all(row[place] < 0 for row in marks.values()) for place in range(len(questions))),
            agreement=all_agreements(marks, len(VERDICTS)),
        )

    def write(self, folder: Path, out: Path, questions: Sequence[Question]) -> Path:
        """Write the kept questions to a new folder, with a version and the list of dropped questions."""
        kept = [question for question in questions if question.id not in self.dropped]
        if not kept:
            raise QuestionError(f"{folder}: no questions are left after the review")
        if not self.verdicts:
            raise QuestionError(f"{folder}: no question has been reviewed; use assay eqa annotate --review")
        build_file = folder / BUILD
        info = json.loads(build_file.read_text(encoding="utf-8")) if build_file.exists() else {}
        info["review"] = {
            "version": info.get("review", {}).get("version", 0) + 1,
            "of": info.pop("hash", ""),
            "kept": len(kept),
            "dropped": [
                {"question": question.id, "kind": str(question.kind), "by": self.dropped[question.id]}
                for question in questions
                if question.id in self.dropped
            ],
            "unreviewed": self.unreviewed,
            "reviewers": {name: dict(counts) for name, counts in self.verdicts.items()},
            "agreement": [result.as_json() for result in self.agreement[:1]],
        }
        with making(out, ours=set(FOLDER_FILES)) as new:
            (new / PICTURES).mkdir(parents=True)
            for name in {name for question in kept for name in question.images}:
                try:
                    shutil.copyfile(folder / name, new / name)
                except OSError as error:
                    raise QuestionError(f"{folder / name}: the image cannot be copied: {error}") from None
            save(new, kept, info)
        return out


def as_csv(questions: Sequence[Question], reviews: ByPerson) -> str:
    """Format reviews as CSV: one row per review, and an empty row for each question without a review."""
    file = StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for question in questions:
        options = " | ".join(question.options or question.option_pictures)
        shown = (str(question.kind), question.dataset, question.view, question.answer, question.text, options)
        own = [
            (reviewer, *choices[question.id])
            for reviewer, choices in reviews.items()
            if question.id in choices
        ]
        writer.writerows((question.id, *review, *shown) for review in own or [("", "", "")])
    return file.getvalue()
