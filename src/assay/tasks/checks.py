"""Validation of tasks: every name is declared once, and every relation refers to declared objects.

The same checks apply to task files (which add the line number), the catalogue (which adds the file and key) and tasks
built by programs (`check`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from pydantic import ValidationError

from assay.errors import TaskError, did_you_mean, one_line
from assay.tasks.scene import Arena, Atom, Goal, Predicate, Scene, Task

_NAME = re.compile(r"[a-z0-9_][a-z0-9_.-]*")
_STYLE = re.compile(r"[A-Za-z0-9_.-]*")
_CONNECTIVES = frozenset(
    {"and", "or", "not", "forall", "exists", "imply", "when", "forn", "forpairs", "fornpairs"}
)
_PREDICATES = {predicate.value.lower(): predicate for predicate in Predicate}


class TaskFlaw(NamedTuple):
    """An error in a task."""

    where: tuple[str | int, ...]
    """Path of the invalid value: ``("regions", 3, "rectangles", 0)``."""
    reason: str

    @property
    def place(self) -> str:
        """Path of the invalid value as text: ``regions[3].rectangles[0]``."""
        steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.where)
        return "".join(steps).removeprefix(".")


def check(task: Task, *, silent: bool = False) -> None:
    """Raise TaskError for the first error in a task.

    ``silent`` permits an empty instruction.
    """
    for flaw in flaws(task.scene, task.goal, task.of_interest):
        raise TaskError(f"{task.id}: {flaw.place}: {flaw.reason}")
    if not silent and not task.instruction.text.strip():
        raise TaskError(f"{task.id}: the instruction is empty")


def flaws(scene: Scene, goal: Goal, of_interest: Sequence[str]) -> Iterator[TaskFlaw]:
    """Yield all errors in a scene, its goal and its objects of interest, in reading order."""
    if not _STYLE.fullmatch(scene.style):
        yield TaskFlaw(
            ("style",), f"{quote(scene.style)} is not a valid style (allowed: letters, digits, '_', '-', '.')"
        )
    owners = {scene.arena.workspace: "the workspace"}
    workspaces = {arena.workspace for arena in Arena} - {scene.arena.workspace}
    for section, kind, entities in (
        ("fixtures", "a fixture", scene.fixtures),
        ("objects", "an object", scene.objects),
    ):
        for index, entity in enumerate(entities):
            reason = _name_flaw(entity.name) or _name_flaw(entity.category)
            if not all(0 <= value <= 1 for value in entity.finish.colour or ()):
                reason = f"the colour of {quote(entity.name)} must be three numbers from 0 to 1"
            if not 0 < entity.size < math.inf:
                reason = f"the size of {quote(entity.name)} is {entity.size:g}; expected a factor above 0"
            if entity.name in workspaces:
                reason = (
                    f"{quote(entity.name)} is the workspace of another arena; "
                    f"the arena '{scene.arena}' has '{scene.arena.workspace}'"
                )
            if entity.name in owners:
                reason = f"the name {quote(entity.name)} is already taken by {owners[entity.name]}"
            owners[entity.name] = kind
            if reason:
                yield TaskFlaw((section, index), reason)
    present, targets = {*owners, *scene.absent}, {}
    for index, region in enumerate(scene.regions):
        name = region.full_name
        if name in owners:
            yield TaskFlaw(("regions", index), f"the name {quote(name)} is already taken by {owners[name]}")
        owners[name], targets[name] = "a region", region.target
        if reason := _name_flaw(region.name) or _name_flaw(region.target):
            yield TaskFlaw(("regions", index), reason)
        for number, rectangle in enumerate(region.rectangles):
            where = ("regions", index, "rectangles", number)
            if not all(map(math.isfinite, rectangle)):
                yield TaskFlaw(where, f"a rectangle must consist of finite numbers, not {tuple(rectangle)}")
            x_min, y_min, x_max, y_max = rectangle
            for axis, low, high in (("x", x_min, x_max), ("y", y_min, y_max)):
                if low > high:
                    reason = f"the minimum {axis} of a rectangle, {low}, exceeds its maximum, {high}"
                    yield TaskFlaw(where, reason)
        if region.target == scene.arena.workspace and not region.rectangles:
            place = f"lies on the workspace {quote(region.target)}, so it needs a rectangle"
            yield TaskFlaw(("regions", index), f"region {quote(region.name)} {place}")
        for key, numbers in (("yaw", region.yaw), ("rgba", region.rgba)):
            if not all(map(math.isfinite, numbers or ())):
                yield TaskFlaw(
                    ("regions", index, key), f"{key} must consist of finite numbers, not {numbers}"
                )

    def name_flaws(names: Sequence[str], *where: str | int) -> Iterator[TaskFlaw]:
        for name in names:
            if name not in present and name not in targets:
                nearest = did_you_mean(name[:80], present | targets.keys())
                yield TaskFlaw(where, f"unknown object or region {quote(name)}; {nearest}")
            elif name not in present and targets[name] not in present:
                owner = quote(targets[name])
                yield TaskFlaw(where, f"region {quote(name)} belongs to {owner}, which is not in the scene")

    for section, atoms in (("initial", scene.initial), ("goal", goal.atoms)):
        for index, atom in enumerate(atoms):
            if reason := _arity_flaw(atom.predicate, len(atom.arguments)):
                yield TaskFlaw((section, index), reason)
            yield from name_flaws(atom.arguments, section, index)
    if not goal.atoms:
        yield TaskFlaw(("goal",), "the goal is empty, so it would already be satisfied at the start")
    for index, name in enumerate(of_interest):
        yield from name_flaws([name], "of_interest", index)


def _name_flaw(name: str) -> str:
    """Return the reason why a new name is invalid; empty if it is valid."""
    if _NAME.fullmatch(name):
        return ""
    return f"{quote(name)} is not a valid name (allowed: lower-case letters, digits, '_', '-', '.')"


def _arity_flaw(predicate: Predicate, count: int) -> str:
    """Return the reason why a predicate cannot take ``count`` names; empty if it can."""
    if count == predicate.arity:
        return ""
    names = "one name" if predicate.arity == 1 else f"{predicate.arity} names"
    return f"{predicate.value} takes {names}, not {count}"


def parse_atom(words: Iterable[str]) -> Atom:
    """Parse a relation such as ``On plate_1 main_table_plate_region``, ignoring case. Raises TaskError.

    The predicate is checked before the next word is read. Names are not checked, because that requires a scene.
    """
    words = iter(words)
    word = next(words, "")
    if word.lower() in _CONNECTIVES:
        raise TaskError(f"{quote(word)} is not supported: a goal is one predicate or an 'And' of predicates")
    if word.lower() not in _PREDICATES:
        raise TaskError(f"unknown predicate {quote(word)}; {did_you_mean(word[:80], Predicate)}")
    predicate, names = _PREDICATES[word.lower()], tuple(name.lower() for name in words)
    if reason := _arity_flaw(predicate, len(names)):
        raise TaskError(reason)
    return Atom(predicate, names)


def validation_reason(error: ValidationError) -> str:
    """Return the location and the message of the first error in a file's content, on one line."""
    first = error.errors()[0]
    place = ".".join(map(str, first["loc"]))
    return one_line(f"{place}: {first['msg'][:1].lower()}{first['msg'][1:]}".removeprefix(": "))


def quote(text: str, *, limit: int = 60) -> str:
    """Quote an external name for a message, on one line and with at most ``limit`` characters."""
    text_ = text if len(text) <= limit else text[: limit - 3] + "..."
    return "'" + "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text_) + "'"
