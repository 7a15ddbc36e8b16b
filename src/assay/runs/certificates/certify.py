"""Certification: run the demonstrator on claims, admit certified episodes, and summarise by condition."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from assay.episodes import Episode, EpisodeSpec
from assay.experiments.reference_times import ReferenceTimes, apply_time_limit
from assay.runs.certificates.cache import CertificateCache
from assay.runs.certificates.claim import ClaimVerdict, claim, judge, refusal
from assay.runs.driver import Ending, Watch, drive
from assay.runs.executor import Executor
from assay.runs.store import Store

META = "refused"
"""Key of the refused episodes in a run's meta table."""


def claims(specs: Iterable[EpisodeSpec], tries: int = 1) -> Iterator[EpisodeSpec]:
    """Return every distinct claim of episodes and of their controls.

    With several ``tries``, the claims with disturbances are included.
    """
    seen: set[str] = set()
    for spec in specs:
        for episode in (spec.control(), spec):
            for disturbed in range(tries):
                wanted = claim(episode, disturbed)
                if wanted.key not in seen:
                    seen.add(wanted.key)
                    yield wanted


def missing(specs: Iterable[EpisodeSpec], cache: CertificateCache, tries: int = 1) -> list[EpisodeSpec]:
    """Return the claims of episodes that have no certificate yet."""
    return [wanted for wanted in claims(specs, tries) if cache.get(wanted) is None]


def certify(
    wanted: Sequence[EpisodeSpec],
    cache: CertificateCache,
    executor: Executor,
    *,
    stopping: Callable[[], bool] = lambda: False,
    watch: Watch = lambda spec, episode: None,
) -> Ending:
    """Run the demonstrator on claims; each certificate is stored as soon as it is issued.

    ``executor`` must execute the demonstrator. A claim whose worker died gets no certificate and is retried next
    time.
    """

    def keep(spec: EpisodeSpec | None, episode: Episode | None) -> None:
        if spec is not None and episode is not None and episode.seconds > 0:  # 0 where a worker died
            cache.add(spec, judge(spec, episode))
        watch(spec, episode)

    with Store.scratch() as store:
        store.plan(wanted)
        return drive(store, executor, stopping=stopping, watch=keep)


class Refusal(NamedTuple):
    """An episode that was left out of a plan."""

    condition: str
    task: str
    seed: int
    reason: str


@dataclass(slots=True)
class CertifiedPlan:
    """Filter that admits an episode if it and its control are certified, so that pairs stay complete."""

    cache: CertificateCache
    limit: float | None = None
    """The experiment's time limit as a multiple of the reference time."""
    reference: ReferenceTimes | None = None
    """The experiment's human reference times; without them, the demonstrator's time is used."""
    refused: list[Refusal] = field(default_factory=list)

    def admit(self, specs: Iterable[EpisodeSpec]) -> Iterator[EpisodeSpec]:
        """Return the certified episodes, with their time limits."""
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
                reference = demonstrated if self.reference is None else self.reference.of(spec.task)
                yield apply_time_limit(spec, self.limit, reference)


def remember(store: Store, refused: Iterable[Refusal], specs: Iterable[EpisodeSpec]) -> None:
    """Store which of the given episodes were refused; refusals of other episodes are kept."""
    planned = {(spec.condition, spec.task, spec.seed) for spec in specs}
    others = [refusal for refusal in recall(store) if refusal[:3] not in planned]
    store.describe(**{META: [*others, *refused]})


def recall(store: Store) -> list[Refusal]:
    """Return the refused episodes of a run."""
    return [Refusal(*row) for row in store.meta.get(META, ())]


def count_reasons(refused: Iterable[Refusal]) -> dict[str, int]:
    """Reasons and their frequencies, the most frequent first."""
    return dict(Counter(refusal.reason for refusal in refused).most_common())


@dataclass(slots=True)
class CertificateSummary:
    """The certificates of a condition."""

    condition: str
    scenes: int = 0
    """Number of distinct claims: scene, goal and initial state."""
    certified: int = 0
    """Number of scenes that the demonstrator solved in time."""
    nothing: int = 0
    """Number of stable scenes that are unsolvable by design."""
    steps: list[int] = field(default_factory=list)
    """Control steps of the demonstrator in solved scenes."""
    refused: Counter[str] = field(default_factory=Counter)
    """Reasons and their frequencies."""
    disturbed: int = 0
    """Number of further attempts in solved scenes, with a disturbed arm."""
    solved_again: int = 0
    """Number of successes among the disturbed attempts."""

    @property
    def median(self) -> float | None:
        """Median of the demonstrator's control steps."""
        return statistics.median(self.steps) if self.steps else None

    @property
    def to_solve(self) -> int:
        """Number of scenes that are not unsolvable by design."""
        return self.scenes - self.nothing

    def as_json(self) -> dict[str, object]:
        """Return the summary as a JSON object."""
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
    specs: Iterable[EpisodeSpec], cache: CertificateCache, tries: int = 1, *, whole: str = "all"
) -> list[CertificateSummary]:
    """Summaries of the conditions in order, and last one of all distinct scenes, named ``whole``."""
    summaries: dict[str, CertificateSummary] = {}
    seen: set[tuple[str, str]] = set()
    total = CertificateSummary(whole)
    for spec in specs:
        wanted, own = claim(spec), CertificateSummary(spec.condition)
        for summary in (summaries.setdefault(spec.condition, own), total):
            if (summary.condition, wanted.key) not in seen:
                seen.add((summary.condition, wanted.key))
                _count(summary, spec, cache, tries)
    return [*summaries.values(), total]


def _count(summary: CertificateSummary, spec: EpisodeSpec, cache: CertificateCache, tries: int) -> None:
    certificate = cache.get(claim(spec))
    summary.scenes += 1
    reason = refusal(spec, certificate)
    if certificate is None or reason:
        summary.refused[reason] += 1
        return
    if certificate.verdict is ClaimVerdict.NOTHING:
        summary.nothing += 1
        return
    summary.certified += 1
    summary.steps.append(certificate.steps)
    for disturbed in range(1, tries):
        again = cache.get(claim(spec, disturbed))
        summary.disturbed += again is not None
        summary.solved_again += not refusal(spec, again)
