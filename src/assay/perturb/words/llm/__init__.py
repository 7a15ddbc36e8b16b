"""Paraphrases from a language model (`assay.llm`). Optional.

prompts    what is asked in each step
answers    what an answer says
pipeline   generate, verify, merge, verify again
"""

from assay.llm import KEY_VARIABLE, Cache, Endpoint, Ledger, LLMError, Price, key_from_environment
from assay.perturb.words.llm.pipeline import paraphrases

__all__ = [
    "KEY_VARIABLE",
    "Cache",
    "Endpoint",
    "LLMError",
    "Ledger",
    "Price",
    "key_from_environment",
    "paraphrases",
]
