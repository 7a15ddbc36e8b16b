"""Perturbations: small frozen values that turn one Task into another.

changed = perturbed(task, (Say("switch on the range"),), seed=7)
"""

from assay.perturb import prompts, world
from assay.perturb.base import Perturbation, from_json, perturbed, to_json
from assay.perturb.senses import Senses
from assay.perturb.senses.order import PermutedObjects
from assay.perturb.table import TablePerturbation, TableSenses
from assay.perturb.words import rewordings
from assay.perturb.words.mask import Mask
from assay.perturb.words.say import Say

__all__ = [
    "Mask",
    "PermutedObjects",
    "Perturbation",
    "Say",
    "Senses",
    "TablePerturbation",
    "TableSenses",
    "from_json",
    "perturbed",
    "prompts",
    "rewordings",
    "to_json",
    "world",
]
