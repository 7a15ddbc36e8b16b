"""A policy that looks where the thing used to be."""

from __future__ import annotations

import numpy as np

from assay.episodes import EpisodeSpec
from assay.policies.calibration.flawed import Flawed, renamed
from assay.policies.control import control
from assay.tasks import Goal, Instruction


class Nearest(Flawed):
    """Flaw: takes whatever stands nearest to where the thing stood in the control.

    Its words and its skills are right; only which object it takes hangs on the learnt position.
    """

    def goal(self, instruction: Instruction, spec: EpisodeSpec) -> Goal:
        """The task's, with what stands in the learnt places instead of what was meant."""
        asked = super().goal(instruction, spec)
        usual = control(spec, self._states)
        usual.reset(spec)
        objects = {entity.name for entity in usual.task.scene.objects}
        learnt = {
            name: usual.simulation.pose(name)[0]
            for name in {atom.arguments[0] for atom in asked.atoms} & objects
        }
        return renamed(asked, {name: self._standing_at(place) for name, place in learnt.items()})

    def _standing_at(self, place: np.ndarray) -> str:
        """The movable thing nearest to a place (3,)."""
        distances = {
            entity.name: float(np.linalg.norm(self._simulation.pose(entity.name)[0] - place))
            for entity in self.movables()
        }
        return min(distances, key=lambda name: distances[name])
