"""A policy that does not listen."""

from __future__ import annotations

from assay import tasks
from assay.episodes import EpisodeSpec
from assay.policies.calibration.flawed import Flawed
from assay.tasks import Goal, Instruction


class Blind(Flawed):
    """Flaw: ignores the words. Does what is usually done in the scene, wherever its things are now.

    What is usual is the goal of the unperturbed task. It sees the world as the oracle does.
    """

    def goal(self, instruction: Instruction, spec: EpisodeSpec) -> Goal:
        """The usual one."""
        return tasks.load(spec.task).goal
