"""A folder of new scenes: a folder of task files for each, and an index.

    index.json                  what was asked for, every scene and task, what was refused and why, and
                                which numbers gave no scene
    scene_007/0_put_the_....json

The index is written whenever a scene is done: the same order again goes on where it was interrupted.
"""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from assay import tasks
from assay.errors import TaskError
from assay.extensions.generate.distribution import Label, Labels, choose, labels_of, pairs
from assay.extensions.generate.scenes import Made, Order, make_all
from assay.support.files import replacing
from assay.tasks.files import INDEX

FORMAT = "assay-scenes/2"
LONGEST = 80
"""Characters of an instruction in a file's name."""


def write(
    out: Path,
    order: Order,
    count: int,
    *,
    workers: int = 1,
    on_scene: Callable[[int], None] = lambda number: None,
) -> dict[str, Any]:
    """Bring a folder to ``count`` scenes; returns the index. ``on_scene`` is told of each that is there.

    A number whose draws are all refused is counted as failed, and not tried again; the others go on.
    Raises TaskError where the folder holds something else, or scenes of another order.
    """
    index = _opened(out, order)
    scenes, failed = index["scenes"], index["failed"]
    missing = [number for number in range(count) if _name(number) not in {**scenes, **failed}]
    for number in range(count - len(missing)):
        on_scene(number)
    for made in make_all(order, missing, workers) if missing else ():
        if made.tasks:
            kept = _chosen(made, order, index)
            scenes[_name(made.number)] = _saved(out / _name(made.number), made, kept)
        else:
            failed[_name(made.number)] = {"refused": dict(sorted(made.refused.items()))}
        index["scenes"] = scenes = dict(sorted(scenes.items()))
        with replacing(out / INDEX) as part:
            part.write_text(json.dumps(index, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        on_scene(made.number)
    return index


def _chosen(made: Made, order: Order, index: dict[str, Any]) -> list[int]:
    """Which of the tasks that a scene offers are kept, after the scenes before it."""
    if order.labels is Labels.EVEN:
        return list(range(len(made.tasks)))
    earlier = {name: scene for name, scene in index["scenes"].items() if name < _name(made.number)}
    before = label_counts({"scenes": earlier})
    offered = [pairs(labels_of(task)) for task in made.tasks]
    return choose(offered, order.tasks, before, sum(len(scene["tasks"]) for scene in earlier.values()))


def label_counts(index: dict[str, Any]) -> Counter[Label]:
    """How many tasks of an index have each label."""
    tasks = (task for scene in index["scenes"].values() for task in scene["tasks"])
    return Counter(
        Label(family, value)
        for task in tasks
        for family, values in task["labels"].items()
        for value in values
    )


def refusals(index: dict[str, Any]) -> Counter[str]:
    """Why scenes and tasks were not kept, over a whole index."""
    total: Counter[str] = Counter()
    for scene in (*index["scenes"].values(), *index["failed"].values()):
        total.update(scene["refused"])
    return total


def _opened(out: Path, order: Order) -> dict[str, Any]:
    file = out / INDEX
    wanted: dict[str, Any] = {"format": FORMAT, "order": asdict(order), "scenes": {}, "failed": {}}
    if out.exists() and not out.is_dir():
        raise TaskError(f"{out} is a file; valid: a folder, a new one or one to extend")
    if not file.exists():
        if out.is_dir() and any(out.iterdir()):
            raise TaskError(f"{out} holds files that assay scenes did not write; name another folder")
        out.mkdir(parents=True, exist_ok=True)
        return wanted
    try:
        index = json.loads(file.read_text(encoding="utf-8"))
        there = index["format"], index["order"]
    except (ValueError, KeyError, TypeError):
        raise TaskError(f"{file}: is not an index of scenes") from None
    if there != (wanted["format"], wanted["order"]):
        raise TaskError(f"{out} holds scenes of another order, {there[1]}; name another folder")
    return {**wanted, **index}


def _saved(folder: Path, made: Made, kept: list[int]) -> dict[str, Any]:
    """Write those of a scene's tasks that are kept; returns its entry of the index."""
    if folder.exists():
        shutil.rmtree(folder)  # of a scene that was interrupted: it is not in the index
    entries = []
    for number, which in enumerate(kept):
        task, steps = made.tasks[which], made.steps[which]
        words = re.sub(r"[^a-z0-9]+", "_", task.instruction.text.lower())[:LONGEST].strip("_")
        saved = tasks.save(task, folder / f"{number}_{words}.json")
        entries.append(
            {
                "file": f"{folder.name}/{number}_{words}.json",
                "digest": saved.id.rpartition("@")[2],
                "instruction": task.instruction.text,
                "goal": [str(atom) for atom in task.goal.atoms],
                "steps": steps,
                "labels": labels_of(task),
            }
        )
    scene = made.tasks[0].scene
    return {
        "arena": scene.arena.value,
        "fixtures": [entity.category for entity in scene.fixtures],
        "objects": [entity.category for entity in scene.objects],
        "tasks": entries,
        "refused": dict(sorted(made.refused.items())),
    }


def _name(number: int) -> str:
    return f"scene_{number:03d}"
