"""Clients for language models behind HTTP endpoints.

protocols   endpoints with their limits, prompts, and the wire formats of OpenAI, Anthropic and Gemini
client      requests with retries, an on-disk cache of replies, and counts of requests and tokens
"""

from assay.support.llm.client import Cache, Client, Ledger
from assay.support.llm.protocols import (
    KEY_VARIABLE,
    Endpoint,
    LLMError,
    ModelImage,
    ModelPrompt,
    NonsenseError,
    RefusedError,
    Reply,
    UnansweredError,
    key_from_environment,
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
    "RefusedError",
    "Reply",
    "UnansweredError",
    "key_from_environment",
]
