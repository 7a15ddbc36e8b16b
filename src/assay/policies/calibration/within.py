"""A policy that bears so much change and no more."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.episodes import EpisodeSpec
from assay.errors import PolicyError
from assay.perturb.senses import ActionDelay
from assay.policies.calibration.flawed import Flawed
from assay.policies.control import control
from assay.support.streams import stream
from assay.tasks import Goal, Instruction


@dataclass
class Within(Flawed):
    """Flaw: does the task only where its things stand within ``reach`` metres of where they stand in the control.

    Beyond that it waits. Actions that come late wear its patience, too: ``delay`` steps alone use it up, and half of
    both together. So the smallest change that breaks it is known.
    """

    reach: float = 0.2
    """Metres, along the table."""
    delay: float = 1_000.0
    """Control steps by which actions may be late."""
    lapse: float = 0.0
    """The share of episodes in which it waits whatever has changed; the control's among them."""

    def __post_init__(self) -> None:
        if self.reach <= 0 or self.delay <= 0 or not 0 <= self.lapse <= 1:
            raise PolicyError("within: valid: reach and delay above 0, lapse from 0 to 1")

    def goal(self, instruction: Instruction, spec: EpisodeSpec) -> Goal:
        """The task's, where nothing has changed by more than it can bear; else nothing."""
        late = sum(
            perturbation.steps for perturbation in spec.perturbations if isinstance(perturbation, ActionDelay)
        )
        chance = stream("within", spec.task, spec.condition, spec.seed).random()
        if self._apart(spec) / self.reach + late / self.delay > 1 or chance < self.lapse:
            return Goal(())
        return super().goal(instruction, spec)

    def _apart(self, spec: EpisodeSpec) -> float:
        """How far the movable things of the task's goal stand from where they stand in the control, at most."""
        usual = control(spec, self._states)
        usual.reset(spec)
        here, there = self._simulation, usual.simulation
        asked = {name for atom in self._task.goal.atoms for name in atom.arguments}
        names = [movable.name for movable in self.movables() if movable.name in asked]
        shifts = [here.pose(name)[0][:2] - there.pose(name)[0][:2] for name in names]
        return max((float(np.linalg.norm(shift)) for shift in shifts), default=0.0)
