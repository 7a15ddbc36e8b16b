"""Review of questions: keep or drop each, with a comment, in the web app or in a CSV file; and the set that is left."""

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
from assay.extensions.eqa.annotations import VERDICTS, Annotations, Review, named
from assay.extensions.eqa.errors import QuestionError
from assay.extensions.eqa.question import BUILD, METADATA, PICTURES, QUESTIONS, Question, save
from assay.extensions.eqa.scoring.agreement import Agreement, agreements
from assay.support.files import making

Rule = Literal["any", "most"]
"""Whether a question is dropped if any reviewer wants that, or if more want it than do not."""
RULES: tuple[Rule, ...] = ("any", "most")
COLUMNS = (
    "question",
    "reviewer",
    "verdict",
    "comment",
    "kind",
    "data set",
    "view",
    "answer",
    "asked",
    "options",
)
"""Of a CSV file; the first four are read."""


@dataclass(frozen=True, slots=True)
class Reviewed:
    """What reviewers say about the questions of a folder."""

    questions: int
    verdicts: Mapping[str, Counter[str]]
    """Reviewer -> keep, drop -> how often."""
    dropped: Mapping[str, tuple[Review, ...]]
    """Questions that are dropped -> who said so."""
    unreviewed: int
    """Questions without a verdict: they are kept."""
    agreement: tuple[Agreement, ...]
    """Of all reviewers, and of every two."""


def reviewed(questions: Sequence[Question], reviews: Sequence[Review], rule: Rule = "any") -> Reviewed:
    """What reviewers say; reviews of other questions are left out."""
    known = {question.id for question in questions}
    of: defaultdict[str, list[Review]] = defaultdict(list)
    verdicts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for each in reviews:
        if each.question in known and each.verdict:
            of[each.question].append(each)
            verdicts[each.reviewer][each.verdict] += 1
    against = {
        question.id: tuple(each for each in of[question.id] if each.verdict == "drop")
        for question in questions
        if question.id in of
    }
    least = {question: 1 if rule == "any" else len(of[question]) // 2 + 1 for question in against}
    place = {question.id: number for number, question in enumerate(questions)}
    marks = {reviewer: np.full(len(questions), -1, np.int8) for reviewer in sorted(verdicts)}
    for each in (review for some in of.values() for review in some):
        marks[each.reviewer][place[each.question]] = VERDICTS.index(each.verdict)
    return Reviewed(
        len(questions),
        dict(sorted(verdicts.items())),
        {question: found for question, found in against.items() if len(found) >= least[question]},
        len(questions) - len(of),
        agreements(marks, len(VERDICTS)),
    )


def write_reviewed(folder: Path, out: Path, questions: Sequence[Question], found: Reviewed) -> Path:
    """Make a new folder of the questions that are kept; it has a version, and says what was dropped and why."""
    kept = [question for question in questions if question.id not in found.dropped]
    if not kept:
        raise QuestionError(f"{folder}: no question is left after review")
    if not found.verdicts:
        raise QuestionError(
            f"{folder}: nobody has reviewed any of its questions; assay eqa annotate --review"
        )
    try:
        told = json.loads((folder / BUILD).read_text(encoding="utf-8"))
        if not isinstance(told, dict) or not isinstance(told.get("review", {}), dict):
            raise ValueError("not what assay eqa build writes")
        version = int(told.get("review", {}).get("version", 0)) + 1
    except FileNotFoundError:
        told, version = {}, 1
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise QuestionError(f"{folder / BUILD}: cannot be read: {str(error)[:100]}") from None
    kinds = {question.id: str(question.kind) for question in questions}
    told["review"] = {
        "version": version,
        "of": told.pop("hash", ""),
        "kept": len(kept),
        "dropped": [
            {
                "question": question,
                "kind": kinds[question],
                "by": {each.reviewer: each.comment for each in who},
            }
            for question, who in found.dropped.items()
        ],
        "unreviewed": found.unreviewed,
        "reviewers": {name: dict(counts) for name, counts in found.verdicts.items()},
        "agreement": [each.as_json() for each in found.agreement[:1]],
    }
    with making(out, ours={QUESTIONS, METADATA, BUILD, PICTURES}) as unfinished:
        (unfinished / PICTURES).mkdir(parents=True)
        for name in {file for each in kept for file in (*each.pictures, *each.option_pictures)}:
            _linked(folder / name, unfinished / name)
        save(unfinished, kept, told)
    return out


def as_csv(questions: Sequence[Question], reviews: Sequence[Review], reviewer: str = "") -> str:
    """Every verdict on a line, and a line to be filled in for each question that a reviewer has not looked at.

    Without a reviewer's name, lines to be filled in are for nobody in particular: those of questions without a verdict.
    """
    said: defaultdict[str, list[Review]] = defaultdict(list)
    for review in reviews:
        if not reviewer or review.reviewer == reviewer:
            said[review.question].append(review)
    file = StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    for question in questions:
        about = (
            str(question.kind),
            question.dataset,
            question.view,
            question.answer,
            question.text,
            " | ".join(question.options or question.option_pictures),
        )
        for review in said[question.id] or [Review(reviewer, question.id, "", "")]:
            writer.writerow([question.id, review.reviewer, review.verdict, review.comment, *about])
    return file.getvalue()


def read_csv(path: Path, questions: Sequence[Question], annotations: Annotations, reviewer: str = "") -> int:
    """Keep the verdicts and comments of a CSV file, all or none; returns how many.

    ``reviewer`` is who said so where a line names nobody.

    Lines without a verdict and a comment are passed over. Raises QuestionError, with the line, for what makes no sense.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            rows = [(reader.reader.line_num, row) for row in reader]
    except csv.Error as error:
        raise QuestionError(f"{path}:{reader.reader.line_num}: not a CSV file: {error}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise QuestionError(f"{path}: not a CSV file: {error}") from None
    known = [question.id for question in questions]
    found = []
    for number, row in rows:
        where = f"{path}:{number}"
        lacking = [name for name in COLUMNS[:4] if row.get(name) is None]
        if lacking:
            raise QuestionError(
                f"{where}: no column, or value, '{lacking[0]}'; needed: {', '.join(COLUMNS[:4])}"
            )
        question, who, verdict, comment = (row[name].strip() for name in COLUMNS[:4])
        if not verdict and not comment:
            continue
        if question not in known:
            raise QuestionError(f"{where}: there is no question '{question[:40]}' in this folder")
        if verdict.lower() not in (*VERDICTS, ""):
            raise QuestionError(
                f"{where}: no verdict '{verdict[:40]}': {did_you_mean(verdict.lower(), VERDICTS)}"
            )
        try:
            name = named(who or reviewer)
        except QuestionError as error:
            raise QuestionError(f"{where}: reviewer: {error}") from None
        found.append(Review(name, question, verdict.lower(), comment))
    annotations.review_all(found)
    return len(found)


def _linked(source: Path, target: Path) -> None:
    """The same file at another place, without taking up room where the disk allows that."""
    try:
        os.link(source, target)
    except FileNotFoundError:
        raise QuestionError(f"{source}: a question's picture is missing") from None
    except OSError:
        shutil.copyfile(source, target)
