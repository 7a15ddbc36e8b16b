"""Validation of tasks: every name is declared once, and every relation refers to declared objects.

The same checks serve task files (which add the line number), the catalogue (which adds file and key) and tasks built
by programs (`check`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from assay.errors import TaskError, did_you_mean
from assay.tasks.scene import Arena, Atom, Entity, Goal, Predicate, Rectangle, Scene, Task

_NAME = re.compile(r"[a-z0-9_][a-z0-9_.-]*")
_STYLE = re.compile(r"[A-Za-z0-9_.-]*")
_CONNECTIVES = frozenset(
    {"and", "or", "not", "forall", "exists", "imply", "when", "forn", "forpairs", "fornpairs"}
)


class TaskFlaw(NamedTuple):
    """One error in a task."""

    where: tuple[str | int, ...]
    """Path of the invalid value: ``("regions", 3, "rectangles", 0)``."""
    reason: str

    @property
    def place(self) -> str:
        """Path of the invalid value as text: ``regions[3].rectangles[0]``."""
        steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.where)
        return "".join(steps).removeprefix(".")


def check(task: Task, *, silent: bool = False) -> None:
    """Raise TaskError with the first error in a task.

    ``silent`` permits an empty instruction.
    """
    for flaw in flaws(task.scene, task.goal, task.of_interest):
        raise TaskError(f"{task.id}: {flaw.place}: {flaw.reason}")
    if not silent and not task.instruction.text.strip():
        raise TaskError(f"{task.id}: the instruction is empty")


def flaws(scene: Scene, goal: Goal, of_interest: Sequence[str]) -> Iterator[TaskFlaw]:
    """Yield all errors in a scene, its goal and its objects of interest, in reading order."""
    if not _STYLE.fullmatch(scene.style):
        yield TaskFlaw(("style",), f"{quote(scene.style)} is not a style (letters, digits, '_', '-', '.')")
    yield from _name_flaws(scene)
    yield from _region_flaws(scene)
    vocabulary = Vocabulary(scene)
    for section, atoms in (("initial", scene.initial), ("goal", goal.atoms)):
        for index, atom in enumerate(atoms):
            reason = arity_flaw(atom.predicate, len(atom.arguments))
            for name in atom.arguments:
                reason = reason or vocabulary.flaw(name)
            if reason is not None:
                yield TaskFlaw((section, index), reason)
    if not goal.atoms:
        yield TaskFlaw(("goal",), "the goal is empty: it would hold at once")
    for index, name in enumerate(of_interest):
        reason = vocabulary.flaw(name)
        if reason is not None:
            yield TaskFlaw(("of_interest", index), reason)


class Vocabulary:
    """The names that can be used in a scene."""

    def __init__(self, scene: Scene) -> None:
        self._things = {entity.name for entity in scene.entities} | {scene.arena.workspace, *scene.absent}
        self._regions = {region.full_name: region.target for region in scene.regions}

    def __contains__(self, name: str) -> bool:
        return name in self._things or name in self._regions

    def flaw(self, name: str) -> str | None:
        """Return the reason why a relation cannot use this name, or None if it can."""
        if name in self._things:
            return None
        target = self._regions.get(name)
        if target is None:
            valid = self._things | self._regions.keys()
            return f"unknown object or region {quote(name)}; {did_you_mean(name[:80], valid)}"
        if target not in self._things:
            return f"region {quote(name)} belongs to {quote(target)}, which is not in the scene"
        return None


def predicate(word: str) -> Predicate:
    """Parse the name of a predicate, ignoring case. Raises TaskError if it is unknown."""
    match = _PREDICATES.get(word.lower())
    if match is not None:
        return match
    if word.lower() in _CONNECTIVES:
        raise TaskError(f"{quote(word)} is not supported: a goal is one predicate or an 'And' of predicates")
    nearest = did_you_mean(word.lower()[:80], _PREDICATES)
    for lower, predicate in _PREDICATES.items():
        nearest = nearest.replace(f"'{lower}'", f"'{predicate.value}'")
    raise TaskError(f"unknown predicate {quote(word)}; {nearest}")


def parse_atom(words: Sequence[str]) -> Atom:
    """Parse a relation such as ``On plate_1 main_table_plate_region``. Raises TaskError.

    Names are not checked, which would need a scene.
    """
    predicate_ = predicate(words[0])
    names = tuple(word.lower() for word in words[1:])
    reason = arity_flaw(predicate_, len(names))
    if reason is not None:
        raise TaskError(reason)
    return Atom(predicate_, names)


def arity_flaw(predicate: Predicate, count: int) -> str | None:
    """Return the error in giving a predicate ``count`` names, or None."""
    if count == predicate.arity:
        return None
    names = "one name" if predicate.arity == 1 else f"{predicate.arity} names"
    return f"{predicate.value} takes {names}, not {count}"


def name_flaw(name: str) -> str | None:
    """Return the error in a new name, or None."""
    if _NAME.fullmatch(name):
        return None
    return f"{quote(name)} is not a name (lower-case letters, digits, '_', '-', '.')"


def rectangle_flaw(rectangle: Rectangle) -> str | None:
    """Return the error in a rectangle, or None."""
    if not all(map(math.isfinite, rectangle)):
        return f"a rectangle needs finite numbers, not {tuple(rectangle)}"
    for axis, low, high in (
        ("x", rectangle.x_min, rectangle.x_max),
        ("y", rectangle.y_min, rectangle.y_max),
    ):
        if low > high:
            return f"the rectangle ends before it begins: {axis} from {low} to {high}"
    return None


def quote(text: str, *, limit: int = 60) -> str:
    """Quote an external name for a message: on one line, at most ``limit`` characters."""
    text_ = text if len(text) <= limit else text[: limit - 3] + "..."
    return "'" + "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text_) + "'"


_PREDICATES = {predicate.value.lower(): predicate for predicate in Predicate}


def _name_flaws(scene: Scene) -> Iterator[TaskFlaw]:
    seen: dict[str, str] = {scene.arena.workspace: "the workspace"}
    workspaces = {arena.workspace for arena in Arena}
    for section, entities in (("fixtures", scene.fixtures), ("objects", scene.objects)):
        for index, entity in enumerate(entities):
            reason = name_flaw(entity.name) or name_flaw(entity.category)
            if entity.name in workspaces - {scene.arena.workspace}:
                reason = (
                    f"{quote(entity.name)} is the workspace of another arena; "
                    f"the arena '{scene.arena}' has '{scene.arena.workspace}'"
                )
            elif entity.name in seen:
                reason = f"the name {quote(entity.name)} is taken: it is {seen[entity.name]} already"
            seen[entity.name] = "a fixture" if section == "fixtures" else "an object"
            reason = reason or _look_flaw(entity)
            if reason is not None:
                yield TaskFlaw((section, index), reason)
    for index, region in enumerate(scene.regions):
        reason = name_flaw(region.name) or name_flaw(region.target)
        if region.full_name in seen:
            reason = f"the name {quote(region.full_name)} is taken: it is {seen[region.full_name]} already"
        seen[region.full_name] = "a region"
        if reason is not None:
            yield TaskFlaw(("regions", index), reason)


def _look_flaw(entity: Entity) -> str | None:
    """Return the error in an object's size and finish, or None."""
    if not 0 < entity.size < math.inf:
        return f"the size of {quote(entity.name)} is {entity.size:g}; valid: a factor above 0"
    if entity.finish.colour is not None and not all(0 <= value <= 1 for value in entity.finish.colour):
        return f"the colour of {quote(entity.name)} needs three numbers from 0 to 1"
    return None


def _region_flaws(scene: Scene) -> Iterator[TaskFlaw]:
    for index, region in enumerate(scene.regions):
        for number, rectangle in enumerate(region.rectangles):
            reason = rectangle_flaw(rectangle)
            if reason is not None:
                yield TaskFlaw(("regions", index, "rectangles", number), reason)
        if region.target == scene.arena.workspace and not region.rectangles:
            yield TaskFlaw(
                ("regions", index),
                f"region {quote(region.name)} lies on the workspace {quote(region.target)}: "
                "it needs a rectangle",
            )
        for key, numbers in (("yaw", region.yaw), ("rgba", region.rgba)):
            if numbers is not None and not _all_finite(numbers):
                yield TaskFlaw(("regions", index, key), f"{key} needs finite numbers, not {tuple(numbers)}")


def _all_finite(numbers: Iterable[float]) -> bool:
    return all(map(math.isfinite, numbers))
