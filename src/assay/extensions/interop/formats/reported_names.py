"""What evaluations of LIBERO, LIBERO-plus and LIBERO-PRO call suites and tasks, read once for all who report them.

    libero_goal, "open the top drawer and put the bowl inside"             LIBERO's task: a control
    libero_goal_swap, ...                                                  LIBERO-PRO's suite of exchanged places
    libero_goal, "turn on the stove view 0 0 100 0 0 initstate 17"         LIBERO-plus: the arm starts elsewhere

LIBERO-plus tells its policies the name of the task with its suffix, so that the prompt in a log says what was changed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from assay import tasks
from assay.episodes import CONTROL, Change
from assay.episodes.perturbation import changed_by
from assay.extensions.interop.formats.results import known_task, said, task_told
from assay.tasks.formats import Label, libero_pro

PRO_CHANGES: Mapping[str, str] = {
    "object": Change.OBJECT,
    "position": Change.POSITION,
    "displacement": Change.POSITION,
    "semantic": Change.WORDING,
    "task": Change.TASK,
    "environment": Change.ROOM,
}
PRO_TYPES: Mapping[str, str] = {**libero_pro.FROZEN, "language": "semantic"}
"""What LIBERO-PRO's tools call a change -> what the paper calls it."""
PLUS_CATEGORIES: Mapping[str, tuple[str, str]] = {
    "add": ("Objects Layout", Change.CLUTTER),
    "level": ("Objects Layout", Change.POSITION),
    "light": ("Light Conditions", Change.ROOM),
    "table": ("Background Textures", Change.ROOM),
    "tb": ("Background Textures", Change.ROOM),
    "language": ("Language Instructions", Change.WORDING),
    "noise": ("Sensor Noise", Change.SENSES),
    "start": ("Robot Initial States", Change.ROBOT),
    "view": ("Camera Viewpoints", Change.CAMERA),
}
"""What a suffix changes -> LIBERO-plus's category, and how findings name the change."""
MIXED = "temp"
"""What LIBERO-PRO's tool calls the suite that it has just made, whatever it changes."""
_USUAL_VIEW = "0 0 100 0 0"
_SUFFIX = re.compile(
    r"(?:language (?P<language>\d+))?\s*(?:view (?P<view>\d+ \d+ \d+ \d+ \d+) initstate (?P<start>\d+)"
    r"(?: noise (?P<noise>\d+))?|(?P<file>add|light|table|tb) \d+|(?:moved )?(?P<level>level)\d+ sample\d+)?"
)


@dataclass(frozen=True, slots=True)
class Named:
    """The task and condition that a name stands for."""

    task: str
    condition: str = CONTROL
    change: str = ""
    variant: str = ""
    labels: Mapping[str, Label] = field(default_factory=dict)


def named(suite: str, task: str, category: str | None = None, difficulty: int | None = None) -> Named:
    """What a suite and a task's name, number or prompt stand for; ``category``: LIBERO-plus's, where it is said."""
    base, condition, change = _suite(suite)
    labels: dict[str, Label] = {} if difficulty is None else {"difficulty": difficulty}
    if (known := known_task(task, base)) is not None and category is None:
        return Named(known, condition, change, labels=labels)
    found = task_told(task, base) if base else None
    suffix = _SUFFIX.fullmatch(found[1]) if found is not None else None
    if found is not None and suffix is not None and (found[1] or category):
        what = _changed(suffix)
        name, change = PLUS_CATEGORIES.get(what, (category or "", str(Change.WORLD)))
        return Named(found[0], plus_condition(category or name), change, found[1], labels)
    if category is not None:
        change = next((what for name, what in PLUS_CATEGORIES.values() if name == category), Change.WORLD)
        return Named(said(task), plus_condition(category), str(change), said(task), labels)
    if base and condition != CONTROL:
        return Named(said(task), condition, change, labels=labels)
    return Named("/".join(part for part in (suite, task) if part) or "task")


def pro_condition(kind: str) -> tuple[str, str]:
    """The condition of LIBERO-PRO's ``perturbation_type``, and how findings name its change; ``none`` is a control."""
    if kind in ("", "none"):
        return CONTROL, ""
    parts = [PRO_TYPES.get(part, part) for part in kind.split("+")]
    return f"libero-pro/{'+'.join(parts)}", changed_by(PRO_CHANGES.get(part, part) for part in parts)


def plus_condition(category: str) -> str:
    """The condition of a category of LIBERO-plus, as the experiment ``libero-plus`` calls it."""
    return f"libero-plus/{'-'.join(category.lower().split())}"


def _suite(name: str) -> tuple[str, str, str]:
    """LIBERO's suite, the condition and what is changed; the name itself where it is none of these."""
    base = next((suite for suite in tasks.suites() if name == suite or name.startswith(f"{suite}_")), "")
    rest = name.removeprefix(base).lstrip("_") if base else ""
    if not base or not rest:
        return base or name, CONTROL, ""
    known = libero_pro.dimension_of(rest)
    if known is None:
        return base, f"libero-pro/{rest}", "" if rest == MIXED else str(Change.WORLD)
    dimension, axis, distance = known
    condition = f"libero-pro/{dimension}" + (f"={axis}{distance:g}" if distance is not None else "")
    return base, condition, PRO_CHANGES[dimension]


def _changed(suffix: re.Match[str]) -> str:
    """Which part of a suffix of LIBERO-plus changes something."""
    for part in ("file", "level", "language", "noise"):
        if suffix[part] is not None:
            return suffix[part] if part in ("file", "level") else part
    if suffix["start"] not in (None, "0"):
        return "start"
    return "view" if suffix["view"] not in (None, _USUAL_VIEW) else ""
