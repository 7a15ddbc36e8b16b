"""Tasks in files: LIBERO's ``.bddl``, and Assay's ``.json``, which also stores appearances, sizes and robot poses.

The id of a task from a file is its path and the first twelve hexadecimal digits of the SHA-256 of its content,
``scenes/007/2.json@5f0c3b1a9d2e``. It always identifies the same task: if the file has changed, loading fails.

    {"format": "assay-task/1",
     "instruction": "put the small red bowl on the plate",
     "scene": {"arena": "kitchen", "objects": [{"name": "bowl_1", "category": "red_bowl", "size": 0.8}], ...},
     "goal": ["On bowl_1 plate_1"],
     "of_interest": ["bowl_1", "plate_1"]}

A scene has the fields of `Scene` and its parts; fields with default values may be omitted.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, TypeAdapter, ValidationError, field_validator

from assay.episodes.spec import Instruction
from assay.errors import BDDLError, TaskError, one_line
from assay.tasks.bddl.reader import MAX_BYTES, parse, parse_document, read_document
from assay.tasks.bddl.writer import write
from assay.tasks.checks import check, parse_atom, quote, validation_reason
from assay.tasks.scene import Goal, Scene, Task

FORMAT = "assay-task/1"
ENDINGS = (".bddl", ".json")
MAX_NAME_CHARACTERS = 150
"""Maximum number of characters of a file name that are kept in a derived file name; file systems allow 255."""
STATES_ENDINGS = (".pruned_init", ".init", ".pruned_init.npz", ".init.npz")
"""Suffixes of initial state files, in order of preference."""
INDEX = "index.json"
"""Name of the index file that a folder of tasks may contain."""

_ID = re.compile(r"(?P<path>.+?\.(?:bddl|json))(?:@(?P<digest>[0-9a-f]{12}))?", re.IGNORECASE | re.DOTALL)
_STATES_FOLDERS = {"bddl": "init", "bddl_files": "init_files"}
"""Mapping from the folder of task files to the folder of their initial states."""


class _TaskFile(BaseModel, extra="forbid", allow_inf_nan=False):
    """Content of a ``.json`` file; atoms are written as text."""

    format: Literal["assay-task/1"]
    instruction: str
    scene: Scene
    goal: list[str] = []
    of_interest: list[str] = []

    @field_validator("scene", mode="before")
    @classmethod
    def _parse_initial(cls, scene: Any) -> Any:
        if not isinstance(scene, dict) or "initial" not in scene:
            return scene
        texts = TypeAdapter(list[str]).validate_python(scene["initial"])
        return scene | {"initial": [asdict(parse_atom(text.split())) for text in texts]}


def names_file(id: str) -> bool:
    """Return whether an id refers to a task file, with or without a digest."""
    return _ID.fullmatch(id) is not None


def resolve_id(id: str) -> str:
    """Return an id with the absolute path of its file, so that every spelling of the path gives the same id."""
    match = _ID.fullmatch(id)
    if match is None:
        return id
    digest = f"@{match['digest']}" if match["digest"] else ""
    return f"{os.path.realpath(match['path'])}{digest}"


def short_name(id: str) -> str:
    """Return an id as a file name: ``libero_goal_3``; for a task file, its base name and digest."""
    path, _, digest = id.rpartition("@")
    return f"{Path(path).stem[:MAX_NAME_CHARACTERS]}-{digest}" if path else id.replace("/", "_")


def display_name(task: str) -> str:
    """Return a task's name for use in tables: its id, or its file name without folder, suffix and digest."""
    return Path(task.rpartition("@")[0] or task).stem if names_file(task) else task


def load_file(id: str) -> Task:
    """Load the task at a path, optionally with a digest; its id is the path with the digest.

    Raises TaskError if the file cannot be read, is not a task file, or does not match the digest.
    """
    match = _ID.fullmatch(id)
    if match is None:
        raise TaskError(f"{quote(id, limit=200)} is not the path of a .bddl or .json file")
    return _of_digest(match["path"], match["digest"]) if match["digest"] else _read(match["path"])


