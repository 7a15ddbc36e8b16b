"""Certified episodes are let through; the others are refused and counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from assay.episodes.spec import EpisodeSpec
from assay.experiments.reference_times import ReferenceTimes, limited
from assay.runs.certificates.cache import Cache
from assay.runs.certificates.claim import claim
from assay.runs.certificates.verdict import refusal
from assay.runs.store import Store

META = "refused"
"""The name under which a run remembers its refusals."""


class Refusal(NamedTuple):
    """An episode that was left out of a plan."""

    condition: str
    task: str
    seed: int
    reason: str


@dataclass(slots=True)
class Service:
    """Lets an episode through if it is certified, and its control is too, so that pairs stay matched."""

    cache: Cache
    limit: float | None = None
    """An experiment's: the time limit as a multiple of the reference time."""
    reference: ReferenceTimes | None = None
    """An experiment's: how long tasks take people; the demonstrator's time counts where there is none."""
    refused: list[Refusal] = field(default_factory=list)

    def serve(self, specs: Iterable[EpisodeSpec]) -> Iterator[EpisodeSpec]:
        """The certified ones among some episodes, with their time limit."""
        for spec in specs:
            own = self.cache.get(claim(spec))
            control = own if not spec.perturbations else self.cache.get(claim(spec.control()))
            reason = refusal(spec, own)
            if not reason and (of_control := refusal(spec, control)):
                reason = f"its control: {of_control}"
            if reason:
                self.refused.append(Refusal(spec.condition, spec.task, spec.seed, reason))
            else:
                assert own is not None and control is not None
                demonstrated = own.steps or control.steps
                known = demonstrated if self.reference is None else self.reference.of(spec.task)
                yield limited(spec, self.limit, known)


def remember(store: Store, refused: Iterable[Refusal], specs: Iterable[EpisodeSpec]) -> None:
    """Write down what was refused among some episodes; what a run knows about others stays."""
    asked = {(spec.condition, spec.task, spec.seed) for spec in specs}
    known = [each for each in recall(store) if each[:3] not in asked]
    store.describe(**{META: [*known, *refused]})


def recall(store: Store) -> list[Refusal]:
    """What was refused when a run was planned."""
    return [Refusal(*each) for each in store.meta.get(META, ())]


def counted(refused: Iterable[Refusal]) -> dict[str, int]:
    """How often each reason was given, the most frequent first."""
    return dict(Counter(each.reason for each in refused).most_common())
