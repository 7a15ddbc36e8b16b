"""What a certificate is about: that a goal can be reached in a scene, from one initial state."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from assay.perturb import Perturbation
from assay.perturb.senses.actuators import ActionNoise
from assay.perturb.words.rewordings import Counterfactual, OtherTask
from assay.suites.spec import EpisodeSpec, horizon

CLAIM = "certificate"
"""Suite and condition of all claims."""
DISTURBANCE = ActionNoise(translation=0.02, rotation=0.02)
"""Of further tries: errors of 1 mm and 10 mrad a step."""

PATIENCE = 2
"""How much more time than the field gives the task; whether that is too much is seen when it is served."""


def claim(spec: EpisodeSpec, disturbed: int = 0) -> EpisodeSpec:
    """The claim that an episode can be solved, as a spec for the demonstrator; many episodes share one.

    Left out is what cannot matter: words that keep the goal, the senses, looks, and how the suite calls it.
    Where an instruction asks for another goal than the one that is judged, the claim is about the one asked
    for. Where nothing is to be solved (the target is gone), it is about the scene alone: one step.

    ``disturbed``: how often the disturbance comes on top, to see how reliably it can be solved.
    """
    kept = decisive(spec.perturbations)
    return replace(
        spec,
        suite=CLAIM,
        condition=CLAIM,
        perturbations=kept + (DISTURBANCE,) * disturbed,
        steps=PATIENCE * horizon(spec.task) if solvable(kept) else 1,
        replan=None,
        labels={},
    )


def solvable(perturbations: tuple[Perturbation, ...]) -> bool:
    """Whether there is something to solve."""
    return all(getattr(each, "plausible", True) for each in perturbations)


@lru_cache(maxsize=4096)
def decisive(perturbations: tuple[Perturbation, ...]) -> tuple[Perturbation, ...]:
    """The perturbations on which it hangs whether an episode can be solved."""
    kept: list[Perturbation] = []
    asked: list[Perturbation] = []
    for each in perturbations:
        if isinstance(each, Counterfactual):
            asked = [OtherTask("", each.goal)]  # last: the scene is changed with the task's own goal in mind
        elif isinstance(each, OtherTask):
            kept.append(OtherTask("", each.goal))
        elif each.rebuilds and not getattr(each, "looks_only", False):
            kept.append(each)
    return (*kept, *asked)
