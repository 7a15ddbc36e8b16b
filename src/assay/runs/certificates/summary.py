"""Certificates of an experiment, condition by condition."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from assay.episodes.spec import EpisodeSpec
from assay.runs.certificates.cache import Cache
from assay.runs.certificates.claim import claim
from assay.runs.certificates.verdict import Verdict, refusal


@dataclass(slots=True)
class Summary:
    """What is known about the scenes of a condition."""

    condition: str
    scenes: int = 0
    """Distinct claims: a scene, a goal and an initial state."""
    certified: int = 0
    """Solved by the demonstrator, in time."""
    nothing: int = 0
    """Scenes that stand, and in which there is nothing to solve, on purpose."""
    steps: list[int] = field(default_factory=list)
    """The demonstrator's time in each that it solved, control steps."""
    refused: Counter[str] = field(default_factory=Counter)
    """Why, and how often."""
    disturbed: int = 0
    """Further tries in solved scenes, with the arm disturbed."""
    solved_again: int = 0
    """How many of those ended well."""

    @property
    def median(self) -> float | None:
        """Of the demonstrator's times."""
        return statistics.median(self.steps) if self.steps else None

    @property
    def to_solve(self) -> int:
        """In how many scenes there is something to solve."""
        return self.scenes - self.nothing

    def as_json(self) -> dict[str, object]:
        """A JSON object."""
        return {
            "condition": self.condition,
            "scenes": self.scenes,
            "certified": self.certified,
            "nothing_to_solve": self.nothing,
            "refused": dict(self.refused.most_common()),
            "median_steps": self.median,
            "disturbed": self.disturbed,
            "solved_again": self.solved_again,
        }


def summarise(
    specs: Iterable[EpisodeSpec], cache: Cache, tries: int = 1, *, whole: str = "all"
) -> list[Summary]:
    """A summary of each condition, in their order, and last one of all distinct scenes, named ``whole``."""
    found: dict[str, Summary] = {}
    seen: set[tuple[str, str]] = set()
    total = Summary(whole)
    for spec in specs:
        about = claim(spec)
        for summary in (found.setdefault(spec.condition, Summary(spec.condition)), total):
            if (summary.condition, about.key) not in seen:
                seen.add((summary.condition, about.key))
                _count(summary, spec, cache, tries)
    return [*found.values(), total]


def _count(summary: Summary, spec: EpisodeSpec, cache: Cache, tries: int) -> None:
    certificate = cache.get(claim(spec))
    summary.scenes += 1
    reason = refusal(spec, certificate)
    if certificate is None or reason:
        summary.refused[reason] += 1
        return
    if certificate.verdict is Verdict.NOTHING:
        summary.nothing += 1
        return
    summary.certified += 1
    summary.steps.append(certificate.steps)
    for disturbed in range(1, tries):
        again = cache.get(claim(spec, disturbed))
        summary.disturbed += again is not None
        summary.solved_again += not refusal(spec, again)
