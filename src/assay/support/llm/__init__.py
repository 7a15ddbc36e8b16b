"""Clients for language models behind HTTP endpoints.

endpoint   where one is, and how it may be asked          protocols  OpenAI's, Anthropic's and Gemini's
client     asks, and repeats where that helps             prompt     words and pictures
cache      what was answered, on disk                     ledger     requests, tokens, what was dropped
"""

from assay.support.llm.client import Cache, Client, Ledger, Price, Reply
from assay.support.llm.endpoint import KEY_VARIABLE, Endpoint, key_from_environment
from assay.support.llm.protocols import (
    LLMError,
    ModelImage,
    ModelPrompt,
    NonsenseError,
    RefusedError,
    UnansweredError,
)

__all__ = [
    "KEY_VARIABLE",
    "Cache",
    "Client",
    "Endpoint",
    "LLMError",
    "Ledger",
    "ModelImage",
    "ModelPrompt",
    "NonsenseError",
    "Price",
    "RefusedError",
    "Reply",
    "UnansweredError",
    "key_from_environment",
]
