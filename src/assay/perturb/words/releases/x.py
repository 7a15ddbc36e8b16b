"""LIBERO-X's fifth level: five rewordings of every instruction of its fourth level."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from assay.perturb.words.releases.base import Label, ReleaseError, Wording, found, instruction, text_of

FORMS = {1: "synonym", 2: "concise", 3: "reorder", 4: "passive", 5: "verbose"}
"""Number of a file -> what it does to an instruction, in our words for it."""
FOLDERS = ("libero/libero_x/LEVEL5", "libero_x/LEVEL5", "LEVEL5", "")
_SCENES = "../bddl/LEVEL4"
_NAME = re.compile(r".+_LEVEL4__T(?P<task>\d+)_(?:_(?P<variant>A\d+)_)?(?!_).*")
_VARIANT = re.compile(r"(?:A\d+)?")


def read(folder: Path) -> tuple[Wording, ...]:
    """The lines of the five files: form, and the task file of level 4 they belong to, where it is there.

    The task is ``libero_x/`` with the release's number and variant: ``libero_x/107/A1``, ``libero_x/100``.
    """
    place = found(folder, "LIBERO-X", *(f"{each}/L5-1.jsonl".lstrip("/") for each in FOLDERS)).parent
    scenes = task_files(place / _SCENES)
    return tuple(
        wording for number in FORMS for wording in _lines(place / f"L5-{number}.jsonl", number, scenes)
    )


def task_files(folder: Path) -> dict[str, str]:
    """The tasks of level 4 -> what their files are called, without ending; none where there is no folder."""
    names = {file.stem: _NAME.fullmatch(file.stem) for file in sorted(folder.glob("*.bddl"))}
    return {_task(int(name["task"]), name["variant"] or ""): stem for stem, name in names.items() if name}


def _lines(file: Path, form: int, scenes: dict[str, str]) -> Iterator[Wording]:
    for number, line in enumerate(text_of(file).splitlines(), start=1):
        if not line.strip():
            continue
        place = f"{file}:{number}"
        try:
            content = json.loads(line)
            text, variant, task = content["task_desc"], content["variant"], int(content["task_id"])
        except (ValueError, TypeError, KeyError, RecursionError):
            raise ReleaseError(
                f"{place}: must be JSON with task_desc, variant and a numeric task_id"
            ) from None
        if not isinstance(variant, str) or not _VARIANT.fullmatch(variant):
            raise ReleaseError(f"{place}: the variant must be '', 'A1' or 'A2'")
        id = _task(task, variant)
        labels: dict[str, Label] = {"form": FORMS[form], "number": form, "file": scenes.get(id)}
        yield Wording(id, instruction(text, place), labels)


def _task(number: int, variant: str) -> str:
    return f"libero_x/{number}/{variant}" if variant else f"libero_x/{number}"
