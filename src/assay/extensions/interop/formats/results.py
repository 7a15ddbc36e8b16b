"""What readers of other people's results yield: one value for each episode, whichever file it was in."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from assay import tasks
from assay.episodes import CONTROL, Change, Outcome, Trajectory, no_trajectory
from assay.tasks.formats import Label, ReleaseError, task_and_suffix

SCENE = re.compile(r"^[A-Z_]*SCENE\d+_")
"""How names of LIBERO-100's task files begin; what follows is the instruction."""
AXES: Mapping[str, str] = {
    Change.NAMES: "words",
    Change.WORDING: "words",
    Change.SURFACE: "words",
    Change.TASK: "words",
    **dict.fromkeys((Change.SENSES, Change.LATENCY), "senses"),
    **dict.fromkeys((Change.POSITION, Change.APPEARANCE, Change.OBJECT, Change.CLUTTER), "world"),
    **dict.fromkeys((Change.ROOM, Change.CAMERA, Change.ROBOT, Change.DIFFICULTY, Change.WORLD), "world"),
}
"""The axis of each change that findings know by name."""


@dataclass(frozen=True, slots=True, eq=False)
class ReportedEpisode:
    """One episode, as somebody else's evaluation reports it."""

    task: str
    """A built-in task's id where it is one, or else what they call it."""
    trial: int
    """Their seed, or the number of the episode of its task and condition: episodes of one trial start alike."""
    outcome: Outcome
    condition: str = CONTROL
    change: str = ""
    """What was changed, as findings name it (``position``); the condition's own name where it is empty."""
    variant: str = ""
    """Which one of its condition, where a condition has several of one task and trial."""
    steps: int = 0
    seconds: float = 0.0
    decisions: int = 0
    instruction: str = ""
    error: str = ""
    trajectory: Trajectory = field(default_factory=no_trajectory)
    labels: Mapping[str, Label] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """All episodes of one policy that a file, or several files of one evaluation, hold."""

    tool: str
    """What wrote them: ``vla-eval``, ``lerobot-eval``, ..."""
    policy: str
    """Empty where no file says it."""
    episodes: tuple[ReportedEpisode, ...]
    settings: Mapping[str, object] = field(default_factory=dict)
    started: str = ""
    stored: bool = False
    """Whether a trial is the number of LIBERO's stored initial state."""
    remarks: tuple[str, ...] = ()
    """What could not be read, or is not certain, a sentence each."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of file that results are read from."""

    name: str
    """For people: "vla-eval recording (recording-*.sqlite)"."""
    recognises: Callable[[Path, bytes], bool]
    """Whether a file is one: its path and its first bytes."""
    read: Callable[[Path], tuple[Evaluation, ...]]
    """Its evaluations. Raises ReleaseError where it makes no sense."""


def known_task(name: str, suite: str = "") -> str | None:
    """The id of the built-in task that is meant by an id, a number in its suite, a file's name or an instruction.

    None where there is none, or an instruction is that of several tasks.
    """
    text = name.strip()
    ids = _ids()
    if text in ids:
        return text
    if f"{suite}/{text}" in ids:
        return f"{suite}/{text}"
    found = task_and_suffix(text.removesuffix(".bddl"))
    if found is not None and not found[1] and found[0].startswith(suite):
        return found[0]
    return _told(suite).get(said(text)) if suite else _told("").get(said(text))


def task_told(text: str, suite: str) -> tuple[str, str] | None:
    """The task of a suite with whose instruction a text begins, and the rest of it; None where there is none."""
    plain = said(text)
    fitting = [each for each in _told(suite) if plain == each or plain.startswith(f"{each} ")]
    if not fitting:
        return None
    longest = max(fitting, key=len)
    return _told(suite)[longest], plain.removeprefix(longest).strip()


def said(text: str) -> str:
    """An instruction, or a file's name that holds it, as it is compared: small letters, single blanks."""
    return " ".join(SCENE.sub("", text.removesuffix(".bddl")).replace("_", " ").lower().split())


def outcome_of(value: object, place: str) -> Outcome:
    """Success, failure or error of what a file says. Raises ReleaseError for anything else."""
    if isinstance(value, bool):
        return Outcome.SUCCESS if value else Outcome.FAILURE
    text = str(value).strip().lower()
    for outcome, words in _OUTCOMES.items():
        if text in words:
            return outcome
    raise ReleaseError(f"{place}: success is '{value!s:.40}'; valid: true or false, 1 or 0, or error")


_OUTCOMES = {
    Outcome.SUCCESS: ("true", "1", "1.0", "yes", "success"),
    Outcome.FAILURE: ("false", "0", "0.0", "no", "failure", "fail", "failed"),
    Outcome.ERROR: ("error",),
}


@cache
def _ids() -> frozenset[str]:
    return frozenset(tasks.built_in_ids())


@cache
def _told(suite: str) -> dict[str, str]:
    """Instructions and the ids of the tasks of a suite, or of all; those that several tasks share are left out."""
    found: dict[str, set[str]] = {}
    for id in tasks.built_in_ids():
        if id.startswith(f"{suite}/" if suite else ""):
            entry = tasks.entry(id)
            names = {said(str(entry.task.instruction)), said(entry.file or str(entry.task.instruction))}
            for name in names:
                found.setdefault(name, set()).add(id)
    return {text: next(iter(ids)) for text, ids in found.items() if len(ids) == 1}
