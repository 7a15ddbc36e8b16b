"""Writer for task files that LIBERO and its descendants can read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from assay.errors import TaskError
from assay.tasks.bddl.reader import problem_name, workspace_category
from assay.tasks.checks import check, quote
from assay.tasks.scene import Entity, Task


def write(task: Task, *, silent: bool = False) -> str:
    """Return the text of a task file.

    Reading the text gives an equal task, except for the id, which files do not store. Numbers are written with full
    precision; repeated spaces in the instruction become one. Raises TaskError if the task is invalid or the
    instruction contains a character that task files cannot represent. ``silent`` permits an empty instruction, which
    LIBERO can read.
    """
    check(task, silent=silent)
    return "\n".join(_lines(task)) + "\n"


def _lines(task: Task) -> Iterator[str]:
    scene = task.scene
    instruction = " ".join(task.instruction.text.split())
    for sign in "();\0":
        if sign in instruction:
            raise TaskError(f"{task.id}: a task file cannot store an instruction that contains {quote(sign)}")
    yield f"(define (problem {problem_name(scene.arena, scene.style)})"
    yield "  (:domain robosuite)"
    yield f"  (:language {instruction})"
    yield "  (:regions"
    for region in scene.regions:
        yield f"    ({region.name}"
        yield f"      (:target {region.target})"
        if region.rectangles:
            yield f"      (:ranges ({' '.join(_numbers(rectangle) for rectangle in region.rectangles)}))"
        if region.yaw is not None:
            yield f"      (:yaw_rotation ({_numbers(region.yaw)}))"
        if region.rgba is not None:
            yield f"      (:rgba {_numbers(region.rgba)})"
        yield "    )"
    yield "  )"
    workspace = Entity(scene.arena.workspace, workspace_category(scene.arena))
    yield from _section("fixtures", _entities((workspace, *scene.fixtures)))
    yield from _section("objects", _entities(scene.objects))
    yield from _section("obj_of_interest", task.of_interest)
    yield from _section("init", (f"({atom})" for atom in scene.initial))
    yield from _section("goal", [f"(And {' '.join(f'({atom})' for atom in task.goal.atoms)})"])
    yield ")"


def _entities(entities: tuple[Entity, ...]) -> Iterator[str]:
    for category, group in groupby(entities, key=lambda entity: entity.category):
        yield f"{' '.join(entity.name for entity in group)} - {category}"


def _section(name: str, lines: Iterable[str]) -> Iterator[str]:
    yield f"  (:{name}"
    yield from (f"    {line}" for line in lines)
    yield "  )"


def _numbers(numbers: tuple[float, ...]) -> str:
    return f"({' '.join(repr(float(number)) for number in numbers)})"
