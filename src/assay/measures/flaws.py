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
    LOSS = "loss"
    """None of the others, but a loss all the same."""
    NOTHING = "nothing"

    @property
    def claim(self) -> str:
        """What a policy with it does: "it ..."; how often is for a ``Degree`` to say."""
        return _CLAIMS[self]


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


_CLAIMS = {
    Flaw.MEMORISES: "plays back what it has learnt, wherever things are",
    Flaw.IGNORES_WORDS: "does not listen",
    Flaw.UNKNOWN_NAMES: "does not know things by other names",
    Flaw.WORDING: "loses its way when a sentence is put differently, all names kept",
    Flaw.OTHER_TASKS: "does not do another task of the same scene when asked",
    Flaw.MISSES: "knows what to do and misses",
    Flaw.UNABLE: "fails with nothing changed",
    Flaw.POSITION: "depends on where things stand",
    Flaw.APPEARANCE: "depends on how things look",
    Flaw.OBJECT: "depends on the size or the kind of the thing",
    Flaw.CLUTTER: "is put off by further things",
    Flaw.ROOM: "depends on the room and its light",
    Flaw.CAMERA: "depends on where the camera stands",
    Flaw.ROBOT: "depends on where the robot stands",
    Flaw.SENSES: "is put off by disturbed senses",
    Flaw.KIND: "is worse at one kind of task",
    Flaw.UNTOLD: "does the tasks without being told what to do",
    Flaw.WORDLESS: "does the tasks without the words of the prompt",
    Flaw.PICTURELESS: "does the tasks without the pictures of the prompt",
    Flaw.DESCRIBED: "does not find what is described instead of shown",
    Flaw.ORDER: "depends on the order in which things are listed",
    Flaw.RETRIES: "succeeds only by trying again",
    Flaw.DIFFICULTY: "fails where tasks are made harder",
    Flaw.NOVELTY: "fails where something is new",
    Flaw.LOSS: "loses success where something is changed that should not matter",
    Flaw.NOTHING: "does everything right",
}
CONSEQUENCES = {
    Flaw.MEMORISES: (
        *(Flaw.IGNORES_WORDS, Flaw.OTHER_TASKS, Flaw.POSITION, Flaw.OBJECT, Flaw.CLUTTER, Flaw.ROOM),
        Flaw.ROBOT,
    ),
    Flaw.IGNORES_WORDS: (Flaw.OTHER_TASKS,),
    Flaw.MISSES: (Flaw.UNABLE,),
    Flaw.UNTOLD: (Flaw.WORDLESS, Flaw.PICTURELESS),
}
"""Flaw -> what it brings about, as far as it goes."""
