"""Flaws of policies: their names, the changes that reveal them, and the sentences that claim them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from types import MappingProxyType

from assay.episodes.perturbation import TOGETHER, Change
from assay.support.stats.intervals import Interval


class Flaw(StrEnum):
    """Flaws that the built-in measures test; other measures contribute an `OwnFlaw`."""

    MEMORISES = "memorises"
    IGNORES_WORDS = "ignores words"
    UNKNOWN_NAMES = "unknown names"
    WORDING = "wording"
    SURFACE = "surface"
    """Sensitivity to punctuation, capitals, blanks or politeness of the instruction."""
    OTHER_TASKS = "other tasks"
    MISSES = "misses"
    UNABLE = "unable"
    POSITION = "position"
    APPEARANCE = "appearance"
    OBJECT = "object"
    CLUTTER = "clutter"
    ROOM = "room"
    CAMERA = "camera"
    ROBOT = "robot"
    SENSES = "senses"
    LATENCY = "latency"
    NO_SECOND_LOOK = "never looks again"
    """No reaction to a change of the scene during the episode; the next three flaws also concern such events."""
    NOT_LISTENING = "never listens again"
    CANNOT_STOP = "cannot stop"
    INTERRUPTED = "thrown off"
    KIND = "kind of task"
    CHANGE = "other change"
    """Loss under a change not listed above, for example a plugin's."""
    PARTICULAR = "particular cases"
    """Loss in one task, one phrasing of the action or one condition, found by search."""
    LOSS = "loss"
    """Fall of success over all changes that should not matter."""
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class OwnFlaw:
    """A flaw that a measure contributes, with the texts of reports."""

    name: str
    """Name in tests and in JSON."""
    claim: str
    """Claim about a policy that has the flaw: ``Walks in circles``."""
    absent: str
    """Claim about a policy that was shown not to have the flaw: ``Goes straight``."""
    lacking: str = "no episode makes this change alone and has a successful control"
    """Reason why runs could not test the flaw."""
    consequences: tuple[str, ...] = ()
    """Flaws that this one can cause."""


CLAIMS: Mapping[str, str] = MappingProxyType(
    {
        Flaw.MEMORISES: "Memorised trajectories",
        Flaw.IGNORES_WORDS: "Ignores the instruction",
        Flaw.UNKNOWN_NAMES: "Fails when objects are called by other names",
        Flaw.WORDING: "Fails when the instruction is phrased differently",
        Flaw.SURFACE: "Fails when the same words are written differently",
        Flaw.OTHER_TASKS: "Does not perform another task of the same scene when asked",
        Flaw.MISSES: "Execution errors",
        Flaw.UNABLE: "Fails unperturbed tasks",
        Flaw.POSITION: "Depends on object positions",
        Flaw.APPEARANCE: "Depends on object appearance",
        Flaw.OBJECT: "Depends on the appearance, size or category of the object",
        Flaw.CLUTTER: "Distracted by additional objects",
        Flaw.ROOM: "Depends on background and lighting",
        Flaw.CAMERA: "Depends on the camera pose",
        Flaw.ROBOT: "Depends on the robot pose",
        Flaw.SENSES: "Not robust to disturbed observations or actions",
        Flaw.LATENCY: "Fails with delayed decisions",
        Flaw.NO_SECOND_LOOK: "Does not react when objects move mid-episode",
        Flaw.NOT_LISTENING: "Does not follow an instruction that changes mid-episode",
        Flaw.CANNOT_STOP: "Does not stop when the instruction is cancelled",
        Flaw.INTERRUPTED: "Distracted by irrelevant mid-episode changes",
        Flaw.KIND: "Worse at one kind of task",
        Flaw.CHANGE: "Depends on another property that was changed",
        Flaw.PARTICULAR: "Fails in particular cases",
        Flaw.LOSS: "Loses success under changes that should not matter",
        Flaw.NOTHING: "No flaw found",
    }
)
"""Flaw -> the claim about a policy that has it."""
ABSENT: Mapping[str, str] = MappingProxyType(
    {Flaw.UNABLE: "Performs the tasks", Flaw.WORDING: "Robust to paraphrases"}
)
"""Flaw -> the claim about a policy that was shown not to have it."""
DEFAULT_TASK = "Performs the trained task without an instruction"
"""Claim in place of *ignores the instruction* if no episode requested another task."""
LACKING: Mapping[tuple[str, str], str] = MappingProxyType(
    {
        ("memorisation", Flaw.MEMORISES): "no run moves the object of the task by 10 cm or more",
        ("memorisation", Flaw.IGNORES_WORDS): "no run has instructions that do not ask for the task",
        ("nonsense", Flaw.IGNORES_WORDS): "no run has instructions that do not ask for the task",
        (
            "failures",
            Flaw.MISSES,
        ): "no run has controls whose failures can be compared with successful trajectories",
        (
            "other_tasks",
            Flaw.OTHER_TASKS,
        ): "no run asks for another task and also has the control of that task",
        ("starts", Flaw.UNABLE): "no run has a control that ended without an error",
    }
)
"""Measure and flaw -> reason why runs could not test the flaw."""


