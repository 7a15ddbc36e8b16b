"""Reviews of questions (keep or drop, with a comment), and the reviewed question set."""

from __future__ import annotations

import csv
import json
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import numpy as np

from assay.extensions.eqa.annotations import (
    VERDICTS,
    AnnotatorAgreement,
    ByPerson,
    HumanChoice,
    all_agreements,
)
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
