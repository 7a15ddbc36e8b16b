"""Tasks in files: LIBERO's ``.bddl``, and Assay's ``.json``, which also stores finishes, sizes and staging.

The id of a task from a file is its path and the first twelve hexadecimal digits of the SHA-256 of its content,
``scenes/007/2.json@5f0c3b1a9d2e``: it identifies the same task, or an error reports that the file has changed.

    {"format": "assay-task/1",
     "instruction": "put the small red bowl on the plate",
     "scene": {"arena": "kitchen", "objects": [{"name": "bowl_1", "category": "red_bowl", "size": 0.8}], ...},
     "goal": ["On bowl_1 plate_1"],
     "of_interest": ["bowl_1", "plate_1"]}

A scene has the fields of `Scene` and of its parts; fields with default values may be omitted.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from assay.episodes.instruction import Instruction
from assay.errors import TaskError, did_you_mean, one_line
from assay.tasks.bddl.reader import MAX_BYTES, document_from_bytes
from assay.tasks.checks import check, parse_atom, quote
from assay.tasks.scene import Entity, Goal, Region, Scene, Task

FORMAT = "assay-task/1"
ENDINGS = (".bddl", ".json")
MOST_CHARACTERS = 150
"""Maximum length of a file name within a derived file name, characters; file systems allow 255."""
STATES_ENDINGS = (".pruned_init", ".init", ".pruned_init.npz", ".init.npz")
"""Suffixes of files with initial states, in order of preference."""
INDEX = "index.json"
"""Name of an index file that a folder of tasks may contain."""

_KEYS = ("format", "instruction", "scene", "goal", "of_interest")
_ID = re.compile(r"(?P<path>.+?\.(?:bddl|json))(?:@(?P<digest>[0-9a-f]{12}))?", re.IGNORECASE | re.DOTALL)
_STATES = {"bddl": ("init",), "bddl_files": ("init_files",)}
_SCENE = TypeAdapter(Scene)


def names_file(id: str) -> bool:
    """Return whether an id refers to a task file, with or without a digest."""
    return _ID.fullmatch(id) is not None


def resolve_id(id: str) -> str:
    """Return an id with the absolute path of its file, so that one file has one id however its path is written."""
    match = _ID.fullmatch(id)
    if match is None:
        return id
    digest = f"@{match['digest']}" if match["digest"] else ""
    return f"{os.path.realpath(match['path'])}{digest}"


def short_name(id: str) -> str:
    """Return an id as a file name: ``libero_goal_3``; for a task file, its base name and digest."""
    path, _, digest = id.rpartition("@")
    return f"{Path(path).stem[:MOST_CHARACTERS]}-{digest}" if path else id.replace("/", "_")


def display_name(task: str) -> str:
    """Return the name of a task in tables: its id, or its file name without folder, suffix and digest."""
    return Path(task.rpartition("@")[0] or task).stem if names_file(task) else task


def load_file(id: str) -> Task:
    """Load the task at a path, optionally with a digest; the path with the digest becomes the task's id.

    Raises TaskError if the file cannot be read, is not a task file, or does not match the digest.
    """
    match = _ID.fullmatch(id)
    if match is None:
        raise TaskError(
            f"{quote(id, limit=200)} names no task file: valid: a path that ends in .bddl or .json"
        )
    return _of_digest(match["path"], match["digest"]) if match["digest"] else _read(match["path"])


def task_files(path: str) -> tuple[str, ...]:
    """List the task files at or below a path, sorted within each folder. Raises TaskError if there are no files."""
    if not Path(path).is_dir():
        return (path,)
    files: list[str] = []
    for folder, folders, names in os.walk(path):
        folders.sort()
        ours = (name for name in sorted(names) if name.lower().endswith(ENDINGS) and name != INDEX)
        files += [str(Path(folder, name)) for name in ours]
    if not files:
        raise TaskError(f"{path}: no task file there, nor in a folder below it; valid: .bddl and .json files")
    return tuple(files)


def states_file(id: str) -> Path | None:
    """Return the file of stored initial states for a task file, in the layout of LIBERO and LIBERO-X.

    ``bddl_files/SUITE/NAME.bddl`` belongs to ``init_files/SUITE/NAME.pruned_init``, ``bddl/LEVEL1/NAME.bddl`` to
    ``init/LEVEL1/NAME.init``. Returns None if the file does not exist.
    """
    match = _ID.fullmatch(id)
    path = Path(match["path"] if match else id)
    for index in reversed(range(len(path.parts) - 1)):
        for folder in _STATES.get(path.parts[index], ()):
            beside = Path(*path.parts[:index], folder, *path.parts[index + 1 :])
            stored = stored_beside(beside.with_suffix(""))
            if stored is not None:
                return stored
    return None


def stored_beside(path: Path) -> Path | None:
    """Return the file of initial states with this name and a known suffix, or None: LIBERO's own, or its ``.npz``."""
    names = (f"{path.name}{ending}" for ending in STATES_ENDINGS)
    return next((path.with_name(name) for name in names if path.with_name(name).is_file()), None)


