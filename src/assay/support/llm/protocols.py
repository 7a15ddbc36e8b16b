"""Wire formats of language models: OpenAI chat completions, Anthropic messages, Gemini generateContent.

LLMError                  an endpoint that cannot be used, or an invalid setting
├── RefusedError          the endpoint refuses the request; retrying does not help
├── UnansweredError       no answer after all attempts; a later run may get one
└── NonsenseError         the reply does not follow the protocol
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol
from urllib.parse import quote

from assay.errors import AssayError


class LLMError(AssayError):
    """An endpoint cannot be used, or a setting is invalid."""


class RefusedError(LLMError):
    """The endpoint refuses the request; retrying does not help."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status

    @property
    def of_all(self) -> bool:
        """Whether any other request would also be refused: wrong key, model or address."""
        return self.status in (301, 302, 307, 308, 401, 402, 403, 404, 405)


class UnansweredError(LLMError):
    """No reply after all attempts; a later run may get one."""


class NonsenseError(LLMError):
    """A reply does not follow the endpoint's protocol."""


@dataclass(frozen=True, slots=True)
class ModelImage:
    """A PNG file."""

    path: Path
    name: str
    """Identifier of the content in the cache: a hash, or a name unique to the content."""


Part = str | ModelImage


@dataclass(frozen=True, slots=True)
class ModelPrompt:
    """The input of a model: text and images."""

    system: str
    user: str | tuple[Part, ...]
    """A text, or a sequence of texts and images."""

    @property
    def parts(self) -> tuple[Part, ...]:
        """Texts and images in order."""
        return (self.user,) if isinstance(self.user, str) else self.user


Shown = Callable[[ModelImage], str]
"""Function from an image to its representation: its bytes in base64, or only its name."""
JSON = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Manner:
    """Request settings for a model."""

    model: str
    temperature: float | None
    """Sampling temperature; None for the model's default."""
    most_tokens: int
    """Maximum number of tokens in a reply."""
    effort: str = ""
    """Reasoning effort, as named by the provider; empty for the model's default."""
    thinking: int | None = None
    """Maximum number of reasoning tokens; None for the model's default."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Additional request parameters, which override existing ones."""


class Said(NamedTuple):
    """Content of a reply."""

    text: str
    """Text of the reply; empty if the model or a content filter refused."""
    cut_off: bool
    """Whether the reply was truncated at the token limit."""
    sent: object
    """Tokens sent, as counted by the endpoint; not a number if it does not report them."""
    received: object
    thoughts: str = ""
    """Reasoning text, if returned separately."""
    blocked: str = ""
    """Reason for a refusal."""


class Speech(Protocol):
    """A protocol over HTTP. ``read_answer`` may raise any exception for content that does not follow it."""

    base: str
    """Base URL of the protocol's original provider."""
    takes: frozenset[str]
    """Supported parameters, of effort and thinking."""

    def path(self, manner: Manner) -> str:
        """Return the path after the base URL."""

    def headers(self, key: str) -> dict[str, str]:
        """Return the headers that carry the API key."""

    def body(self, manner: Manner, prompt: ModelPrompt, shown: Shown) -> JSON:
        """Return the body of a request."""

    def read_answer(self, content: Any) -> Said:
        """Parse the content of a reply."""


class OpenAI:
    """OpenAI chat completions, which most servers support."""

    base = "https://api.openai.com/v1"
    takes = frozenset({"effort"})

    def path(self, manner: Manner) -> str:
        """Return the path after the base URL."""
        return "/chat/completions"

    def headers(self, key: str) -> dict[str, str]:
        """Return the headers that carry the API key."""
        return {"Authorization": f"Bearer {key}"}

    def body(self, manner: Manner, prompt: ModelPrompt, shown: Shown) -> JSON:
        """Return the body of a request. Models without a temperature accept ``max_completion_tokens`` only."""
        if manner.temperature is None:
            bounds: JSON = {"max_completion_tokens": manner.most_tokens}
        else:
            bounds = {"temperature": manner.temperature, "max_tokens": manner.most_tokens}
        user = prompt.user if isinstance(prompt.user, str) else [_openai(part, shown) for part in prompt.user]
        messages = [{"role": "system", "content": prompt.system}, {"role": "user", "content": user}]
        effort = {"reasoning_effort": manner.effort} if manner.effort else {}
        return merge_request({"model": manner.model, **bounds, **effort, "messages": messages}, manner.extra)

    def read_answer(self, content: Any) -> Said:
        """Parse the content of a reply."""
        choice, usage = content["choices"][0], content.get("usage") or {}
        message = choice["message"]
        answer = message["content"]  # text, its parts, or nothing: refused, or only thoughts
        parts = [{"type": "text", "text": answer}] if isinstance(answer, str) else answer or []
        blocked = (
            "content filter" if choice.get("finish_reason") == "content_filter" else message.get("refusal")
        )
        return Said(
            "".join(part["text"] for part in parts if part["type"] == "text"),
            choice.get("finish_reason") == "length",
            usage.get("prompt_tokens"),
            usage.get("completion_tokens"),
            str(message.get("reasoning_content") or message.get("reasoning") or ""),
            str(blocked or ""),
        )


