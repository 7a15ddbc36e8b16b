"""What a certificate is about: that a goal can be reached in a scene, from one initial state."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from assay import tasks
from assay.errors import PerturbationError
from assay.experiments.spec import EpisodeSpec, horizon
from assay.perturb import Perturbation, perturbed
from assay.perturb.base import decides
from assay.perturb.senses.actuators import ActionNoise
from assay.perturb.words.rewordings import Counterfactual, OtherTask
from assay.perturb.world import Remove, Replace, Room

CLAIM = "certificate"
"""Experiment and condition of all claims."""
DISTURBANCE = ActionNoise(translation=0.02, rotation=0.02)
"""Of further tries: errors of 1 mm and 10 mrad a step."""

_HUNG_ON = (OtherTask, Room, Remove, Replace)

PATIENCE = 2
"""How much more time than the field gives the task; whether that is too much is seen when it is served."""


def claim(spec: EpisodeSpec, disturbed: int = 0) -> EpisodeSpec:
    """The claim that an episode can be solved, as a spec for the demonstrator; many episodes share one.

    Left out is what cannot matter: words that keep the goal, the senses, looks, and how the experiment calls it.
    Where an instruction asks for another goal than the one that is judged, the claim is about the one asked
    for. Where nothing is to be solved (the target is gone), it is about the scene alone: one step.

    ``disturbed``: how often the disturbance comes on top, to see how reliably it can be solved.
    """
    kept = decisive(spec.perturbations)
    return replace(
        spec,
        experiment=CLAIM,
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
    asked = [OtherTask(each.text, each.goal) for each in perturbations if isinstance(each, Counterfactual)]
    # Last: the scene is changed with the task's own goal in mind.
    return (*(each for each in perturbations if decides(each)), *asked[-1:])


@lru_cache(maxsize=4096)
def unsaid(task: str, perturbations: tuple[Perturbation, ...]) -> str:
    """Why words or looks, which no claim holds, cannot be had in a task; empty if they can.

    They hang neither on the seed nor on where things stand, but on the goal, the room and what there is.
    """
    kept = (each for each in perturbations if isinstance(each, _HUNG_ON) or not decides(each))
    try:
        perturbed(tasks.load(task), kept, seed=0)
    except PerturbationError as error:
        return str(error)
    return ""
