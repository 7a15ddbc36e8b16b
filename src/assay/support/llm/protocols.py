"""Endpoints of language models, and their wire formats: OpenAI chat completions, Anthropic, Gemini."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

import httpx2

from assay.errors import AssayError


class LLMError(AssayError):
    """Raised when an endpoint cannot be used or a setting is invalid."""


class RefusedError(LLMError):
    """Raised when the endpoint refuses a request; retrying does not help."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status

    @property
    def of_all(self) -> bool:
        """Whether all other requests would also be refused, because the key, model or address is wrong."""
        return self.status in (301, 302, 303, 307, 308, 401, 402, 403, 404, 405)


class UnansweredError(LLMError):
    """Raised when no reply arrives after all attempts; a later run may get one."""


class NonsenseError(LLMError):
    """Raised when a reply does not follow the endpoint's protocol."""


@dataclass(frozen=True, slots=True)
class ModelImage:
    """An image for a model, as a PNG file."""

    path: Path
    name: str
    """Identifier of the content in the cache: a hash, or a name unique to the content."""


Part = str | ModelImage


@dataclass(frozen=True, slots=True)
class ModelPrompt:
    """Input for a model: text and images."""

    system: str
    user: str | tuple[Part, ...]
    """A text, or a sequence of texts and images."""

    @property
    def parts(self) -> tuple[Part, ...]:
        """Texts and images in order."""
        return (self.user,) if isinstance(self.user, str) else self.user


ShowImage = Callable[[ModelImage], str]
"""Function that returns the representation of an image: its bytes in base64, or only its name."""
JSON = dict[str, Any]
KEY_VARIABLE = "ASSAY_LLM_KEY"
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Address, protocol and limits of a model. Raises LLMError for invalid settings."""

    url: str
    """Base URL, e.g. ``http://localhost:8000/v1``."""
    model: str
    key: str | None = field(default=None, repr=False)
    """API key, sent in one header; never printed, logged or stored."""
    protocol: str = "openai"
    """Name of the endpoint's protocol, a key of `PROTOCOLS`."""
    temperature: float | None = 0.7
    """Sampling temperature; None for models without this parameter."""
    most_tokens: int = 1_500
    """Maximum length of a reply, in tokens as counted by the endpoint."""
    per_minute: float = 60.0
    """Maximum number of requests per minute, including failed attempts."""
    at_once: int = 4
    """Maximum number of concurrent requests."""
    timeout: float = 120.0
    """Maximum time for one reply, in seconds."""
    attempts: int = 6
    """Number of attempts per request before the endpoint is considered unreachable."""
    first_wait: float = 1.0
    """Seconds before the second attempt; doubled for each further attempt."""
    effort: str = ""
    """Reasoning effort, as named by the provider; empty for the model's default."""
    thinking: int | None = None
    """Maximum number of reasoning tokens; None for the model's default."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Additional request parameters, which override existing ones."""

    def __post_init__(self) -> None:
        try:
            url = httpx2.URL(self.url)
            is_url = url.scheme in ("http", "https") and bool(url.host) and (url.port or 0) <= 65535
        except httpx2.InvalidURL:
            is_url = False
        if not is_url:
            raise LLMError("the endpoint must be a URL such as http://localhost:8000/v1")
        if url.userinfo or url.query or url.fragment:
            raise LLMError(
                f"the endpoint must be a URL without user name, query or fragment; an API key belongs in {KEY_VARIABLE}"
            )
        if self.key is not None:
            if not self.key.isascii() or not self.key.isprintable() or self.key != self.key.strip():
                raise LLMError(f"{KEY_VARIABLE} contains characters that are not allowed in an API key")
            if url.scheme == "http" and url.host not in _LOOPBACK:
                raise LLMError(
                    f"refusing to send the API key to {url.host} over http: use https, or unset {KEY_VARIABLE}"
                )
        if not self.model.strip():
            raise LLMError("the model name must not be empty")
        for name, value, instead in (
            ("effort", self.effort, "--thinking"),
            ("thinking", self.thinking, "--effort"),
        ):
            if value and name not in PROTOCOLS[self.protocol].takes:
                raise LLMError(
                    f"this protocol has no parameter for {name}; use {instead}, "
                    "or set the server's parameter with --extra"
                )
        if self.thinking is not None and not 0 <= self.thinking < self.most_tokens:
            raise LLMError(
                f"the thinking budget must be less than the maximum length of an answer ({self.most_tokens:,} tokens)"
            )
        bounds = (self.per_minute, self.timeout, self.attempts, self.at_once, self.most_tokens)
        if not all(0 < bound < inf for bound in bounds):
            raise LLMError(
                "requests per minute, concurrent requests, timeout, attempts and tokens must be positive and finite"
            )

    @property
    def address(self) -> str:
        """URL to which requests are sent."""
        path = PROTOCOLS[self.protocol].path.format(quote(self.model, safe=""))
        return self.url.rstrip("/") + path

    @property
    def headers(self) -> dict[str, str]:
        """Request headers, including the API key."""
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        if self.key is not None:
            headers |= {
                name: value.format(self.key) for name, value in PROTOCOLS[self.protocol].headers.items()
            }
        return headers

    def body(self, prompt: ModelPrompt, show: ShowImage) -> JSON:
        """Return the body of a request."""
        return merge_request(PROTOCOLS[self.protocol].body(self, prompt, show), self.extra)