def find_files(path: Path | str) -> Iterator[Path]:
    """Yield a file, or the task files below a folder, sorted by name within each folder."""
    if not Path(path).is_dir():
        yield Path(path)
        return
    for folder, folders, names in os.walk(path):
        folders.sort()
        for name in sorted(names):
            if name.lower().endswith(ENDINGS) and name != INDEX and Path(folder, name).is_file():
                yield Path(folder, name)


def states_file(id: str) -> Path | None:
    """Return the file of stored initial states for a task file, in the layout of LIBERO or LIBERO-X.

    ``bddl_files/SUITE/NAME.bddl`` belongs to ``init_files/SUITE/NAME.pruned_init``, ``bddl/LEVEL1/NAME.bddl`` to
    ``init/LEVEL1/NAME.init``. Returns None if there is no such file.
    """
    match = _ID.fullmatch(id)
    path = Path(match["path"] if match else id)
    for index in reversed(range(len(path.parts) - 1)):
        if folder := _STATES_FOLDERS.get(path.parts[index]):
            stem = Path(*path.parts[:index], folder, *path.parts[index + 1 :]).with_suffix("")
            for ending in STATES_ENDINGS:
                if (file := stem.with_name(f"{stem.name}{ending}")).is_file():
                    return file
    return None


def save(task: Task, path: Path | str) -> Task:
    """Write a task to a ``.json`` file, creating its folder, and return the task as read back from the file.

    Raises TaskError if the task is invalid or cannot be written.
    """
    check(task)
    path = Path(path)
    if path.suffix != ".json":
        raise TaskError(f"{path}: a task must be saved as a .json file")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(to_json(task), encoding="utf-8")
    except OSError as error:
        raise TaskError(f"{path} cannot be written: {error.strerror or error}") from None
    return load_file(str(path))