def save(task: Task, path: Path | str) -> Task:
    """Write a task as a ``.json`` file, creating its folder; return the task as read back from the file.

    Raises TaskError if the task is invalid or cannot be written.
    """
    check(task)
    path = Path(path)
    if path.suffix != ".json":
        raise TaskError(f"{path}: a task is saved as a .json file")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(to_json(task), encoding="utf-8")
    except OSError as error:
        raise TaskError(f"{path}: cannot be written: {error.strerror or error}") from None
    return load_file(str(path))


def to_json(task: Task) -> str:
    """Return the JSON text of a task file; the id is not stored."""
    content = {
        "format": FORMAT,
        "instruction": task.instruction.text,
        "scene": _scene_to_plain(task.scene),
        "goal": [str(atom) for atom in task.goal.atoms],
        "of_interest": list(task.of_interest),
    }
    return _laid_out(content, "\n", 3) + "\n"


def from_json(text: str, *, id: str, file: str) -> Task:
    """Parse the JSON text of a task file. Raises TaskError that names ``file``."""
    try:
        content = json.loads(text, parse_float=_finite, parse_constant=_finite)
    except (ValueError, RecursionError) as error:
        raise TaskError(f"{file}: is not JSON: {one_line(str(error), 120)}") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise TaskError(f'{file}: is not a task file: valid: an object with "format": "{FORMAT}"')
    for key in content:
        if key not in _KEYS:
            raise TaskError(f"{file}: there is no key {quote(key)}: {did_you_mean(key[:80], _KEYS)}")
    try:
        task = Task(
            id=id,
            scene=_scene_from_plain(content.get("scene"), file),
            goal=Goal(tuple(parse_atom(text.split() or [""]) for text in _texts(content, "goal", file))),
            instruction=Instruction(_text(content, "instruction", file)),
            of_interest=tuple(_texts(content, "of_interest", file)),
        )
        check(task)
    except TaskError as error:
        reason = str(error).removeprefix(f"{id}: ").removeprefix(f"{file}: ")
        raise TaskError(f"{file}: {reason}") from None
    return task


@lru_cache(maxsize=4096)
def _of_digest(path: str, digest: str) -> Task:
    """Load the task with this digest; cached, so that a run keeps the task it has read even if the file changes."""
    task = _read(path)
    if task.id != f"{path}@{digest.lower()}":
        raise TaskError(
            f"{path}: has changed: its content is {task.id.rpartition('@')[2]} now, not {digest}; "
            "put the old file back, or name the task without '@'"
        )
    return task


def _read(path: str) -> Task:
    try:
        with Path(path).open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise TaskError(f"{path}: cannot be read: {error.strerror or error}") from None
    except ValueError:  # a zero byte in the path
        raise TaskError(f"{quote(path)}: is no path") from None
    id = f"{path}@{hashlib.sha256(data).hexdigest()[:12]}"
    if path.lower().endswith(".bddl"):
        return replace(document_from_bytes(data, id=id, file=path).task, id=id)
    if len(data) > MAX_BYTES:
        raise TaskError(f"{path}: is larger than {MAX_BYTES:,} bytes: not a task file")
    try:
        return from_json(data.decode("utf-8-sig"), id=id, file=path)
    except UnicodeDecodeError:
        raise TaskError(f"{path}: is not a text file in UTF-8") from None


def _laid_out(value: Any, line: str, levels: int) -> str:
    """Format JSON with one line per item in the outer ``levels``."""
    if levels == 0 or not isinstance(value, dict | list) or not value:
        return json.dumps(value, ensure_ascii=False)
    deeper = line + "  "
    if isinstance(value, list):
        items = (_laid_out(item, deeper, 0) for item in value)
        return "[" + ",".join(f"{deeper}{item}" for item in items) + f"{line}]"
    pairs = (f"{json.dumps(key)}: {_laid_out(item, deeper, levels - 1)}" for key, item in value.items())
    return "{" + ",".join(f"{deeper}{pair}" for pair in pairs) + f"{line}}}"


