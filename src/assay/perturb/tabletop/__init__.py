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

from assay.perturb.tabletop.difficulty import Harder
from assay.perturb.tabletop.gobbledygook import Gobbledygook, Unit
from assay.perturb.tabletop.grammar import wordings
from assay.perturb.tabletop.mask import Part, PromptMask
from assay.perturb.tabletop.order import PermutedObjects
from assay.perturb.tabletop.other import OtherInstruction
from assay.perturb.tabletop.paraphrase import Paraphrase
from assay.perturb.tabletop.referents import TextReferents

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
