"""Claims and certificates: statements about a scene to be shown by the demonstrator, and the results."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache

from assay.episodes import Episode, EpisodeSpec, Outcome, Perturbation, horizon, task_of, world_name
from assay.errors import PerturbationError
from assay.support.plugins import import_object, registered_addresses

CLAIM = "certificate"
"""Experiment and condition of all claims."""
HORIZON_FACTOR = 2
"""Time limit of the demonstrator in horizons of the task; `refusal` checks the horizon of the episode."""


def claim(spec: EpisodeSpec, disturbed: int = 0) -> EpisodeSpec:
    """The claim that an episode can be solved, as a spec for the demonstrator; many episodes share one.

    Everything that cannot affect solvability is left out: instructions with the same goal, sensor and appearance
    changes, names of the experiment, latency, and the policy's seed if the start is fixed. If an instruction requests
    another goal than the one that is judged, the claim is about the requested one. If there is nothing to solve (the
    target was removed), it is about the scene alone: one step.

    ``disturbed``: how many disturbances are added, to measure how reliably the scene can be solved.
    """
    perturbations = decisive(spec.perturbations)
    return replace(
        spec,
        seed=spec.world_seed,
        start=None,
        experiment=CLAIM,
        condition=CLAIM,
        perturbations=perturbations + (_disturbance(spec.task),) * disturbed if disturbed else perturbations,
        steps=HORIZON_FACTOR * horizon(replace(spec, steps=None)) if solvable(perturbations) else 1,
        replan=None,
        latency=0,
        while_waiting="play",
        labels={},
    )


def _disturbance(task: str) -> Perturbation:
    """Return the disturbance of a task's world, for further attempts."""
    disturbance: Perturbation = import_object(registered_addresses("disturbance")[world_name(task)])
    return disturbance


def solvable(perturbations: tuple[Perturbation, ...]) -> bool:
    """Return whether success is expected under the perturbations."""
    return all(perturbation.plausible for perturbation in perturbations)


@lru_cache(maxsize=4096)
def decisive(perturbations: tuple[Perturbation, ...]) -> tuple[Perturbation, ...]:
    """Return the perturbations that affect solvability."""
    pairs = [(perturbation, perturbation.certified_as()) for perturbation in perturbations]
    replaced = [other for own, other in pairs if other is not None and other is not own]
    # A changed goal comes last: the scene is perturbed with the task's own goal in mind.
    return (*(own for own, other in pairs if other is own), *replaced[-1:])


@lru_cache(maxsize=4096)
def wording_conflict(task: str, pack: str, perturbations: tuple[Perturbation, ...]) -> str:
    """Return why instruction or appearance changes, which claims omit, do not apply to a task; empty if they do.

    They depend neither on the seed nor on positions, only on the goal, the arena and the objects.
    """
    relevant = (
        perturbation
        for perturbation in perturbations
        if perturbation.sets_vocabulary or not perturbation.decides
    )
    try:
        task_of(EpisodeSpec(task, 0, pack, perturbations=tuple(relevant)))
    except PerturbationError as error:
        return str(error)
    return ""


UNKNOWN = "no certificate: the demonstrator's worker died"
"""Reason for refusing an episode without a certificate."""


class ClaimVerdict(StrEnum):
    """The result of a claim."""

    SOLVED = "solved"
    NOTHING = "nothing to solve"
    """The layout is stable, and the task is unsolvable by design."""
    UNPLACED = "cannot be placed"
    """A perturbation does not apply, or objects could not be placed or did not settle."""
    FAILED = "demonstrator failed"
    TRIVIAL = "true at the start"
    """The goal holds before the first action."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """Result of the demonstrator for a claim."""

    verdict: ClaimVerdict
    steps: int = 0
    """Control steps until the goal was reached; 0 if it was not."""
    why: str = ""
    """Explanation of a negative verdict."""

    @property
    def good(self) -> bool:
        """Whether episodes with this certificate may be run."""
        return self.verdict in (ClaimVerdict.SOLVED, ClaimVerdict.NOTHING)

    @property
    def reason(self) -> str:
        """The negative verdict in one line."""
        return f"{self.verdict}: {self.why}" if self.why else str(self.verdict)


def judge(spec: EpisodeSpec, episode: Episode) -> Certificate:
    """Return the certificate of a claim, from the demonstrator's episode."""
    if not len(episode.trajectory.end_effector):  # the episode could not be started
        return Certificate(ClaimVerdict.UNPLACED, why=episode.error)
    if not solvable(spec.perturbations) and episode.outcome is Outcome.FAILURE:
        return Certificate(ClaimVerdict.NOTHING)
    if episode.truth and all(spans and spans[0][0] == 0 for spans in episode.truth.values()):
        return Certificate(ClaimVerdict.TRIVIAL)
    missed = [event["event"] for event in episode.events if event["step"] is None]
    if episode.outcome is Outcome.SUCCESS and missed:
        return Certificate(ClaimVerdict.FAILED, why=f"solved before this event: {', '.join(missed)}")
    if episode.outcome is Outcome.SUCCESS:
        return Certificate(ClaimVerdict.SOLVED, episode.steps)
    return Certificate(ClaimVerdict.FAILED, why=episode.error or f"not reached in {horizon(spec)} steps")


def refusal(spec: EpisodeSpec, certificate: Certificate | None) -> str:
    """Return why an episode may not be run; empty if it may."""
    if certificate is None:
        return UNKNOWN
    if not certificate.good:
        return certificate.reason
    if why := wording_conflict(spec.task, spec.pack, spec.perturbations):
        return f"{ClaimVerdict.UNPLACED}: {why}"
    if certificate.steps > horizon(spec):
        return f"too slow: the oracle needs more than {horizon(spec)} steps"
    return ""
