"""The senses of one episode: everything that stands between the world and the policy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from assay.perturb.base import Perturbation
from assay.perturb.senses.base import Filter, Sense
from assay.sim import Observation


class Senses:
    """Passes observations on to the policy and actions on to the robot, changed by perturbations in turn.

    What is no perturbation of the senses is left out. Streams hang on the kind and on how many of that kind
    came before, so that another perturbation leaves the draws of this one as they were.
    """

    def __init__(self, perturbations: Iterable[Perturbation], *, task: str, seed: int) -> None:
        self._filters: list[Filter] = []
        before: Counter[str] = Counter()
        for each in perturbations:
            if isinstance(each, Sense):
                self._filters.append(each.begin((seed, "senses", task, each.kind, before[each.kind])))
                before[each.kind] += 1

    def observe(self, observation: Observation) -> Observation:
        """What the policy gets in place of an observation. Nothing is drawn."""
        for each in self._filters:
            observation = each.observe(observation)
        return observation

    def act(self, action: np.ndarray, step: int) -> np.ndarray:
        """What the robot does in place of an action (7,) at a control step. To be called once a step."""
        for each in self._filters:
            action = each.act(action, step)
        return action
