"""Imports question sets from JSON lines: one question per line, with the fields that the ActionEQA paper describes.

Field names differ between releases, so each field has aliases (`FIELDS`). Level, direction and data set may also come
from the file name: ``bridge_invs_mid_qa.jsonl`` contains mid-level action inference on BridgeData V2.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, UnidentifiedImageError
from pydantic import ValidationError

from assay.extensions.eqa.actions import SIZE, ActionLevel
from assay.extensions.eqa.build import BuildResult
from assay.extensions.eqa.episode import Tally
from assay.extensions.eqa.question import FOLDER_FILES, LETTERS, Question, QuestionError, QuestionKind, save
from assay.extensions.eqa.sources.schema import FAR, NEAR
from assay.extensions.eqa.views import CameraView, save_image, write_text
from assay.support.files import making
from assay.tasks.checks import validation_reason

FIELDS: Mapping[str, tuple[str, ...]] = {
    "kind": ("kind", "qa_type", "question_type"),
    "level": ("level", "action_level"),
    "task": ("task", "direction", "reasoning", "task_type"),
    "dataset": ("dataset", "data_source", "source"),
    "episode": ("episode", "episode_id", "trajectory"),
    "view": ("view", "views"),
    "before": ("before", "initial_image", "current_state", "image_1", "frame_1", "s_t"),
    "after": ("after", "final_image", "next_state", "image_2", "frame_2", "s_t1"),
    "images": ("images", "pictures", "image"),
    "action": ("action", "instruction", "gt_action"),
    "options": ("options", "choices", "candidates"),
    "answer": ("answer", "correct_answer", "correct", "label"),
}
"""Aliases of each field; the first alias present in a line is used."""
_DIRECTIONS = {
    "SP": {"sp", "prediction", "forward", "fwd"},
    "AI": {"ai", "inference", "inverse", "invs", "inv", "backward"},
}
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
_SIGN_WORDS = {
    1: ("positive", "clockwise", "downward", "counterclockwise"),
    -1: ("negative", "counterclockwise", "upward", "clockwise"),
}
"""Words for the sign of a translation, and of a rotation about X, Y and Z."""


def import_set(path: Path, out: Path, *, dataset: str = "", view: str = "exo") -> BuildResult:
    """Create a folder of questions from a JSON-lines file, or from all such files in a folder.

    ``dataset`` and ``view`` apply to lines without these fields. Invalid lines are tallied; raises QuestionError if
    no line is valid.
    """
    files = sorted(path.rglob("*.jsonl")) if path.is_dir() else [path]
    if not files or not all(file.is_file() for file in files):
        raise QuestionError(f"{path}: no JSON-lines file (*.jsonl)")
    tally = Tally()
    with making(out, ours=set(FOLDER_FILES)) as folder:
        questions: dict[str, Question] = {}
        for file in files:
            try:
                lines = file.read_text(encoding="utf-8").split("\n")
            except (OSError, UnicodeDecodeError) as error:
                raise QuestionError(f"{file}: cannot be read: {error}") from None
            for number, text in enumerate(lines, 1):
                if not text.strip():
                    continue
                tally.add("lines read")
                try:
                    content = json.loads(text)
                    if not isinstance(content, dict):
                        raise QuestionError("not a JSON object")
                    line = _ImportedLine(content, file, path if path.is_dir() else path.parent, folder)
                    question = line.question(dataset, view)
                except (QuestionError, ValueError, RecursionError) as error:  # invalid JSON, encoding or path
                    reason = validation_reason(error) if isinstance(error, ValidationError) else str(error)
                    reason = " ".join(reason.encode("utf-8", "replace").decode().split())[:200]
                    tally.add(f"line: {reason}", f"{file.name}:{number}")
                    continue
                tally.add("line: duplicate", f"{file.name}:{number}", int(question.id in questions))
                questions[question.id] = question
        if not questions:
            raise QuestionError(f"{path}: no questions could be read: {tally.summary()}")
        counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for question in questions.values():
            counts[question.dataset][str(question.kind)] += 1
        info: dict[str, object] = {
            "imported": [file.name for file in files],
            "counts": counts,
            "tally": {"import": tally.as_json()},
        }
        save(folder, list(questions.values()), info)
    return BuildResult(len(questions), dict(counts), {}, {"import": tally})


@dataclass(frozen=True, slots=True)
class _ImportedLine:
    """One line of a JSON-lines file."""

    content: Mapping[str, Any]
    file: Path
    root: Path
    """Folder of the question set; images must be in this folder or in the folder of the JSON-lines file."""
    out: Path

    def question(self, dataset: str, view: str) -> Question:
        kind = self._kind()
        options = self._options()
        before = self._get("before")
        images = [before, self._get("after")] if before else self._get("images") or []
        images = list(images) if isinstance(images, list) else [images]
        needed = 1 if kind.predicts else 2
        if kind.predicts and len(images) == needed + len(LETTERS):  # all images in one list
            options, images = images[needed:], images[:needed]
        images = [image for image in images if image][:needed]
        if len(images) < needed:
            raise QuestionError(
                f"{kind}: expected {needed} image{'s' * (needed > 1)} before the options, got {len(images)}"
            )
        if len(options) != len(LETTERS):
            raise QuestionError(f"expected {len(LETTERS)} options, got {len(options)}")
        action = "" if not kind.predicts else _plain_text(self._get("action"))
        if kind.predicts and not action:
            raise QuestionError("the action is missing")
        dataset = str(self._get("dataset") or dataset or self.file.stem.split("_")[0])
        seen = CameraView.parse(str(self._get("view") or view))
        texts = [] if kind.predicts else [_plain_text(option) for option in options]
        option_images = options if kind.predicts else []
        actions = (
            [] if kind.level is ActionLevel.HIGH else _parse_actions(kind, [action] if action else texts)
        )
        episode = str(self._get("episode") or self._path(images[0]).stem)
        return Question.of(
            kind=str(kind),
            dataset=dataset,
            episode=episode,
            group=episode,
            view=str(seen),
            text=write_text(kind, seen, action, (), "wrapped"),
            pictures=[self._copy_image(image) for image in images],
            options=texts,
            option_pictures=[self._copy_image(option) for option in option_images],
            answer=self._answer(options),
            moments=[str(image) for image in (*images, *option_images)],
            states=[],
            actions=actions,
            achieved=[],
            thresholds=list((FAR if "droid" in dataset.lower() else NEAR).thresholds),
            turning="wrapped",
        )

    def _get(self, field: str) -> Any:
        values = (self.content.get(name) for name in FIELDS[field])
        return next((value for value in values if value not in (None, "")), None)

    def _kind(self) -> QuestionKind:
        stated = str(self._get("kind") or "").upper().replace("_", "-")
        if stated in list(QuestionKind):
            return QuestionKind(stated)
        hints = f"{self._get('level') or ''} {self._get('task') or ''} {stated} {self.file.stem}".lower()
        words = set(re.split(r"[\W_]+", hints))
        level = next((level for level in ActionLevel if str(level) in words), None)
        direction = next((direction for direction, names in _DIRECTIONS.items() if names & words), None)
        if level is None or direction is None:
            raise QuestionError(
                f"neither a kind ({', '.join(QuestionKind)}) nor a level and a task in a field or the file name"
            )
        return QuestionKind(f"{str(level)[0].upper()}-{direction}")

    def _options(self) -> list[Any]:
        options = self._get("options")
        if isinstance(options, Mapping):
            return [options[letter] for letter in LETTERS if letter in options]
        if options is None:
            options = [self.content[letter] for letter in LETTERS if letter in self.content]
        return list(options) if isinstance(options, Sequence) and not isinstance(options, str) else []

    def _answer(self, options: Sequence[Any]) -> str:
        stated = self._get("answer")
        letter = str(stated).strip().strip("().").upper()
        if letter in LETTERS and len(letter) == 1:
            return letter
        same = [place for place, option in enumerate(options) if _plain_text(option) == _plain_text(stated)]
        if len(same) != 1:
            raise QuestionError(f"the answer is not one of the options: '{str(stated)[:40]}'")
        return LETTERS[same[0]]

    def _path(self, name: object) -> Path:
        folders = (self.file.parent, self.root)
        for folder in folders:
            path = (folder / str(name)).resolve()
            if path.is_file() and any(path.is_relative_to(parent.resolve()) for parent in folders):
                return path
        raise QuestionError(f"no image '{str(name)[:80]}' in the folder of the question set")

    def _copy_image(self, name: object) -> str:
        path = self._path(name)
        try:
            with Image.open(path) as image:
                return save_image(self.out, np.asarray(image.convert("RGB")))
        except (UnidentifiedImageError, OSError, Image.DecompressionBombError):
            raise QuestionError(f"not an image: '{path.name[:80]}'") from None


def _plain_text(value: Any) -> str:
    return " ".join(value.split()) if isinstance(value, str) else "" if value is None else str(value)


def _parse_actions(kind: QuestionKind, texts: Sequence[str]) -> list[list[float]]:
    """Parse actions (7,) from texts with numbers or motion labels; empty if a text cannot be parsed.

    For mid-level prediction, whose amounts are unknown, a label counts as twice the threshold.
    """
    actions = []
    for text in texts:
        if kind.level is ActionLevel.LOW:
            action = [float(number) for number in _NUMBER.findall(text)]
        else:
            action = [0.0] * SIZE
            for label in text.split(","):
                place = parse_label(label)
                if place is None:
                    return []
                dimension, sign = place
                action[dimension] = sign * (2.0 * NEAR.thresholds[dimension] if kind.predicts else 1.0)
        if len(action) != SIZE:
            return []
        actions.append(action)
    return actions


def parse_label(label: str) -> tuple[int, int] | None:
    """Return the dimension and sign of a motion label, with or without an amount; None if it is unknown."""
    words = set(re.findall(r"[a-z]+", label.lower()))
    if "gripper" in words:
        return (6, 1) if "open" in words else (6, -1) if "close" in words else None
    axis = next((place for place, name in enumerate("xyz") if name in words), None)
    if axis is None:
        return None
    for sign, names in _SIGN_WORDS.items():
        if "move" in words and names[0] in words:
            return axis, sign
        if words & {"tilt", "rotate"} and names[1 + axis] in words:
            return 3 + axis, sign
    return None
