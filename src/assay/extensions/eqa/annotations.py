"""What people say about questions, in one SQLite file: answers, whether to keep them, and kinds of models' mistakes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import yaml

from assay.errors import did_you_mean
from assay.extensions.eqa.errors import QuestionError

FILE = "annotations.sqlite"
"""Its name beside the questions."""
MOST_COMMENT = 2_000
"""Characters."""
MOST_NAME = 60
HAND = "hand"
"""Who marked a mistake: ``hand: NAME``, or ``judge: MODEL``."""
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
VERDICTS = ("keep", "drop")
"""What a reviewer says about a question."""


class Given(NamedTuple):
    """An annotator's answer; the letter is empty where there is only a comment."""

    letter: str
    comment: str


class Mistake(NamedTuple):
    """What kind of mistake a model made, and who says so."""

    model: str
    question: str
    marker: str
    category: str
    note: str


class Review(NamedTuple):
    """What a reviewer says about a question."""

    reviewer: str
    question: str
    verdict: str
    """One of `VERDICTS`; empty where there is only a comment."""
    comment: str


class Annotations:
    """The file. Several may write to it at once. Raises QuestionError if it is none."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._opened() as database:
            database.executescript(_TABLES)

    def answer(self, annotator: str, question: str, letter: str, comment: str = "") -> None:
        """Keep an annotator's answer in place of an earlier one."""
        row = (annotator, question, letter, comment.strip()[:MOST_COMMENT], _now())
        with self._opened() as database:
            database.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?)", row)

    def answers(self, annotator: str) -> dict[str, Given]:
        """An annotator's answers by question."""
        with self._opened() as database:
            rows = database.execute(
                "SELECT question, letter, comment FROM answers WHERE annotator = ?", (annotator,)
            )
            return {question: Given(letter, comment) for question, letter, comment in rows}

    def annotators(self) -> list[str]:
        """Everybody who said anything, by name."""
        with self._opened() as database:
            return [name for (name,) in database.execute("SELECT DISTINCT annotator FROM answers ORDER BY 1")]

    def review_all(self, reviews: Sequence[Review]) -> None:
        """Keep verdicts, all or none, in place of what the same reviewers said before."""
        rows = [(*review[:3], review.comment.strip()[:MOST_COMMENT], _now()) for review in reviews]
        with self._opened() as database:
            database.executemany("INSERT OR REPLACE INTO reviews VALUES (?, ?, ?, ?, ?)", rows)

    def reviews(self) -> list[Review]:
        """Every verdict and comment on questions."""
        with self._opened() as database:
            rows = database.execute("SELECT reviewer, question, verdict, comment FROM reviews ORDER BY 1, 2")
            return [Review(*row) for row in rows]

    def mark(self, mistake: Mistake) -> None:
        """Keep what kind a mistake is in place of what the same marker said before."""
        kept = mistake._replace(note=mistake.note.strip()[:MOST_COMMENT])
        with self._opened() as database:
            database.execute("INSERT OR REPLACE INTO mistakes VALUES (?, ?, ?, ?, ?, ?)", (*kept, _now()))

    def mistakes(self) -> list[Mistake]:
        """Every mark."""
        with self._opened() as database:
            rows = database.execute(
                "SELECT model, question, marker, category, note FROM mistakes ORDER BY 1, 2, 3"
            )
            return [Mistake(*row) for row in rows]

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            database = sqlite3.connect(self.path, timeout=30.0)
            try:
                with database:
                    yield database
            finally:
                database.close()
        except (sqlite3.Error, OSError) as error:
            raise QuestionError(f"{self.path}: not a file of annotations: {error}") from None


def named(annotator: str) -> str:
    """An annotator's name, tidied. Raises QuestionError for what is none."""
    name = " ".join(annotator.split())
    if not name or len(name) > MOST_NAME or not name.isprintable() or "/" in name:
        raise QuestionError(
            f"a name has 1 to {MOST_NAME} characters: letters, digits, blanks, signs that print, but no slash"
        )
    return name


@cache
def categories() -> Mapping[str, Mapping[str, Mapping[str, str]]]:
    """Kinds of mistakes: group -> part of it -> name -> what it means."""
    text = files("assay.extensions.eqa").joinpath("mistakes.yaml").read_text(encoding="utf-8")
    found: Mapping[str, Mapping[str, Mapping[str, str]]] = yaml.safe_load(text)
    return found


def group_of(category: str) -> tuple[str, str]:
    """The group of a kind of mistake, and the part of it. Raises QuestionError for what is none."""
    for group, parts in categories().items():
        for part, members in parts.items():
            if category in members:
                return group, part
    valid = [name for parts in categories().values() for members in parts.values() for name in members]
    raise QuestionError(f"there is no kind of mistake '{category[:60]}': {did_you_mean(category, valid)}")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
