"""Episodes reported by other tools, and the names that these tools use for LIBERO's tasks.

    libero_goal, "open the top drawer and put the bowl inside"             LIBERO's task: a control
    libero_goal_swap, ...                                                  LIBERO-PRO's suite of swapped positions
    libero_goal, "turn on the stove view 0 0 100 0 0 initstate 17"         LIBERO-plus: another initial robot state

LIBERO-plus passes the task's name with its suffix as the prompt, so the logged prompt identifies the perturbation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from assay import tasks
from assay.episodes import CONTROL, Change, Episode, Outcome
from assay.tasks.formats import Label, ReleaseError, libero_pro, task_and_suffix

SCENE_PREFIX = re.compile(r"^[A-Z_]*SCENE\d+_")
"""Prefix before the instruction in the names of LIBERO-100's task files."""
AXES: Mapping[str, str] = {
    **dict.fromkeys((Change.NAMES, Change.WORDING, Change.SURFACE, Change.TASK), "words"),
    **dict.fromkeys((Change.SENSES, Change.LATENCY), "senses"),
    **dict.fromkeys((Change.POSITION, Change.APPEARANCE, Change.OBJECT, Change.CLUTTER), "world"),
    **dict.fromkeys((Change.ROOM, Change.CAMERA, Change.ROBOT, Change.DIFFICULTY, Change.WORLD), "world"),
}
"""Change -> perturbation axis (words, world or senses) to which it belongs."""
PRO_CHANGES: Mapping[str, str] = {
    "object": Change.OBJECT,
    "position": Change.POSITION,
    "displacement": Change.POSITION,
    "semantic": Change.WORDING,
    "task": Change.TASK,
    "environment": Change.ROOM,
}
PRO_TYPES: Mapping[str, str] = {**libero_pro.FROZEN, "language": "semantic"}
"""Name of a change in LIBERO-PRO's tools -> its name in the paper."""
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
"""Part of a suffix -> LIBERO-plus's category and the type of the change."""
PRO_UNNAMED_SUITE = "temp"
"""Suffix of the suite that LIBERO-PRO's tool generates at run time; it is the same for every type of change."""
_DEFAULT_VIEW = "0 0 100 0 0"
_PLUS_SUFFIX = re.compile(
    r"(?:language (?P<language>\d+))?\s*(?:view (?P<view>\d+ \d+ \d+ \d+ \d+) initstate (?P<start>\d+)"
    r"(?: noise (?P<noise>\d+))?|(?P<file>add|light|table|tb) \d+|(?:moved )?(?P<level>level)\d+ sample\d+)?"
)
_OUTCOMES = {
    Outcome.SUCCESS: ("true", "1", "1.0", "yes", "success"),
    Outcome.FAILURE: ("false", "0", "0.0", "no", "failure", "fail", "failed"),
    Outcome.ERROR: ("error",),
}


@dataclass(frozen=True, slots=True)
class TaskCondition:
    """The task and condition of an episode."""

    task: str
    """Id of a built-in task, or the name of a task that is not built in."""
    condition: str = CONTROL
    change: str = ""
    """Type of change, such as ``position``; empty to use the condition's name."""
    variant: str = ""
    """Label that distinguishes episodes with the same condition, task and trial."""
    labels: Mapping[str, Label] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class ReportedEpisode:
    """One episode reported by another evaluation tool."""

    name: TaskCondition
    trial: int
    """Seed, or number of the episode within its task and condition; equal numbers mean equal initial states."""
    episode: Episode

    @property
    def is_control(self) -> bool:
        """Whether the episode is unperturbed."""
        return self.name.condition == CONTROL


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """All episodes of one policy in one file."""

    tool: str
    """Program that wrote the file: ``vla-eval``, ``lerobot-eval``, ..."""
    policy: str
    """Name of the policy; empty if the file does not contain it."""
    episodes: tuple[ReportedEpisode, ...]
    settings: Mapping[str, object] = field(default_factory=dict)
    stored: bool = False
    """Whether trial n starts from LIBERO's stored initial state n."""
    remarks: tuple[str, ...] = ()
    """Sentences about missing or uncertain information."""


@dataclass(frozen=True, slots=True)
class ResultFormat:
    """A file format from which results can be imported."""

    name: str
    """Name in messages, such as "vla-eval recording (recording-*.sqlite)"."""
    recognises: Callable[[Path, bytes], bool]
    """Function that returns whether a file has this format, given its path and first bytes."""
    read: Callable[[Path], tuple[Evaluation, ...]]
    """Function that returns the evaluations in a file, and raises ReleaseError if the file is invalid."""


