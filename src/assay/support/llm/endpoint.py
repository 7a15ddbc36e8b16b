"""Where a model answers, and how it may be asked."""

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
    """An address that speaks one of the protocols. Raises LLMError for settings that make no sense."""

    url: str
    """The base address, e.g. ``http://localhost:8000/v1``."""
    model: str
    key: str | None = field(default=None, repr=False)
    """Sent in one header; never printed, logged or stored."""
    speech: Speech = field(default=OPENAI, repr=False)
    """The protocol."""
    temperature: float | None = 0.7
    """None for models that take none."""
    most_tokens: int = 1_500
    """The longest answer, as the endpoint counts."""
    per_minute: float = 60.0
    """The most requests in a minute, attempts that failed among them."""
    at_once: int = 4
    """The most requests under way at the same time."""
    timeout: float = 120.0
    """The most seconds for one answer."""
    attempts: int = 6
    """How often one question is asked before the endpoint is given up."""
    first_wait: float = 1.0
    """Seconds before the second attempt; doubled for each further one."""
    effort: str = ""
    thinking: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    """See `Manner`."""

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
        """How the model is asked."""
        return Manner(self.model, self.temperature, self.most_tokens, self.effort, self.thinking, self.extra)

    @property
    def address(self) -> str:
        """Where requests go."""
        return self.url.rstrip("/") + self.speech.path(self.manner)


def key_from_environment() -> str | None:
    """The key, if there is one."""
    return os.environ.get(KEY_VARIABLE) or None
