"""Paraphrases from a language model (`assay.support.llm`). Optional.

prompts    what is asked in each step
screen     what becomes of lines that break a rule
answers    what an answer says
pipeline   generate, verify, merge, verify again
"""

from assay.perturb.words.llm.pipeline import RuleUse, paraphrases
from assay.perturb.words.llm.prompts import Prompts, read_prompts
from assay.support.llm import KEY_VARIABLE, Cache, Endpoint, Ledger, LLMError, Price, key_from_environment

__all__ = [
    "KEY_VARIABLE",
    "Cache",
    "Endpoint",
    "LLMError",
    "Ledger",
    "Price",
    "Prompts",
    "RuleUse",
    "key_from_environment",
    "paraphrases",
    "read_prompts",
]
