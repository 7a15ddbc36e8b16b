"""A policy that listens once."""

from __future__ import annotations

from assay.episodes import EpisodeSpec
from assay.policies.calibration.flawed import Flawed
from assay.tasks import Goal, Instruction


class Deaf(Flawed):
    """Flaw: never listens again. Does what it was asked at first, whatever is said later; it sees what moves."""

    def reset(self, instruction: Instruction, spec: EpisodeSpec) -> None:
        """Listen."""
        self._first: Goal | None = None
        super().reset(instruction, spec)
        self._first = self._goal

    def instruct(self, instruction: Instruction) -> bool:
        """Go on."""
        self._happened = self._env.happened
        return False

    def goal(self, instruction: Instruction, spec: EpisodeSpec) -> Goal:
        """The one that was asked for first."""
        return super().goal(instruction, spec) if self._first is None else self._first
