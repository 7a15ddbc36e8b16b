"""A policy that knows its instructions to the letter."""

from __future__ import annotations

from dataclasses import dataclass

from assay.episodes import EpisodeSpec
from assay.policies.calibration.flawed import Flawed
from assay.tasks import Goal, Instruction


@dataclass
class Verbatim(Flawed):
    """Flaw: looks the instruction up among the training instructions, letter by letter.

    One that differs in a full stop or a capital is none that it knows: it waits.
    """

    def goal(self, instruction: Instruction, spec: EpisodeSpec) -> Goal:
        """That of the known task with this very instruction; nothing, if there is none."""
        known = (task for task in self.known_tasks(spec) if task.instruction.text == instruction.text)
        return next((task.goal for task in known), Goal(()))
