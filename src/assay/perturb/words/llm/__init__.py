"""Paraphrases from a language model behind any endpoint that speaks OpenAI's chat completions. Optional.

endpoint   where it is, and how it may be asked           cache     what was answered, on disk
client     asks, and repeats where that helps             ledger    requests, tokens, what was dropped
prompts    what is asked in each step                     answers   what an answer says
pipeline   generate, verify, merge, verify again
"""

from assay.perturb.words.llm.cache import Cache
from assay.perturb.words.llm.endpoint import KEY_VARIABLE, Endpoint, key_from_environment
from assay.perturb.words.llm.errors import LLMError
from assay.perturb.words.llm.ledger import Ledger, Price
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
