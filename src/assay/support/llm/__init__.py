"""Language models behind endpoints that somebody else runs.

endpoint   where one is, and how it may be asked          protocols  OpenAI's, Anthropic's and Gemini's
client     asks, and repeats where that helps             prompt     words and pictures
cache      what was answered, on disk                     ledger     requests, tokens, what was dropped
"""

from assay.support.llm.cache import Cache, Reply
from assay.support.llm.client import Client
from assay.support.llm.endpoint import KEY_VARIABLE, Endpoint, key_from_environment
from assay.support.llm.errors import LLMError, NonsenseError, RefusedError, UnansweredError
from assay.support.llm.ledger import Ledger, Price
from assay.support.llm.prompt import Picture, Prompt

__all__ = [
    "KEY_VARIABLE",
    "Cache",
    "Client",
    "Endpoint",
    "LLMError",
    "Ledger",
    "NonsenseError",
    "Picture",
    "Price",
    "Prompt",
    "RefusedError",
    "Reply",
    "UnansweredError",
    "key_from_environment",
]
