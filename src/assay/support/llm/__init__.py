"""Clients for language models behind HTTP endpoints.

endpoint   address and request limits    protocols  OpenAI, Anthropic and Gemini
client     requests with retries         prompt     text and images
cache      replies on disk               ledger     counts of requests, tokens and dropped replies
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
