"""Reviews of questions: keep or drop, with a comment, in the web app or a CSV file; and the reviewed question set."""

from __future__ import annotations

import csv
import json
import os
import shutil
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Literal

import numpy as np

from assay.errors import did_you_mean
from assay.extensions.eqa.annotations import (
    VERDICTS,
    Annotations,
    AnnotatorAgreement,
    Review,
    all_agreements,
    normalise_name,
)
from assay.extensions.eqa.question import BUILD, FOLDER_FILES, PICTURES, Question, QuestionError, save
from assay.support.files import making

DropRule = Literal["any", "most"]
"""Rule for dropping a question: if any reviewer, or if the majority, wants to drop it."""
DROP_RULES: tuple[DropRule, ...] = ("any", "most")
READ_COLUMNS = ("question", "reviewer", "verdict", "comment")
SHOWN_COLUMNS = ("kind", "data set", "view", "answer", "asked", "options")
"""Informative columns of a CSV file, which are ignored when it is read."""


@dataclass(frozen=True, slots=True)
class ReviewSummary:
    """Summary of the verdicts on the questions of a folder."""

    questions: int
    verdicts: Mapping[str, Counter[str]]
    """Number of each verdict by reviewer."""
    dropped: Mapping[str, tuple[Review, ...]]
    """Reviews against each dropped question."""
    unreviewed: int
    """Number of questions without a verdict, which are kept."""
    agreement: tuple[AnnotatorAgreement, ...]
    """Agreement of all reviewers, and of each pair."""

    @classmethod
    def of(
        cls, questions: Sequence[Question], reviews: Sequence[Review], rule: DropRule = "any"
    ) -> ReviewSummary:
        """Summarise verdicts; reviews of questions from other folders are ignored."""
        place = {question.id: number for number, question in enumerate(questions)}
        by_question: dict[str, list[Review]] = {question.id: [] for question in questions}
        verdicts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        marks: dict[str, np.ndarray] = {}
        for review in reviews:
            if review.question in place and review.verdict:
                by_question[review.question].append(review)
                verdicts[review.reviewer][review.verdict] += 1
                row = marks.setdefault(review.reviewer, np.full(len(questions), -1, np.int8))
                row[place[review.question]] = VERDICTS.index(review.verdict)
        dropped = {}
        for question, own in by_question.items():
            against = tuple(review for review in own if review.verdict == "drop")
            if len(against) >= (1 if rule == "any" else len(own) // 2 + 1):
                dropped[question] = against
        return cls(
            len(questions),
            dict(sorted(verdicts.items())),
            dropped,
            unreviewed=sum(not own for own in by_question.values()),
            agreement=all_agreements(dict(sorted(marks.items())), len(VERDICTS)),
        )

    def write(self, folder: Path, out: Path, questions: Sequence[Question]) -> Path:
        """Write the kept questions to a new folder, with a version and the list of dropped questions."""
        kept = [question for question in questions if question.id not in self.dropped]
        if not kept:
            raise QuestionError(f"{folder}: no question is left after review")
        if not self.verdicts:
            raise QuestionError(
                f"{folder}: none of its questions has a review; use assay eqa annotate --review"
            )
        try:
            info = json.loads((folder / BUILD).read_text(encoding="utf-8"))
            if not isinstance(info, dict) or not isinstance(info.get("review", {}), dict):
                raise ValueError("not written by assay eqa build")
            version = int(info.get("review", {}).get("version", 0)) + 1
        except FileNotFoundError:
            info, version = {}, 1
        except (OSError, ValueError, TypeError, RecursionError) as error:
            raise QuestionError(f"{folder / BUILD}: cannot be read: {str(error)[:100]}") from None
        kinds = {question.id: str(question.kind) for question in questions}
        info["review"] = {
            "version": version,
            "of": info.pop("hash", ""),
            "kept": len(kept),
            "dropped": [
                {
                    "question": question,
                    "kind": kinds[question],
                    "by": {review.reviewer: review.comment for review in against},
                }
                for question, against in self.dropped.items()
            ],
            "unreviewed": self.unreviewed,
            "reviewers": {name: dict(counts) for name, counts in self.verdicts.items()},
            "agreement": [result.as_json() for result in self.agreement[:1]],
        }
        with making(out, ours=set(FOLDER_FILES)) as new:
            (new / PICTURES).mkdir(parents=True)
            for name in {
                file for question in kept for file in (*question.pictures, *question.option_pictures)
            }:
                try:
                    os.link(folder / name, new / name)  # takes no disk space
                except FileNotFoundError:
                    raise QuestionError(f"{folder / name}: a question's picture is missing") from None
                except OSError:
                    shutil.copyfile(folder / name, new / name)
            save(new, kept, info)
        return out


def as_csv(questions: Sequence[Question], reviews: Sequence[Review], reviewer: str = "") -> str:
    """Format one row for each review, and an empty row for each question without a review.

    With a ``reviewer``, only that person's reviews are included, and empty rows are for that person.
    """
    by_question: defaultdict[str, list[Review]] = defaultdict(list)
    for review in reviews:
        if not reviewer or review.reviewer == reviewer:
            by_question[review.question].append(review)
    file = StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(READ_COLUMNS + SHOWN_COLUMNS)
    for question in questions:
        options = " | ".join(question.options or question.option_pictures)
        shown = (str(question.kind), question.dataset, question.view, question.answer, question.text, options)
        for review in by_question[question.id] or [Review(reviewer, question.id)]:
            writer.writerow([question.id, review.reviewer, review.verdict, review.comment, *shown])
    return file.getvalue()


def read_csv(path: Path, questions: Sequence[Question], annotations: Annotations, reviewer: str = "") -> int:
    """Store the reviews of a CSV file in one transaction; returns their number.

    ``reviewer`` applies to rows without a name. Rows with neither a verdict nor a comment are skipped. Raises
    QuestionError with the line number of an invalid row.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            rows = [(reader.reader.line_num, row) for row in reader]
    except csv.Error as error:
        raise QuestionError(f"{path}:{reader.reader.line_num}: not a CSV file: {error}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise QuestionError(f"{path}: not a CSV file: {error}") from None
    ids = {question.id for question in questions}
    reviews = []
    for number, row in rows:
        where = f"{path}:{number}"
        if lacking := [name for name in READ_COLUMNS if row.get(name) is None]:
            raise QuestionError(
                f"{where}: no column, or value, '{lacking[0]}'; needed: {', '.join(READ_COLUMNS)}"
            )
        question, name, verdict, comment = (row[column].strip() for column in READ_COLUMNS)
        verdict = verdict.lower()
        if not verdict and not comment:
            continue
        if question not in ids:
            raise QuestionError(f"{where}: there is no question '{question[:40]}' in this folder")
        if verdict not in (*VERDICTS, ""):
            raise QuestionError(f"{where}: no verdict '{verdict[:40]}': {did_you_mean(verdict, VERDICTS)}")
        try:
            reviews.append(Review(normalise_name(name or reviewer), question, verdict, comment))
        except QuestionError as error:
            raise QuestionError(f"{where}: reviewer: {error}") from None
    annotations.review_all(reviews)
    return len(reviews)
