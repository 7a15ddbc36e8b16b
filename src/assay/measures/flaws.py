"""What can be wrong with a policy, how much of it, and what follows from it."""

from __future__ import annotations

from enum import StrEnum

from assay.stats.intervals import Interval


class Flaw(StrEnum):
    """What can be wrong with a policy."""

    MEMORISES = "memorises"
    IGNORES_WORDS = "ignores words"
    UNKNOWN_NAMES = "unknown names"
    WORDING = "wording"
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


CONSEQUENCES = {
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
