"""Perturbations of instruction, scene, sensors and actuation: small frozen values that turn one Task into another.

changed = apply_perturbations(task, (Say("switch on the range"),), seed=7)

Importing this package registers all perturbations by kind.
"""

from assay.episodes import Perturbation, apply_perturbations
from assay.perturb import events, senses, unavailable, world
from assay.perturb.words.rewordings import designs
from assay.perturb.words.text import Mask, Say

__all__ = [
    "Mask",
    "Perturbation",
    "Say",
    "apply_perturbations",
    "designs",
    "events",
    "senses",
    "unavailable",
    "world",
]
