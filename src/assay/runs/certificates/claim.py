"""What a certificate is about: that a goal can be reached in a scene, from one initial state."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from assay.episodes import EpisodeSpec, Perturbation, horizon, task_of, world_name
from assay.errors import PerturbationError
from assay.support.plugins import imported, provided

CLAIM = "certificate"
"""Experiment and condition of all claims."""
PATIENCE = 2
"""How much more time than the task's usual horizon; whether that is too much is seen when it is served."""


def claim(spec: EpisodeSpec, disturbed: int = 0) -> EpisodeSpec:
    """The claim that an episode can be solved, as a spec for the demonstrator; many episodes share one.

    Left out is what cannot matter: words that keep the goal, the senses, looks, how the experiment calls it, and
    the policy's seed where the start is held, how late it decides.
    Where an instruction asks for another goal than the one that is judged, the claim is about the one asked
    for. Where nothing is to be solved (the target is gone), it is about the scene alone: one step.

    ``disturbed``: how often the disturbance comes on top, to see how reliably it can be solved.
    """
    kept = decisive(spec.perturbations)
    return replace(
        spec,
        seed=spec.world_seed,
        start=None,
        experiment=CLAIM,
        condition=CLAIM,
        perturbations=kept + (_disturbance(spec.task),) * disturbed if disturbed else kept,
        steps=PATIENCE * horizon(replace(spec, steps=None)) if solvable(kept) else 1,
        replan=None,
        latency=0,
        while_waiting="play",
        labels={},
    )


def _disturbance(task: str) -> Perturbation:
    """What comes on top in further tries."""
    disturbance: Perturbation = imported(provided("disturbance")[world_name(task)])
    return disturbance


def solvable(perturbations: tuple[Perturbation, ...]) -> bool:
    """Whether there is something to solve."""
    return all(perturbation.plausible for perturbation in perturbations)


@lru_cache(maxsize=4096)
def decisive(perturbations: tuple[Perturbation, ...]) -> tuple[Perturbation, ...]:
    """The perturbations on which it hangs whether an episode can be solved."""
    kept = [(perturbation, perturbation.certified_as()) for perturbation in perturbations]
    asked = [stands for each, stands in kept if stands is not None and stands is not each]
    # Last: the scene is changed with the task's own goal in mind.
    return (*(each for each, stands in kept if stands is each), *asked[-1:])


@lru_cache(maxsize=4096)
def wording_conflict(task: str, pack: str, perturbations: tuple[Perturbation, ...]) -> str:
    """Why words or looks, which no claim holds, cannot be had in a task; empty if they can.

    They hang neither on the seed nor on where things stand, but on the goal, the room and what there is.
    """
    kept = (
        perturbation
        for perturbation in perturbations
        if perturbation.sets_vocabulary or not perturbation.decides
    )
    try:
        task_of(EpisodeSpec(task, 0, pack, perturbations=tuple(kept)))
    except PerturbationError as error:
        return str(error)
    return ""
