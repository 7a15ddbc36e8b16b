"""Language models behind endpoints that somebody else runs.

endpoint   where one is, and how it may be asked          protocols  OpenAI's, Anthropic's and Gemini's
client     asks, and repeats where that helps             prompt     words and pictures
cache      what was answered, on disk                     ledger     requests, tokens, what was dropped
"""

from assay.llm.cache import Cache, Reply
from assay.llm.client import Client
from assay.llm.endpoint import KEY_VARIABLE, Endpoint, key_from_environment
from assay.llm.errors import LLMError, NonsenseError, RefusedError, UnansweredError
from assay.llm.ledger import Ledger, Price
from assay.llm.prompt import Picture, Prompt

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
