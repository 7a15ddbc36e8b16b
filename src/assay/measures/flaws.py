"""What can be wrong with a policy, how much of it, and what follows from it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from assay.stats.intervals import Interval


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
    LOSS = "loss"
    """None of the others, but a loss all the same."""
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
    lacking: str = "no run changes this alone, with controls that succeed"
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


CONSEQUENCES: dict[str, tuple[Flaw, ...]] = {
    Flaw.MEMORISES: (
        *(Flaw.IGNORES_WORDS, Flaw.OTHER_TASKS, Flaw.POSITION, Flaw.OBJECT, Flaw.CLUTTER, Flaw.ROOM),
        Flaw.ROBOT,
    ),
    Flaw.IGNORES_WORDS: (Flaw.OTHER_TASKS,),
    Flaw.APPEARANCE: (Flaw.OBJECT,),
    Flaw.MISSES: (Flaw.UNABLE,),
    Flaw.UNTOLD: (Flaw.WORDLESS, Flaw.PICTURELESS),
}
"""Flaw -> what it brings about, as far as it goes."""
