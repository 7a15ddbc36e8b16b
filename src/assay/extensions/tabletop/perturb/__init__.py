"""Perturbations of tasks on the table, after CoGeLoT: of prompts, observations, difficulty.

    Paraphrase                     the same in other words; `wordings` and `grammar` have them
    Gobbledygook                   pictures with nonsense between them
    PromptMask                     without words, without pictures, without anything
    TextReferents                  names in place of pictures
    OtherInstruction               what another task asks for
    PermutedObjects                objects in another order at every observation
    Harder                         the same kind of task at another difficulty

Importing this package makes them known by their kinds.
"""

from assay.extensions.tabletop.perturb.difficulty import Harder
from assay.extensions.tabletop.perturb.gobbledygook import Gobbledygook, Unit
from assay.extensions.tabletop.perturb.grammar import wordings
from assay.extensions.tabletop.perturb.mask import Part, PromptMask
from assay.extensions.tabletop.perturb.order import PermutedObjects
from assay.extensions.tabletop.perturb.other import OtherInstruction
from assay.extensions.tabletop.perturb.paraphrase import Paraphrase
from assay.extensions.tabletop.perturb.referents import TextReferents

__all__ = [
    "Gobbledygook",
    "Harder",
    "OtherInstruction",
    "Paraphrase",
    "Part",
    "PermutedObjects",
    "PromptMask",
    "TextReferents",
    "Unit",
    "wordings",
]
