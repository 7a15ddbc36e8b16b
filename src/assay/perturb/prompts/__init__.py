"""Perturbations of prompts on the table, after CoGeLoT.

    Paraphrase                     the same in other words; `wordings` and `grammar` have them
    Gobbledygook                   pictures with nonsense between them
    PromptMask                     without words, without pictures, without anything
    TextReferents                  names in place of pictures
    OtherInstruction               what another task asks for

Importing this package makes them known by their kinds.
"""

from assay.perturb.prompts.gobbledygook import Gobbledygook, Unit
from assay.perturb.prompts.grammar import wordings
from assay.perturb.prompts.mask import Part, PromptMask
from assay.perturb.prompts.other import OtherInstruction
from assay.perturb.prompts.paraphrase import Paraphrase
from assay.perturb.prompts.referents import TextReferents

__all__ = [
    "Gobbledygook",
    "OtherInstruction",
    "Paraphrase",
    "Part",
    "PromptMask",
    "TextReferents",
    "Unit",
    "wordings",
]
