"""Question sets of others, read from JSON lines: one question a line, with the fields that ActionEQA describes.

What a field is called differs from release to release, so each has a few names; `FIELDS` lists them. What a line does
not say may stand in its file's name: ``bridge_invs_mid_qa.jsonl`` holds mid-level action inference on BridgeData V2.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, UnidentifiedImageError
from pydantic import ValidationError

from assay.extensions.eqa.actions import SIZE, Level, label_place
from assay.extensions.eqa.build import Built, saved
from assay.extensions.eqa.episode import Tally
from assay.extensions.eqa.errors import QuestionError
from assay.extensions.eqa.question import BUILD, LETTERS, METADATA, PICTURES, QUESTIONS, Kind, Question, save
from assay.extensions.eqa.sources.schema import FAR, NEAR
from assay.extensions.eqa.views import View
from assay.extensions.eqa.wording import worded
from assay.support.files import making

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
"""What each field may be called, the first found counts."""
_TASKS = {
    True: ("sp", "state_prediction", "prediction", "forward", "fwd"),
    False: ("ai", "action_inference", "inference", "inverse", "invs", "inv", "backward"),
}
_NUMBERS = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def import_set(path: Path, out: Path, *, dataset: str = "", view: str = "exo") -> Built:
    """Make a folder of questions from a file of JSON lines, or from all in a folder.

    ``dataset`` and ``view`` are those of lines that name none. Lines that are no question are counted and named;
    raises QuestionError if none is left.
    """
    files = sorted(path.rglob("*.jsonl")) if path.is_dir() else [path]
    if not files or not all(file.is_file() for file in files):
        raise QuestionError(f"{path}: no file of JSON lines (*.jsonl)")
    tally = Tally()
    with making(out, ours={QUESTIONS, METADATA, BUILD, PICTURES}) as unfinished:
        (unfinished / PICTURES).mkdir(parents=True, exist_ok=True)
        found: dict[str, Question] = {}
        for file in files:
            for number, line in _lines(file):
                tally.add("lines read")
                try:
                    question = _Line(line, file, dataset, view).question(unfinished, path)
                except (QuestionError, ValueError) as error:  # half a character, a path that is none
                    tally.add(f"line: {_reason(error)}", f"{file.name}:{number}")
                    continue
                tally.add("line: there twice", f"{file.name}:{number}", int(question.id in found))
                found[question.id] = question
        if not found:
            why = "; ".join(f"{count} x {reason}" for reason, count in tally.counts.most_common(4))
            raise QuestionError(f"{path}: no question could be read: {why}")
        counts: dict[str, dict[str, int]] = {}
        for each in found.values():
            mine = counts.setdefault(each.dataset, {})
            mine[str(each.kind)] = mine.get(str(each.kind), 0) + 1
        told: dict[str, object] = {
            "imported": [file.name for file in files],
            "counts": counts,
            "tally": {"import": tally.as_json()},
        }
        save(unfinished, list(found.values()), told)
    return Built(len(found), counts, {}, {"import": tally})


@dataclass(frozen=True, slots=True)
class _Line:
    """One line of a file."""

    content: Mapping[str, Any]
    file: Path
    dataset: str
    view: str

    def question(self, out: Path, root: Path) -> Question:
        kind = self._kind()
        options = self._options()
        shown = (
            [self._get("before"), self._get("after")] if self._get("before") else self._get("images") or []
        )
        shown = list(shown) if isinstance(shown, list) else [shown]
        wanted = 1 if kind.predicts else 2
        if kind.predicts and len(shown) == wanted + len(LETTERS):  # all pictures in one list
            options, shown = shown[wanted:], shown[:wanted]
        shown = [each for each in shown if each][:wanted]
        if len(shown) < wanted:
            raise QuestionError(
                f"{kind} needs {wanted} image{'s' * (wanted > 1)} before the options, has {len(shown)}"
            )
        if len(options) != len(LETTERS):
            raise QuestionError(f"needs {len(LETTERS)} options, has {len(options)}")
        action = "" if not kind.predicts else _text(self._get("action"))
        if kind.predicts and not action:
            raise QuestionError("names no action")
        dataset = str(self._get("dataset") or self.dataset or self.file.stem.split("_")[0])
        where = self.file.parent, root if root.is_dir() else root.parent
        seen = View.parse(str(self._get("view") or self.view))
        texts = [] if kind.predicts else [_text(option) for option in options]
        actions = [action] if kind.predicts else texts
        content = {
            "kind": str(kind),
            "dataset": dataset,
            "episode": str(self._get("episode") or self._path(shown[0], where).stem),
            "view": str(seen),
            "text": worded(kind, seen, action, (), "wrapped"),
            "pictures": [self._picture(each, where, out) for each in shown],
            "options": texts,
            "option_pictures": [self._picture(option, where, out) for option in options]
            if kind.predicts
            else [],
            "answer": self._answer(options),
            "moments": [str(each) for each in (*shown, *(options if kind.predicts else ()))],
            "states": [],
            "actions": [] if kind.level is Level.HIGH else _actions(kind, actions),
            "achieved": [],
            "thresholds": list((FAR if "droid" in dataset.lower() else NEAR).thresholds),
            "turning": "wrapped",
        }
        return Question.of(group=content["episode"], **content)

    def _get(self, field: str) -> Any:
        return next(
            (self.content[name] for name in FIELDS[field] if self.content.get(name) not in (None, "")), None
        )

    def _kind(self) -> Kind:
        told = str(self._get("kind") or "").upper().replace("_", "-")
        if told in list(Kind):
            return Kind(told)
        words = re.split(
            r"[\W_]+", f"{self._get('level') or ''} {self._get('task') or ''} {told} {self.file.stem}".lower()
        )
        joined = "_".join(words)
        level = next((each for each in Level if str(each) in words), None)
        predicts = next(
            (
                way
                for way, names in _TASKS.items()
                if any(re.search(rf"(^|_){name}(_|$)", joined) for name in names)
            ),
            None,
        )
        if level is None or predicts is None:
            raise QuestionError(
                f"says no kind: {', '.join(Kind)}, or a level and a task, in a field or the file's name"
            )
        return Kind(f"{str(level)[0].upper()}-{'SP' if predicts else 'AI'}")

    def _options(self) -> list[Any]:
        found = self._get("options")
        if isinstance(found, Mapping):
            return [found[letter] for letter in LETTERS if letter in found]
        if found is None:
            found = [self.content[letter] for letter in LETTERS if letter in self.content]
        return list(found) if isinstance(found, Sequence) and not isinstance(found, str) else []

    def _answer(self, options: Sequence[Any]) -> str:
        told = self._get("answer")
        letter = str(told).strip().strip("().").upper()
        if letter in LETTERS and len(letter) == 1:
            return letter
        same = [place for place, option in enumerate(options) if _text(option) == _text(told)]
        if len(same) != 1:
            raise QuestionError(f"its answer is none of the options: '{str(told)[:40]}'")
        return LETTERS[same[0]]

    def _path(self, name: object, where: Sequence[Path]) -> Path:
        for folder in where:
            found = (folder / str(name)).resolve()
            if found.is_file() and any(found.is_relative_to(each.resolve()) for each in where):
                return found
        raise QuestionError(f"there is no image '{str(name)[:80]}' in the set's folder")

    def _picture(self, name: object, where: Sequence[Path], out: Path) -> str:
        path = self._path(name, where)
        try:
            with Image.open(path) as picture:
                return saved(out, np.asarray(picture.convert("RGB")))
        except (UnidentifiedImageError, OSError, Image.DecompressionBombError):
            raise QuestionError(f"not an image: '{path.name[:80]}'") from None


def _lines(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise QuestionError(f"{file}: cannot be read: {error}") from None
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                content = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise QuestionError(f"{file}:{number}: not JSON: {str(error)[:100]}") from None
            if not isinstance(content, dict):
                raise QuestionError(f"{file}:{number}: not a question: {line[:60]}")
            yield number, content


def _reason(error: Exception) -> str:
    """One line: of Pydantic's errors the last but one says why, others have only one."""
    if isinstance(error, ValidationError):
        return str(error).splitlines()[-2].strip()[:100]
    return " ".join(str(error).encode("utf-8", "replace").decode().split())[:200]


def _text(value: Any) -> str:
    return " ".join(value.split()) if isinstance(value, str) else "" if value is None else str(value)


def _actions(kind: Kind, texts: Sequence[str]) -> list[list[float]]:
    """What actions name: figures, or signs of labels; of the mid level of prediction, signs times their thresholds."""
    found = [
        _figures(text) if kind.level is Level.LOW else _signs(text, 2.0 if kind.predicts else 1.0)
        for text in texts
    ]
    return [each for each in found if each is not None] if all(each is not None for each in found) else []


def _figures(text: str) -> list[float] | None:
    values = [float(each) for each in _NUMBERS.findall(text)]
    return values if len(values) == SIZE else None


def _signs(text: str, times: float) -> list[float] | None:
    """Signs, or multiples of the thresholds, of labels with commas; None for what is no label."""
    action = [0.0] * SIZE
    for label in text.split(","):
        place = label_place(label)
        if place is None:
            return None
        action[place[0]] = place[1] * (times * NEAR.thresholds[place[0]] if times > 1 else 1.0)
    return action
