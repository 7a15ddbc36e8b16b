"""What a diagnosis says about flaws, as values: claims with the numbers that they rest on."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from assay.measures.enough import MoreSeeds
from assay.measures.evidence import Evidence, Untested
from assay.measures.flaws import Degree
from assay.measures.result import Result
from assay.measures.success.task_changes import TaskChange


class Verdict(StrEnum):
    """What the runs say about a flaw."""

    FOUND = "found"
    EXPLAINED = "explained"
    """It is there, as a flaw that was found would have it."""
    NOT_FOUND = "not found"
    CANNOT_TELL = "cannot tell"


class Claim(StrEnum):
    """What is said about a flaw."""

    PRESENT = "present"
    ABSENT = "absent"
    """The runs show that it is not there."""
    NO_SIGN = "no sign"
    """Neither is sure."""
    TOO_FEW = "too few starts"
    UNTESTED = "untested"
    """The runs have no episodes that would test it."""


@dataclass(frozen=True, slots=True)
class Unnoticed(Result):
    """What could have been noticed where no flaw was found."""

    looked_for: int
    """Flaws that were tested."""
    flaw: str | None
    """The one of a change that is least well known."""
    loss: float | None
    """The largest loss that its interval allows."""
    seen: float | None
    """A loss that would have been found under every change that was tested, with a power of 80 %; None if there is
    none."""
    too_few: int = 0
    """Flaws that there were too few starts to tell."""


@dataclass(frozen=True, slots=True)
class Fall(Result):
    """Success with nothing changed, and over all changes that should not matter."""

    control_hits: int
    control_count: int
    """Starts, each counted once."""
    hits: int
    count: int
    telling: int
    """Starts whose control succeeds: only they can show a loss."""
    more: MoreSeeds | None
    """What would make a fall like this certain; None where none was seen, or no sensible number does."""
    alike_p: float | None
    """p that all changes cost alike; None where fewer than three were made alone."""
    costly: tuple[str, ...]
    """Changes that cost more than the others, beyond doubt."""
    likely: str | None = None
    """The flaw of one of several changes whose loss is not certain and hardly chance; None where there is none."""
    likely_p: float | None = None
    """Its p, adjusted for everything that was tested."""


@dataclass(frozen=True, slots=True)
class Where(Result):
    """In which tasks a change costs success."""

    uneven_p: float | None
    """p that it costs alike in all tasks; None for a single task."""
    tasks: tuple[TaskChange, ...]
    """Those that lose more than the others beyond doubt, where it is not alike in all of them."""
    of: int
    """Tasks."""


@dataclass(frozen=True, slots=True)
class Finding(Result):
    """What the runs say about one flaw."""

    flaw: str
    verdict: Verdict
    claim: Claim
    degree: Degree | None
    """How much of what the policy does the flaw spoils; None where nothing was tested."""
    evidence: tuple[Evidence, ...]
    """What was tested and is surest comes first."""
    p: float | None
    """One-sided, adjusted for everything that was tested or looked for. None where nothing was tested."""
    cause: str | None = None
    """The flaw that explains it, if one does."""
    untested: Untested | None = None
    """What is lacking, where nothing could tell."""
    detail: Result | None = None
    """What else the runs tell about it."""
    where: Where | None = None
    """In which tasks, where it is found and several tasks tell."""
    more: MoreSeeds | None = None
    """How many seeds would make a loss like the one seen certain, where it is not."""