def to_json(task: Task) -> str:
    """Return a task as the JSON text of a task file; the id is not stored."""
    scene = TypeAdapter(Scene).dump_python(task.scene, mode="json", exclude_defaults=True)
    content = {
        "format": FORMAT,
        "instruction": task.instruction.text,
        "scene": scene | {"initial": [str(atom) for atom in task.scene.initial]},
        "goal": [str(atom) for atom in task.goal.atoms],
        "of_interest": list(task.of_interest),
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def from_json(text: str, *, id: str, file: str) -> Task:
    """Parse the JSON text of a task file. Raises TaskError, which names ``file``."""
    try:
        content = _TaskFile.model_validate(json.loads(text))
        goal = Goal(tuple(parse_atom(atom.split()) for atom in content.goal))
        instruction, of_interest = Instruction(content.instruction), tuple(content.of_interest)
        task = Task(id, content.scene, goal, instruction, of_interest)
        check(task)
    except ValidationError as error:
        raise TaskError(f"{file}: {validation_reason(error)}") from None
    except (ValueError, RecursionError) as error:
        raise TaskError(f"{file} is not valid JSON: {one_line(str(error), 120)}") from None
    except TaskError as error:
        raise TaskError(f"{file}: {str(error).removeprefix(f'{id}: ')}") from None
    return task


@lru_cache(maxsize=4096)
def _of_digest(path: str, digest: str) -> Task:
    """Load the task with this digest; cached, so that a run keeps the task it has read even if the file changes."""
    task = _read(path)
    if task.id != f"{path}@{digest.lower()}":
        raise TaskError(
            f"{path} has changed: its digest is now {task.id.rpartition('@')[2]}, not {digest}; "
            "restore the old file, or omit '@' and the digest"
        )
    return task


def _read(path: str) -> Task:
    try:
        with Path(path).open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise TaskError(f"{path} cannot be read: {error.strerror or error}") from None
    except ValueError:  # a zero byte in the path
        raise TaskError(f"{quote(path)} is not a path") from None
    id = f"{path}@{hashlib.sha256(data).hexdigest()[:12]}"
    if path.lower().endswith(".bddl"):
        return parse_document(data, id=id, file=path).task
    if len(data) > MAX_BYTES:
        raise TaskError(f"{path} is larger than {MAX_BYTES:,} bytes, so it is not a task file")
    try:
        return from_json(data.decode("utf-8-sig"), id=id, file=path)
    except UnicodeDecodeError:
        raise TaskError(f"{path} is not a UTF-8 text file") from None


HORIZONS = {
    "libero_spatial": 220,
    "libero_object": 280,
    "libero_goal": 300,
    "libero_10": 520,
    "libero_90": 400,
}
"""Time limits used in the literature, in control steps, by suite."""
DEFAULT_HORIZON = 400
STEPS_PER_ATOM = 200
"""Time limit per atom, in control steps, for goals with three or more atoms in tasks outside the suites."""


def horizon(task_id: str) -> int:
    """Return the time limit of a task in control steps; for task files it depends on the goal."""
    if names_file(task_id):
        return goal_horizon(load_file(task_id).goal)
    return HORIZONS.get(task_id.split("/")[0], DEFAULT_HORIZON)


def goal_horizon(goal: Goal) -> int:
    """Return the time limit for a goal in control steps, for tasks outside the suites."""
    return max(DEFAULT_HORIZON, STEPS_PER_ATOM * len(goal.atoms))


def to_plain(task: Task) -> dict[str, Any]:
    """Return a task as plain data, with atoms as text, lengths in metres and angles in radians."""
    scene = task.scene
    fixtures, objects = (
        [{"name": entity.name, "category": entity.category} for entity in entities]
        for entities in (scene.fixtures, scene.objects)
    )
    return {
        "id": task.id,
        "instruction": task.instruction.text,
        "arena": scene.arena.value,
        "style": scene.style,
        "workspace": scene.arena.workspace,
        "fixtures": fixtures,
        "objects": objects,
        "regions": [asdict(region) | {"name": region.full_name} for region in scene.regions],
        "initial": [str(atom) for atom in scene.initial],
        "goal": [str(atom) for atom in task.goal.atoms],
        "of_interest": list(task.of_interest),
    }


@dataclass(frozen=True, slots=True)
class FileProblem:
    """A failure or a warning about one file."""

    file: str
    line: int | None
    """Line number from 1; None for the file as a whole."""
    reason: str


@dataclass(slots=True)
class FileAudit:
    """Result of reading every task file below a path."""

    files: int = 0
    """Number of task files."""
    read: int = 0
    """Number of files that could be read."""
    round_trip: int = 0
    """Number of files whose task is unchanged when written and read again."""
    failures: list[FileProblem] = field(default_factory=list)
    """Files that could not be read, or whose task changed when written and read again."""
    warnings: list[FileProblem] = field(default_factory=list)
    """Warnings about statements that have no effect."""


def audit(path: Path) -> FileAudit:
    """Read, write and read again every ``.bddl`` file at or below ``path``.

    Links to folders are not followed. Raises TaskError if the path does not exist or contains no task file.
    """
    if not path.exists():
        raise TaskError(f"{path}: no such file or folder")
    result = FileAudit()
    for file in find_files(path):
        if file.suffix.lower() != ".bddl":
            continue
        result.files += 1
        try:
            document = read_document(file)
        except BDDLError as error:
            result.failures.append(FileProblem(str(file), error.line, error.reason))
            continue
        result.read += 1
        result.warnings += [FileProblem(str(file), note.line, note.text) for note in document.warnings]
        try:
            if parse(write(document.task), id=document.task.id) == document.task:
                result.round_trip += 1
            else:
                result.failures.append(FileProblem(str(file), None, "the task differs when read again"))
        except TaskError as error:
            result.failures.append(FileProblem(str(file), None, f"the task cannot be stored: {error}"))
    if not result.files:
        raise TaskError(f"{path}: no .bddl file found")
    return result