def key_from_environment() -> str | None:
    """Return the API key from the environment, if set."""
    return os.environ.get(KEY_VARIABLE) or None


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's reply."""

    text: str
    """Text of the reply; empty if the model or a content filter refused."""
    cut_off: bool
    """Whether the reply was truncated at the token limit, so that its last line is incomplete."""
    thoughts: str = ""
    """Reasoning text, if the endpoint returns it separately."""
    blocked: str = ""
    """Reason why the model or a content filter refused; empty if it did not."""
    sent: int | None = field(default=None, compare=False)
    """Tokens sent, as counted by the endpoint; None if not reported."""
    received: int | None = field(default=None, compare=False)
    at: str = field(default="", compare=False)
    """Time of the reply in ISO 8601 format; empty if not stored."""


@dataclass(frozen=True, slots=True)
class WireProtocol:
    """A wire format over HTTP."""

    base: str
    """Base URL of the protocol's original provider."""
    takes: frozenset[str]
    """Supported parameters among ``effort`` and ``thinking``."""
    path: str
    """Path after the base URL; ``{}`` stands for the model name."""
    headers: Mapping[str, str]
    """Headers of a request; ``{}`` stands for the API key."""
    body: Callable[[Endpoint, ModelPrompt, ShowImage], JSON]
    """Function that returns the body of a request, without the endpoint's additional parameters."""
    read: Callable[[Any], Reply]
    """Function that parses a reply; it may raise any exception if the content does not follow the protocol."""


