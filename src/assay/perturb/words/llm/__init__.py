"""Paraphrases from a language model (`assay.support.llm`). Optional.

prompts    the prompts of the four steps
pipeline   generate, verify, merge, verify again; lines that break a rule are dropped
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
