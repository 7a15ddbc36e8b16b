"""What can be wrong with a policy, how much of it, and what follows from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from types import MappingProxyType

from assay.episodes.perturbation import TOGETHER, Change
from assay.support.stats.intervals import Interval


class Flaw(StrEnum):
    """What Assay's own measures find wrong with a policy; others bring an `OwnFlaw`."""

    MEMORISES = "memorises"
    IGNORES_WORDS = "ignores words"
    UNKNOWN_NAMES = "unknown names"
    WORDING = "wording"
    SURFACE = "surface"
    """Of the sentence: punctuation, capitals, blanks, courtesy."""
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
    """During an episode; so are the next three."""
    NOT_LISTENING = "never listens again"
    CANNOT_STOP = "cannot stop"
    INTERRUPTED = "thrown off"
    KIND = "kind of task"
    UNTOLD = "untold"
    WORDLESS = "wordless"
    PICTURELESS = "pictureless"
    DESCRIBED = "described things"
    ORDER = "order of objects"
    RETRIES = "tries again"
    DIFFICULTY = "difficulty"
    NOVELTY = "novelty"
    CHANGE = "other change"
    """A change that has no flaw of its own: a plugin's."""
    PARTICULAR = "particular cases"
    """One task, one way to say it, one condition: found by search."""
    LOSS = "loss"
    """Success falls over all changes that should not matter."""
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class OwnFlaw:
    """A flaw that a measure brings along, with what reports say of it."""

    name: str
    """As its tests name it, and in JSON."""
    claim: str
    """What is said of a policy that has it: ``Walks in circles``."""
    absent: str
    """What is said of a policy that is shown not to have it: ``Goes straight``."""
    lacking: str = "no episode changes this alone, beside a control that succeeds"
    """Why runs could not test it, where they could not."""


class Degree(StrEnum):
    """How much of what it does a flaw spoils, as far as an interval tells."""

    MOSTLY = "mostly"
    """More than half, beyond doubt."""
    PARTLY = "at least in part"
    """Half is within the interval: it may be more, it may be less."""
    RARELY = "at times"
    """Less than half, beyond doubt."""

    @classmethod
    def of(cls, share: Interval) -> Degree:
        """The degree of a share (0 to 1)."""
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
"""What is changed alone -> the flaw that a loss shows; any other change is `Flaw.CHANGE`."""
ONE_QUESTION: Mapping[frozenset[str], Flaw] = MappingProxyType(
    {frozenset({Change.APPEARANCE, Change.OBJECT}): Flaw.OBJECT}
)
"""What is one question although it is two changes: what the object is, and how that looks."""


@cache
def shown_by(change: str) -> tuple[Flaw, ...]:
    """The flaws of which one at least is there if success is lost under a change: several, if it is several."""
    parts, flaws = set(change.split(TOGETHER)), []
    for together, flaw in ONE_QUESTION.items():
        if together <= parts:
            flaws.append(flaw)
            parts -= together
    alone = {str(each): flaw for each, flaw in BY_CHANGE.items()}
    flaws += [alone.get(part, Flaw.CHANGE) for part in sorted(parts)]
    return tuple(dict.fromkeys(flaws))


CONSEQUENCES: dict[str, tuple[Flaw, ...]] = {
    Flaw.MEMORISES: (
        *(Flaw.IGNORES_WORDS, Flaw.OTHER_TASKS, Flaw.POSITION, Flaw.OBJECT, Flaw.CLUTTER, Flaw.ROOM),
        Flaw.ROBOT,
    ),
    Flaw.IGNORES_WORDS: (Flaw.OTHER_TASKS,),
    Flaw.NOT_LISTENING: (Flaw.CANNOT_STOP,),
    Flaw.APPEARANCE: (Flaw.OBJECT,),
    Flaw.MISSES: (Flaw.UNABLE,),
    Flaw.UNTOLD: (Flaw.WORDLESS, Flaw.PICTURELESS),
}
"""Flaw -> what it brings about, as far as it goes."""
