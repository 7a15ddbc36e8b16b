"""Task files as the dictionaries that LIBERO's `bddl_utils` makes of them."""

from __future__ import annotations

import os
from typing import Any

from assay import tasks
from assay.extensions.dropin.planned import planned_task
from assay.tasks import Atom, Region, Task
from assay.tasks.bddl.reader import problem_name, workspace_category


def task_at(path: str | os.PathLike[str]) -> Task:
    """The task of a file: one of the plan, or what the file says. Raises TaskError."""
    name = os.fspath(path)
    found = planned_task(name)
    return found.task if found is not None else tasks.load(name)


def get_problem_info(problem_filename: str) -> dict[str, str]:
    """The problem's name, the domain's and the instruction."""
    task = task_at(problem_filename)
    return {
        "problem_name": _problem(task),
        "domain_name": "robosuite",
        "language_instruction": _said(problem_filename, task),
    }


def robosuite_parse_problem(problem_filename: str) -> dict[str, Any]:
    """All that a task file says."""
    return parsed(problem_filename, task_at(problem_filename))


def parsed(path: str, task: Task) -> dict[str, Any]:
    """The task of a file as LIBERO's parser gives it."""
    scene = task.scene
    fixtures: dict[str, list[str]] = {workspace_category(scene.arena): [scene.arena.workspace]}
    objects: dict[str, list[str]] = {}
    for things, found in ((scene.fixtures, fixtures), (scene.objects, objects)):
        for thing in things:
            found.setdefault(thing.category, []).append(thing.name)
    return {
        "problem_name": _problem(task),
        "fixtures": fixtures,
        "regions": {region.full_name: _region(region) for region in scene.regions},
        "objects": objects,
        "scene_properties": {},
        "initial_state": [_atom(atom) for atom in scene.initial],
        "goal_state": [_atom(atom) for atom in task.goal.atoms],
        "language_instruction": _said(path, task).split(),
        "obj_of_interest": list(task.of_interest),
    }


def _said(path: str, task: Task) -> str:
    """The instruction in small letters, as LIBERO's parser gives it; that of an experiment to the letter."""
    text: str = task.instruction.text
    return text.lower() if planned_task(path) is None else text


def _problem(task: Task) -> str:
    return problem_name(task.scene.arena, task.scene.style).lower()


def _region(region: Region) -> dict[str, Any]:
    return {
        "target": region.target,
        "ranges": [list(rectangle) for rectangle in region.rectangles],
        "extra": [],
        "yaw_rotation": list(region.yaw or (0, 0)),
        "rgba": list(region.rgba or (0, 0, 1, 0)),
    }


def _atom(atom: Atom) -> list[str]:
    return [atom.predicate.value.lower(), *atom.arguments]
