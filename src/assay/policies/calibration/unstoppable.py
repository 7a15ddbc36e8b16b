"""A policy that cannot be stopped."""

from __future__ import annotations

from assay.policies.calibration.flawed import Flawed
from assay.tasks import Instruction


class Unstoppable(Flawed):
    """Flaw: cannot stop. Follows every request, and goes on with it when it is taken back."""

    def instruct(self, instruction: Instruction) -> bool:
        """Plan anew, unless nothing is asked for any more."""
        if self._env.task.goal.atoms:
            return super().instruct(instruction)
        self._happened = self._env.happened
        return False
