"""What the demonstrator's rollout says about a claim."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from assay.episodes import Episode, EpisodeSpec, Outcome, horizon
from assay.runs.certificates.claim import solvable, wording_conflict

UNKNOWN = "no certificate: the demonstrator's worker died"
"""Why what has no certificate has none."""


class Verdict(StrEnum):
    """What came of a claim."""

    SOLVED = "solved"
    NOTHING = "nothing to solve"
    """The scene stands, and its task cannot be done, on purpose."""
    UNPLACED = "cannot be placed"
    """A perturbation was refused, or things found no room or did not come to rest."""
    FAILED = "demonstrator failed"
    TRIVIAL = "true at the start"
    """The goal holds before anybody acts."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """What the demonstrator showed about a claim."""

    verdict: Verdict
    steps: int = 0
    """Control steps until the goal was reached, if it was."""
    why: str = ""
    """Why not."""

    @property
    def good(self) -> bool:
        """Whether episodes may be served."""
        return self.verdict in (Verdict.SOLVED, Verdict.NOTHING)

    @property
    def reason(self) -> str:
        """Why not, in one line."""
        return f"{self.verdict}: {self.why}" if self.why else str(self.verdict)


def judge(spec: EpisodeSpec, episode: Episode) -> Certificate:
    """The certificate of a claim, from the demonstrator's episode."""
    stood = len(episode.trajectory.end_effector) > 0  # it was seen, so it was placed
    if not stood:
        return Certificate(Verdict.UNPLACED, why=episode.error)
    if not solvable(spec.perturbations) and episode.outcome is Outcome.FAILURE:
        return Certificate(Verdict.NOTHING)
    if episode.truth and all(spans and spans[0][0] == 0 for spans in episode.truth.values()):
        return Certificate(Verdict.TRIVIAL)
    missed = [event["event"] for event in episode.events if event["step"] is None]
    if episode.outcome is Outcome.SUCCESS and missed:
        return Certificate(Verdict.FAILED, why=f"it was done before this happened: {', '.join(missed)}")
    if episode.outcome is Outcome.SUCCESS:
        return Certificate(Verdict.SOLVED, episode.steps)
    return Certificate(Verdict.FAILED, why=episode.error or f"not reached in {horizon(spec)} steps")


def refusal(spec: EpisodeSpec, certificate: Certificate | None) -> str:
    """Why an episode cannot be served, if it cannot."""
    if certificate is None:
        return UNKNOWN
    if not certificate.good:
        return certificate.reason
    if why := wording_conflict(spec.task, spec.pack, spec.perturbations):
        return f"{Verdict.UNPLACED}: {why}"
    if certificate.steps > horizon(spec):
        return f"too slow: the oracle needs more than {horizon(spec)} steps"
    return ""