class Degree(StrEnum):
    """Share of the behaviour that a flaw affects, as far as its interval shows."""

    MOSTLY = "mostly"
    """The share is significantly above one half."""
    PARTLY = "at least in part"
    """The interval of the share includes one half."""
    RARELY = "at times"
    """The share is significantly below one half."""

    @classmethod
    def of(cls, share: Interval) -> Degree:
        """Return the degree that corresponds to the interval of a share (0 to 1)."""
        return cls.MOSTLY if share.low > 0.5 else cls.RARELY if share.high < 0.5 else cls.PARTLY


BY_CHANGE: Mapping[str, Flaw] = MappingProxyType(
    {
        Change.WORDING: Flaw.WORDING,
        Change.NAMES: Flaw.UNKNOWN_NAMES,
        Change.TASK: Flaw.OTHER_TASKS,
        Change.POSITION: Flaw.POSITION,
        Change.APPEARANCE: Flaw.APPEARANCE,
        Change.OBJECT: Flaw.OBJECT,
        Change.CLUTTER: Flaw.CLUTTER,
        Change.ROOM: Flaw.ROOM,
        Change.CAMERA: Flaw.CAMERA,
        Change.ROBOT: Flaw.ROBOT,
        Change.SENSES: Flaw.SENSES,
        Change.LATENCY: Flaw.LATENCY,
        Change.MEANWHILE: Flaw.NO_SECOND_LOOK,
        Change.REQUEST: Flaw.NOT_LISTENING,
        Change.CANCEL: Flaw.CANNOT_STOP,
        Change.INTERRUPTION: Flaw.INTERRUPTED,
    }
)
"""Change made alone -> the flaw that a loss reveals; any other change is `Flaw.CHANGE`."""
_OBJECT_IDENTITY = frozenset({str(Change.APPEARANCE), str(Change.OBJECT)})
"""Two changes that together replace an object: its category, and its appearance."""


@cache
def shown_by(change: str) -> tuple[Flaw, ...]:
    """Return the flaws of which at least one is present if success is lost under a change.

    A joint change may have several.
    """
    parts = set(change.split(TOGETHER))
    flaws: list[Flaw] = []
    if parts >= _OBJECT_IDENTITY:
        flaws, parts = [Flaw.OBJECT], parts - _OBJECT_IDENTITY
    by_name = {str(name): flaw for name, flaw in BY_CHANGE.items()}
    flaws += [by_name.get(part, Flaw.CHANGE) for part in sorted(parts)]
    return tuple(dict.fromkeys(flaws))


CONSEQUENCES: Mapping[str, tuple[str, ...]] = {
    Flaw.MEMORISES: (
        *(Flaw.IGNORES_WORDS, Flaw.OTHER_TASKS, Flaw.POSITION, Flaw.OBJECT, Flaw.CLUTTER, Flaw.ROOM),
        Flaw.ROBOT,
    ),
    Flaw.IGNORES_WORDS: (Flaw.OTHER_TASKS,),
    Flaw.NOT_LISTENING: (Flaw.CANNOT_STOP,),
    Flaw.APPEARANCE: (Flaw.OBJECT,),
    Flaw.MISSES: (Flaw.UNABLE,),
}
"""Flaw -> the flaws that it can cause."""
BY_PATH = (Flaw.MEMORISES, Flaw.IGNORES_WORDS)
"""Flaws that are visible in the trajectories of the affected episodes."""