class Anthropic:
    """Anthropic messages."""

    base = "https://api.anthropic.com/v1"
    takes = frozenset({"thinking"})

    def path(self, manner: Manner) -> str:
        """Return the path after the base URL."""
        return "/messages"

    def headers(self, key: str) -> dict[str, str]:
        """Return the headers that carry the API key."""
        return {"x-api-key": key, "anthropic-version": "2023-06-01"}

    def body(self, manner: Manner, prompt: ModelPrompt, shown: Shown) -> JSON:
        """Return the body of a request. With reasoning enabled, no temperature is sent."""
        bounds: JSON = {"max_tokens": manner.most_tokens}
        if manner.thinking is not None:
            bounds["thinking"] = {"type": "enabled", "budget_tokens": manner.thinking}
        elif manner.temperature is not None:
            bounds["temperature"] = manner.temperature
        content = [
            {"type": "text", "text": part}
            if isinstance(part, str)
            else {
                "type": "image",
                "source": {"type": "base64", "media_type": "image/png", "data": shown(part)},
            }
            for part in prompt.parts
        ]
        messages = [{"role": "user", "content": content}]
        request = {"model": manner.model, **bounds, "system": prompt.system, "messages": messages}
        return merge_request(request, manner.extra)

    def read_answer(self, content: Any) -> Said:
        """Parse the content of a reply."""
        usage = content.get("usage") or {}
        return Said(
            "".join(part["text"] for part in content["content"] if part["type"] == "text"),
            content.get("stop_reason") == "max_tokens",
            usage.get("input_tokens"),
            usage.get("output_tokens"),
            "".join(part["thinking"] for part in content["content"] if part["type"] == "thinking"),
            "refusal" if content.get("stop_reason") == "refusal" else "",
        )


class Gemini:
    """Gemini generateContent."""

    base = "https://generativelanguage.googleapis.com/v1beta"
    takes = frozenset({"effort", "thinking"})

    def path(self, manner: Manner) -> str:
        """Return the path after the base URL."""
        return f"/models/{quote(manner.model, safe='')}:generateContent"

    def headers(self, key: str) -> dict[str, str]:
        """Return the headers that carry the API key."""
        return {"x-goog-api-key": key}

    def body(self, manner: Manner, prompt: ModelPrompt, shown: Shown) -> JSON:
        """Return the body of a request."""
        bounds: JSON = {"maxOutputTokens": manner.most_tokens}
        if manner.temperature is not None:
            bounds["temperature"] = manner.temperature
        thinking: JSON = {} if manner.thinking is None else {"thinkingBudget": manner.thinking}
        if manner.effort:
            thinking["thinkingLevel"] = manner.effort
        if thinking:
            bounds["thinkingConfig"] = {**thinking, "includeThoughts": True}
        parts = [
            {"text": part}
            if isinstance(part, str)
            else {"inlineData": {"mimeType": "image/png", "data": shown(part)}}
            for part in prompt.parts
        ]
        request: JSON = {
            "systemInstruction": {"parts": [{"text": prompt.system}]},
            "contents": [{"role": "user", "parts": parts}],
            "generationConfig": bounds,
        }
        return merge_request(request, manner.extra)

    def read_answer(self, content: Any) -> Said:
        """Parse the content of a reply, without reasoning text, whose tokens are counted."""
        usage = content.get("usageMetadata") or {}
        blocked = content.get("promptFeedback", {}).get("blockReason") or ""
        candidate: JSON = {"finishReason": blocked} if blocked else content["candidates"][0]
        finish = candidate.get("finishReason", "STOP")
        cut_off = finish == "MAX_TOKENS"
        silent = finish != "STOP"  # cut off, or blocked
        parts = (candidate.get("content") or {}).get("parts", []) if silent else candidate["content"]["parts"]
        received = usage.get("candidatesTokenCount", 0) + usage.get("thoughtsTokenCount", 0)
        return Said(
            "".join(part["text"] for part in parts if not part.get("thought")),
            cut_off,
            usage.get("promptTokenCount"),
            received if usage else None,
            "".join(part["text"] for part in parts if part.get("thought")),
            str(finish) if silent and not cut_off else "",
        )


OPENAI: Speech = OpenAI()
SPEECHES: Mapping[str, Speech] = MappingProxyType(
    {"openai": OPENAI, "anthropic": Anthropic(), "gemini": Gemini()}
)


def merge_request(request: JSON, extra: Mapping[str, Any]) -> JSON:
    """Return a request with additional parameters: objects are merged, other values are replaced."""
    merged = dict(request)
    for name, value in extra.items():
        mine = merged.get(name)
        merged[name] = (
            merge_request(mine, value) if isinstance(mine, dict) and isinstance(value, Mapping) else value
        )
    return merged


def _openai(part: str | ModelImage, shown: Shown) -> JSON:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{shown(part)}"}}