def _openai_body(endpoint: Endpoint, prompt: ModelPrompt, show: ShowImage) -> JSON:
    user: object = prompt.user
    if not isinstance(user, str):
        user = [
            {"type": "text", "text": part}
            if isinstance(part, str)
            else {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{show(part)}"}}
            for part in prompt.parts
        ]
    messages = [{"role": "system", "content": prompt.system}, {"role": "user", "content": user}]
    if endpoint.temperature is None:  # such models accept this name of the limit only
        limits: JSON = {"max_completion_tokens": endpoint.most_tokens}
    else:
        limits = {"temperature": endpoint.temperature, "max_tokens": endpoint.most_tokens}
    if endpoint.effort:
        limits["reasoning_effort"] = endpoint.effort
    return {"model": endpoint.model, **limits, "messages": messages}


def _read_openai(content: Any) -> Reply:
    choice, usage = content["choices"][0], content.get("usage") or {}
    message, finish = choice["message"], choice.get("finish_reason")
    answer = message["content"]  # text, its parts, or nothing: refused, or only thoughts
    parts = [{"type": "text", "text": answer}] if isinstance(answer, str) else answer or []
    return Reply(
        "".join(part["text"] for part in parts if part["type"] == "text"),
        finish == "length",
        str(message.get("reasoning_content") or message.get("reasoning") or ""),
        "content filter" if finish == "content_filter" else str(message.get("refusal") or ""),
        usage.get("prompt_tokens"),
        usage.get("completion_tokens"),
    )


def _anthropic_body(endpoint: Endpoint, prompt: ModelPrompt, show: ShowImage) -> JSON:
    limits: JSON = {"max_tokens": endpoint.most_tokens}
    if endpoint.thinking is not None:  # with reasoning enabled, no temperature is accepted
        limits["thinking"] = {"type": "enabled", "budget_tokens": endpoint.thinking}
    elif endpoint.temperature is not None:
        limits["temperature"] = endpoint.temperature
    source = {"type": "base64", "media_type": "image/png"}
    content = [
        {"type": "text", "text": part}
        if isinstance(part, str)
        else {"type": "image", "source": {**source, "data": show(part)}}
        for part in prompt.parts
    ]
    messages = [{"role": "user", "content": content}]
    return {"model": endpoint.model, **limits, "system": prompt.system, "messages": messages}


def _read_anthropic(content: Any) -> Reply:
    usage, parts, stop = content.get("usage") or {}, content["content"], content.get("stop_reason")
    return Reply(
        "".join(part["text"] for part in parts if part["type"] == "text"),
        stop == "max_tokens",
        "".join(part["thinking"] for part in parts if part["type"] == "thinking"),
        "refusal" if stop == "refusal" else "",
        usage.get("input_tokens"),
        usage.get("output_tokens"),
    )


def _gemini_body(endpoint: Endpoint, prompt: ModelPrompt, show: ShowImage) -> JSON:
    limits: JSON = {"maxOutputTokens": endpoint.most_tokens}
    if endpoint.temperature is not None:
        limits["temperature"] = endpoint.temperature
    thinking: JSON = {} if endpoint.thinking is None else {"thinkingBudget": endpoint.thinking}
    if endpoint.effort:
        thinking["thinkingLevel"] = endpoint.effort
    if thinking:
        limits["thinkingConfig"] = {**thinking, "includeThoughts": True}
    parts = [
        {"text": part}
        if isinstance(part, str)
        else {"inlineData": {"mimeType": "image/png", "data": show(part)}}
        for part in prompt.parts
    ]
    return {
        "systemInstruction": {"parts": [{"text": prompt.system}]},
        "contents": [{"role": "user", "parts": parts}],
        "generationConfig": limits,
    }


def _read_gemini(content: Any) -> Reply:
    usage = content.get("usageMetadata") or {}
    blocked = content.get("promptFeedback", {}).get("blockReason") or ""
    candidate: JSON = {"finishReason": blocked} if blocked else content["candidates"][0]
    finish = candidate.get("finishReason", "STOP")
    cut_off = finish == "MAX_TOKENS"
    silent = finish != "STOP"  # cut off, or blocked
    parts = (candidate.get("content") or {}).get("parts", []) if silent else candidate["content"]["parts"]
    received = usage.get("candidatesTokenCount", 0) + usage.get("thoughtsTokenCount", 0)
    return Reply(
        "".join(part["text"] for part in parts if not part.get("thought")),
        cut_off,
        "".join(part["text"] for part in parts if part.get("thought")),
        str(finish) if silent and not cut_off else "",
        usage.get("promptTokenCount"),
        received if usage else None,
    )


PROTOCOLS: Mapping[str, WireProtocol] = MappingProxyType(
    {
        "openai": WireProtocol(
            "https://api.openai.com/v1",
            frozenset({"effort"}),
            "/chat/completions",
            {"Authorization": "Bearer {}"},
            _openai_body,
            _read_openai,
        ),
        "anthropic": WireProtocol(
            "https://api.anthropic.com/v1",
            frozenset({"thinking"}),
            "/messages",
            {"x-api-key": "{}", "anthropic-version": "2023-06-01"},
            _anthropic_body,
            _read_anthropic,
        ),
        "gemini": WireProtocol(
            "https://generativelanguage.googleapis.com/v1beta",
            frozenset({"effort", "thinking"}),
            "/models/{}:generateContent",
            {"x-goog-api-key": "{}"},
            _gemini_body,
            _read_gemini,
        ),
    }
)


def merge_request(request: JSON, extra: Mapping[str, Any]) -> JSON:
    """Return a request with additional parameters; objects are merged, other values are replaced."""
    merged = dict(request)
    for name, value in extra.items():
        mine = merged.get(name)
        if isinstance(mine, dict) and isinstance(value, Mapping):
            value = merge_request(mine, value)
        merged[name] = value
    return merged
