"""Flaws of policies: their names, the changes that reveal them, and the claims about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from assay.episodes.perturbation import TOGETHER, Change
from assay.support.stats.intervals import Interval


class Flaw(StrEnum):
    """Flaws tested by the built-in measures; other measures define an `OwnFlaw`.

    Each has a name (its value, as in JSON), the claim about a policy that has it, and the single change that reveals
    it, if any.
    """

    claim: str
    change: Change | None

    def __new__(cls, name: str, claim: str, change: Change | None = None) -> Flaw:
        """Create a member whose value is its name."""
        flaw = str.__new__(cls, name)
        flaw._value_, flaw.claim, flaw.change = name, claim, change
        return flaw

    MEMORISES = "memorises", "Memorised trajectories"
    IGNORES_WORDS = "ignores words", "Ignores the instruction"
    UNKNOWN_NAMES = "unknown names", "Fails when objects are called by other names", Change.NAMES
    WORDING = "wording", "Fails when the instruction is phrased differently", Change.WORDING
    SURFACE = "surface", "Fails when the same words are written differently"
    """Sensitivity to punctuation, capitalisation, whitespace or politeness in the instruction."""
    OTHER_TASKS = "other tasks", "Does not perform another task in the same scene when asked", Change.TASK
    MISSES = "misses", "Execution errors"
    UNABLE = "unable", "Fails unperturbed tasks"
    POSITION = "position", "Depends on object positions", Change.POSITION
    APPEARANCE = "appearance", "Depends on object appearance", Change.APPEARANCE
    OBJECT = "object", "Depends on the appearance, size or category of the object", Change.OBJECT
    CLUTTER = "clutter", "Distracted by additional objects", Change.CLUTTER
    ROOM = "room", "Depends on background and lighting", Change.ROOM
    CAMERA = "camera", "Depends on the camera pose", Change.CAMERA
    ROBOT = "robot", "Depends on the robot pose", Change.ROBOT
    SENSES = "senses", "Not robust to disturbances of observations or actions", Change.SENSES
    LATENCY = "latency", "Fails when its decisions are delayed", Change.LATENCY
    NO_SECOND_LOOK = "never looks again", "Does not react when objects move mid-episode", Change.MEANWHILE
    NOT_LISTENING = (
        "never listens again",
        "Does not follow an instruction that changes mid-episode",
        Change.REQUEST,
    )
    CANNOT_STOP = "cannot stop", "Does not stop when the instruction is cancelled", Change.CANCEL
    INTERRUPTED = "thrown off", "Distracted by irrelevant mid-episode changes", Change.INTERRUPTION
    KIND = "kind of task", "Performs worse on one kind of task"
    CHANGE = "other change", "Depends on another changed property"
    """Loss under a change not listed above, such as one from a plugin."""
    PARTICULAR = "particular cases", "Fails in particular cases"
    """Loss in one task, for one phrasing of the action or in one condition, found by search."""
    LOSS = "loss", "Loses success under changes that should not matter"
    """Overall drop in success over all changes that should not matter."""
    NOTHING = "nothing", "No flaw found"


@dataclass(frozen=True, slots=True)
class OwnFlaw:
    """Flaw defined by a measure, with its text for reports."""

    name: str
    """Name of the flaw in tests and in JSON."""
    claim: str
    """Claim about a policy that has the flaw, such as ``Walks in circles``."""
    absent: str
    """Claim about a policy shown not to have the flaw, such as ``Goes straight``."""
    lacking: str = "no episode in which only this aspect was changed has a successful control"
    """Reason given if the runs could not test the flaw."""
    consequences: tuple[str, ...] = ()
    """Other flaws that this flaw can cause."""


ABSENT: Mapping[str, str] = {Flaw.UNABLE: "Performs the tasks", Flaw.WORDING: "Robust to paraphrases"}
"""Claim about a policy shown not to have a flaw, by flaw."""
_NO_OTHER_REQUEST = "no run has instructions that do not request the task"
LACKING: Mapping[tuple[str, str], str] = {
    ("memorisation", Flaw.MEMORISES): "in no run is the object of the task moved by 10 cm or more",
    ("memorisation", Flaw.IGNORES_WORDS): _NO_OTHER_REQUEST,
    ("nonsense", Flaw.IGNORES_WORDS): _NO_OTHER_REQUEST,
    ("failures", Flaw.MISSES): "no run has failed controls that can be compared with successful trajectories",
    ("other_tasks", Flaw.OTHER_TASKS): "no run both requests another task and has a control for that task",
    ("starts", Flaw.UNABLE): "no run has a control that ended without an error",
}
"""Reason given if the runs could not test a flaw, by measure and flaw."""


class Degree(StrEnum):
    """Extent of a flaw, judged by the interval for the fraction of episodes that it affects."""

    MOSTLY = "mostly"
    """The fraction is significantly above one half."""
    PARTLY = "at least in part"
    """The interval of the fraction includes one half."""
    RARELY = "at times"
    """The fraction is significantly below one half."""

    @classmethod
    def of(cls, fraction: Interval) -> Degree:
        """Return the extent, given the interval for a fraction (0 to 1)."""
        return cls.MOSTLY if fraction.low > 0.5 else cls.RARELY if fraction.high < 0.5 else cls.PARTLY


BY_CHANGE: Mapping[str, Flaw] = {str(flaw.change): flaw for flaw in Flaw if flaw.change is not None}
"""Flaw revealed by a loss under a single change, by change; any other change reveals `Flaw.CHANGE`."""
_OBJECT_IDENTITY = frozenset({str(Change.APPEARANCE), str(Change.OBJECT)})
"""Two changes that together replace an object: its category and its appearance."""


@cache
def shown_by(change: str) -> tuple[Flaw, ...]:
    """Return the flaws of which at least one is present if success is lost under a change.

    A joint change may reveal several.
    """
    parts = set(change.split(TOGETHER))
    flaws: list[Flaw] = []
    if parts >= _OBJECT_IDENTITY:
        flaws, parts = [Flaw.OBJECT], parts - _OBJECT_IDENTITY
    flaws += [BY_CHANGE.get(part, Flaw.CHANGE) for part in sorted(parts)]
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
"""Flaws that each flaw can cause."""
BY_PATH = (Flaw.MEMORISES, Flaw.IGNORES_WORDS)
"""Flaws that are visible in the trajectories of the affected episodes."""
