"""Address of a language model, and the limits of requests to it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any

import httpx2

from assay.support.llm.protocols import OPENAI, LLMError, Manner, Speech

KEY_VARIABLE = "ASSAY_LLM_KEY"
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Address and protocol of a model. Raises LLMError for invalid settings."""

    url: str
    """Base URL, e.g. ``http://localhost:8000/v1``."""
    model: str
    key: str | None = field(default=None, repr=False)
    """API key, sent in one header; never printed, logged or stored."""
    speech: Speech = field(default=OPENAI, repr=False)
    """Protocol of the endpoint."""
    temperature: float | None = 0.7
    """Sampling temperature; None for models without this parameter."""
    most_tokens: int = 1_500
    """Maximum length of a reply, tokens as counted by the endpoint."""
    per_minute: float = 60.0
    """Maximum number of requests per minute, including failed attempts."""
    at_once: int = 4
    """Maximum number of concurrent requests."""
    timeout: float = 120.0
    """Time limit of one reply, seconds."""
    attempts: int = 6
    """Number of attempts per request before the endpoint is considered unreachable."""
    first_wait: float = 1.0
    """Seconds before the second attempt; doubled for each further attempt."""
    effort: str = ""
    thinking: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Additional request parameters; see `Manner`."""

    def __post_init__(self) -> None:
        try:
            url = httpx2.URL(self.url)
        except httpx2.InvalidURL:
            raise LLMError("the endpoint is no address: write one like http://localhost:8000/v1") from None
        if url.scheme not in ("http", "https") or not url.host or (url.port or 0) > 65535:
            raise LLMError("the endpoint must be an address like http://localhost:8000/v1")
        if url.userinfo or url.query or url.fragment:
            raise LLMError(f"the endpoint must be an address only; a key belongs into {KEY_VARIABLE}")
        if self.key is not None:
            if not self.key.isascii() or not self.key.isprintable() or self.key != self.key.strip():
                raise LLMError(f"{KEY_VARIABLE} holds characters that no key has")
            if url.scheme == "http" and url.host not in _LOOPBACK:
                raise LLMError(
                    f"a key is not sent over http to {url.host}: use https, or unset {KEY_VARIABLE}"
                )
        if not self.model.strip():
            raise LLMError("the name of a model is missing")
        for name, text, instead in (
            ("effort", self.effort, "--thinking"),
            ("thinking", self.thinking, "--effort"),
        ):
            if text and name not in self.speech.takes:
                raise LLMError(
                    f"this protocol has no parameter for {name}: {instead}, or --extra with the server's own"
                )
        if self.thinking is not None and not 0 <= self.thinking < self.most_tokens:
            raise LLMError(
                f"a budget of thoughts must be below the tokens of an answer ({self.most_tokens:,})"
            )
        bounds = (self.per_minute, self.timeout, self.attempts, self.at_once, self.most_tokens)
        if not all(0 < bound < inf for bound in bounds):
            raise LLMError("requests per minute and at once, timeout, attempts and tokens must be above 0")

    @property
    def manner(self) -> Manner:
        """Request settings for the model."""
        return Manner(self.model, self.temperature, self.most_tokens, self.effort, self.thinking, self.extra)

    @property
    def address(self) -> str:
        """URL of the requests."""
        return self.url.rstrip("/") + self.speech.path(self.manner)


def key_from_environment() -> str | None:
    """Return the API key from the environment, if set."""
    return os.environ.get(KEY_VARIABLE) or None
