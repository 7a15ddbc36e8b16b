"""Reviews of questions (keep or drop, with a comment), and the reviewed question set."""

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

import numpy as np

from assay.extensions.eqa.annotations import VERDICTS, AnnotatorAgreement, Review, all_agreements
from assay.extensions.eqa.question import BUILD, FOLDER_FILES, PICTURES, Question, QuestionError, save
from assay.support.files import making

CSV_COLUMNS = (
    *("question", "reviewer", "verdict", "comment"),
    *("kind", "data set", "view", "answer", "asked", "options"),
)


@dataclass(frozen=True, slots=True)
class ReviewSummary:
    """Summary of the verdicts on the questions of a folder."""

    verdicts: Mapping[str, Counter[str]]
    """Number of each verdict by reviewer."""
    dropped: Mapping[str, tuple[Review, ...]]
    """Reviews that reject each dropped question."""
    unreviewed: int
    """Number of questions without a verdict, which are kept."""
    agreement: tuple[AnnotatorAgreement, ...]
    """Agreement between all reviewers, and between each pair."""

    @classmethod
    def of(cls, questions: Sequence[Question], reviews: Sequence[Review]) -> ReviewSummary:
        """Summarise verdicts; reviews of questions from other folders are ignored."""
        place = {question.id: number for number, question in enumerate(questions)}
        by_question: dict[str, list[Review]] = {question.id: [] for question in questions}
        verdicts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        marks: dict[str, np.ndarray] = {}
        for review in reviews:
            if review.question in place and review.choice:
                by_question[review.question].append(review)
                verdicts[review.reviewer][review.choice] += 1
                row = marks.setdefault(review.reviewer, np.full(len(questions), -1, np.int8))
                row[place[review.question]] = VERDICTS.index(review.choice)
        dropped = {
            question: against
            for question, own in by_question.items()
            if (against := tuple(review for review in own if review.choice == "drop"))
        }
        return cls(
            dict(sorted(verdicts.items())),
            dropped,
            unreviewed=sum(not own for own in by_question.values()),
            agreement=all_agreements(dict(sorted(marks.items())), len(VERDICTS)),
        )

    def write(self, folder: Path, out: Path, questions: Sequence[Question]) -> Path:
        """Write the kept questions to a new folder, with a version and the list of dropped questions."""
        kept = [question for question in questions if question.id not in self.dropped]
        if not kept:
            raise QuestionError(f"{folder}: no questions are left after the review")
        if not self.verdicts:
            raise QuestionError(f"{folder}: no question has been reviewed; use assay eqa annotate --review")
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
                    raise QuestionError(f"{folder / name}: this image of a question is missing") from None
                except OSError:
                    shutil.copyfile(folder / name, new / name)
            save(new, kept, info)
        return out


def as_csv(questions: Sequence[Question], reviews: Sequence[Review]) -> str:
    """Format reviews as CSV: one row per review, and an empty row for each question without a review."""
    by_question: defaultdict[str, list[Review]] = defaultdict(list)
    for review in reviews:
        by_question[review.question].append(review)
    file = StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for question in questions:
        options = " | ".join(question.options or question.option_pictures)
        shown = (str(question.kind), question.dataset, question.view, question.answer, question.text, options)
        for review in by_question[question.id] or [Review("", question.id)]:
            writer.writerow([question.id, review.reviewer, review.choice, review.comment, *shown])
    return file.getvalue()