def parse_outcome(value: object, place: str) -> Outcome:
    """Convert a reported value to success, failure or error. Raises ReleaseError for anything else."""
    text = str(value).strip().lower()
    for outcome, words in _OUTCOMES.items():
        if text in words:
            return outcome
    raise ReleaseError(f"{place}: success is '{value!s:.40}'; expected true or false, 1 or 0, or error")


def normalise(text: str) -> str:
    """Convert an instruction, or a file name that contains one, to lower case with single spaces."""
    return " ".join(SCENE_PREFIX.sub("", text.removesuffix(".bddl")).replace("_", " ").lower().split())


def find_task(name: str, suite: str = "") -> str | None:
    """Return the id of a built-in task, given its id, its number in its suite, its file name or its instruction.

    Returns None if there is no such task or if several tasks share the instruction.
    """
    text = name.strip()
    for id in (text, f"{suite}/{text}"):
        if id in tasks.built_in_ids():
            return id
    match = task_and_suffix(text.removesuffix(".bddl"))
    if match is not None and not match[1] and match[0].startswith(suite):
        return match[0]
    return _tasks_by_instruction(suite).get(normalise(text))


def parse_names(
    suite: str, task: str, category: str | None = None, difficulty: int | None = None
) -> TaskCondition:
    """Return the task and condition for a reported suite and a task name, number or prompt.

    ``category`` and ``difficulty`` are those of LIBERO-plus, if the file contains them.
    """
    base, condition, change = _parse_suite(suite)
    labels: dict[str, Label] = {} if difficulty is None else {"difficulty": difficulty}
    if category is None and (id := find_task(task, base)) is not None:
        return TaskCondition(id, condition, change, labels=labels)
    text = normalise(task)
    by_instruction = _tasks_by_instruction(base) if base else {}
    prefixes = [known for known in by_instruction if text == known or text.startswith(f"{known} ")]
    if prefixes:
        prefix = max(prefixes, key=len)
        rest = text.removeprefix(prefix).strip()
        suffix = _PLUS_SUFFIX.fullmatch(rest)
        if suffix is not None and (rest or category):
            changes = {
                suffix["file"] or suffix["level"] or "": True,
                "language": suffix["language"] is not None,
                "noise": suffix["noise"] is not None,
                "start": suffix["start"] not in (None, "0"),
                "view": suffix["view"] not in (None, _DEFAULT_VIEW),
            }
            part = next((part for part, differs in changes.items() if part and differs), "")
            name, change = PLUS_CATEGORIES.get(part, (category or "", str(Change.WORLD)))
            return TaskCondition(
                by_instruction[prefix], plus_condition(category or name), change, rest, labels
            )
    if category is not None:
        change = next((known for name, known in PLUS_CATEGORIES.values() if name == category), Change.WORLD)
        return TaskCondition(text, plus_condition(category), str(change), text, labels)
    if base and condition != CONTROL:
        return TaskCondition(text, condition, change, labels=labels)
    return TaskCondition("/".join(part for part in (suite, task) if part) or "task")


def plus_condition(category: str) -> str:
    """Return the condition for a LIBERO-plus category, as in the experiment ``libero-plus``."""
    return f"libero-plus/{'-'.join(category.lower().split())}"


def _parse_suite(name: str) -> tuple[str, str, str]:
    """Return LIBERO's suite, the condition and the change; the names of other suites are returned unchanged."""
    base = next((suite for suite in tasks.suites() if name == suite or name.startswith(f"{suite}_")), "")
    rest = name.removeprefix(base).lstrip("_") if base else ""
    if not base or not rest:
        return base or name, CONTROL, ""
    dimension = libero_pro.dimension_of(rest)
    if dimension is None:
        return base, f"libero-pro/{rest}", "" if rest == PRO_UNNAMED_SUITE else str(Change.WORLD)
    kind, axis, distance = dimension
    condition = f"libero-pro/{kind}" + (f"={axis}{distance:g}" if distance is not None else "")
    return base, condition, PRO_CHANGES[kind]


@cache
def _tasks_by_instruction(suite: str) -> dict[str, str]:
    """Map unambiguous instructions to task ids, for one suite or, if ``suite`` is empty, for all suites."""
    ids: dict[str, set[str]] = {}
    for id in tasks.built_in_ids():
        if id.startswith(f"{suite}/" if suite else ""):
            entry = tasks.entry(id)
            instruction = str(entry.task.instruction)
            for name in (normalise(instruction), normalise(entry.file or instruction)):
                ids.setdefault(name, set()).add(id)
    return {text: next(iter(tasks_of)) for text, tasks_of in ids.items() if len(tasks_of) == 1}