def _scene_to_plain(scene: Scene) -> dict[str, Any]:
    plain: dict[str, Any] = _SCENE.dump_python(scene, mode="json", exclude_defaults=True)
    plain["initial"] = [str(atom) for atom in scene.initial]
    return plain


def _scene_from_plain(value: object, file: str) -> Scene:
    if not isinstance(value, dict):
        raise TaskError(f"{file}: 'scene' must be an object")
    content = dict(value)
    initial = [parse_atom(text.split() or [""]) for text in _texts(content, "initial", file)]
    content["initial"] = [{"predicate": atom.predicate, "arguments": atom.arguments} for atom in initial]
    try:
        scene = _SCENE.validate_json(json.dumps(content), strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in ("scene", *first["loc"]))
        raise TaskError(f"{file}: {place}: {first['msg'].lower()}") from None
    full = _SCENE.dump_python(scene, mode="json")
    for place in _unknown(content, full, "scene"):
        raise TaskError(f"{file}: there is no field {quote(place)}")
    return scene


def _unknown(given: Any, full: Any, place: str) -> list[str]:
    """Return the paths in a JSON value that are missing from the value parsed from it."""
    if isinstance(given, dict) and isinstance(full, dict):
        return [
            path
            for key, item in given.items()
            for path in (_unknown(item, full[key], f"{place}.{key}") if key in full else [f"{place}.{key}"])
        ]
    if isinstance(given, list) and isinstance(full, list):
        pairs = enumerate(zip(given, full, strict=False))
        return [path for i, (one, other) in pairs for path in _unknown(one, other, f"{place}.{i}")]
    return []


def _finite(text: str) -> float:
    if not math.isfinite(float(text)):
        raise ValueError(f"{text[:20]} is not a finite number")
    return float(text)


def _text(content: dict[str, Any], key: str, file: str) -> str:
    value = content.get(key)
    if not isinstance(value, str):
        raise TaskError(f"{file}: '{key}' must be a text")
    return value


def _texts(content: dict[str, Any], key: str, file: str) -> list[str]:
    value = content.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise TaskError(f"{file}: '{key}' must be a list of texts")
    return value


HORIZONS = {
    "libero_spatial": 220,
    "libero_object": 280,
    "libero_goal": 300,
    "libero_10": 520,
    "libero_90": 400,
}
"""Time limits used in the literature, control steps, by suite."""
DEFAULT_HORIZON = 400
PER_ATOM = 200
"""Control steps per atom of a goal with three or more atoms, for tasks outside the suites."""


def horizon(task_id: str) -> int:
    """Return the time limit of a task in control steps; for a task file it depends on the goal."""
    if names_file(task_id):
        return goal_horizon(load_file(task_id).goal)
    return HORIZONS.get(task_id.split("/")[0], DEFAULT_HORIZON)


def goal_horizon(goal: Goal) -> int:
    """Return the time limit of a goal in control steps, for tasks outside the suites."""
    return max(DEFAULT_HORIZON, PER_ATOM * len(goal.atoms))


def to_plain(task: Task) -> dict[str, Any]:
    """Return a task as plain data; atoms as text, lengths in metres, angles in radians."""
    scene = task.scene
    return {
        "id": task.id,
        "instruction": task.instruction.text,
        "arena": scene.arena.value,
        "style": scene.style,
        "workspace": scene.arena.workspace,
        "fixtures": [_entity(entity) for entity in scene.fixtures],
        "objects": [_entity(entity) for entity in scene.objects],
        "regions": [_region(region) for region in scene.regions],
        "initial": [str(atom) for atom in scene.initial],
        "goal": [str(atom) for atom in task.goal.atoms],
        "of_interest": list(task.of_interest),
    }


def _entity(entity: Entity) -> dict[str, Any]:
    return {"name": entity.name, "category": entity.category}


def _region(region: Region) -> dict[str, Any]:
    return {
        "name": region.full_name,
        "target": region.target,
        "rectangles": [list(rectangle) for rectangle in region.rectangles],
        "yaw": None if region.yaw is None else list(region.yaw),
        "rgba": None if region.rgba is None else list(region.rgba),
    }
