"""Perturbations: small frozen values that turn one Task into another.

changed = perturbed(task, (Say("switch on the range"),), seed=7)
"""

from assay.perturb import world
from assay.perturb.base import Perturbation, from_json, perturbed, to_json
from assay.perturb.senses import Senses
from assay.perturb.words import rewordings
from assay.perturb.words.mask import Mask
from assay.perturb.words.say import Say

__all__ = [
    "Mask",
    "Perturbation",
    "Say",
    "Senses",
    "from_json",
    "perturbed",
    "rewordings",
    "to_json",
    "world",
]
