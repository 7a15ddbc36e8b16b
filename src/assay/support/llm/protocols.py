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
    """An endpoint that cannot be used, or a setting that makes no sense."""


class RefusedError(LLMError):
    """A request that an endpoint will not answer, however often it is asked."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status

    @property
    def of_all(self) -> bool:
        """Whether it would refuse any other request too: no such key, model or address."""
        return self.status in (301, 302, 307, 308, 401, 402, 403, 404, 405)


class UnansweredError(LLMError):
    """A request that was not answered after all attempts; it may be later."""


class NonsenseError(LLMError):
    """Answers that are not in the endpoint's protocol."""


@dataclass(frozen=True, slots=True)
class ModelImage:
    """A PNG file."""

    path: Path
    name: str
    """Stands for its content in the cache: a hash of it, or a name that no other content has."""


Part = str | ModelImage


@dataclass(frozen=True, slots=True)
class ModelPrompt:
    """The input of a model: text and images."""

    system: str
    user: str | tuple[Part, ...]
    """A text; or texts and pictures in turn."""

    @property
    def parts(self) -> tuple[Part, ...]:
        """Texts and pictures in turn."""
        return (self.user,) if isinstance(self.user, str) else self.user


Shown = Callable[[ModelImage], str]
"""What stands for a picture: its bytes in base64, or only its name."""
JSON = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Manner:
    """How a model is asked."""

    model: str
    temperature: float | None
    """None leaves it to the model."""
    most_tokens: int
    """Of an answer."""
    effort: str = ""
    """How hard a reasoning model is to think, in its maker's words; empty leaves it to the model."""
    thinking: int | None = None
    """The most tokens of thoughts; None leaves it to the model."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """What else is put into a request, over what is there already."""


class Said(NamedTuple):
    """What an answer holds."""

    text: str
    """Empty where the model, or who watches over it, would not answer."""
    cut_off: bool
    """Whether it was longer than it may be."""
    sent: object
    """Tokens, as the endpoint counts them; anything else where it does not."""
    received: object
    thoughts: str = ""
    """What it thought, where that is shown apart."""
    blocked: str = ""
    """Why it would not answer."""


class Speech(Protocol):
    """A protocol over HTTP. ``said`` may raise anything for what is not in it."""

    base: str
    """Where its inventor answers."""
    takes: frozenset[str]
    """Of effort and thinking: what it has a parameter for."""

    def path(self, manner: Manner) -> str:
        """What follows the base address."""

    def headers(self, key: str) -> dict[str, str]:
        """How a key is shown."""

    def body(self, manner: Manner, prompt: ModelPrompt, shown: Shown) -> JSON:
        """The request."""

    def read_answer(self, content: Any) -> Said:
        """The answer."""


class OpenAI:
    """Chat completions, which most servers speak."""

    base = "https://api.openai.com/v1"
    takes = frozenset({"effort"})

    def path(self, manner: Manner) -> str:
        """What follows the base address."""
        return "/chat/completions"

    def headers(self, key: str) -> dict[str, str]:
        """How a key is shown."""
        return {"Authorization": f"Bearer {key}"}

    def body(self, manner: Manner, prompt: ModelPrompt, shown: Shown) -> JSON:
        """The request. Models that take no temperature take ``max_completion_tokens`` only."""
        if manner.temperature is None:
            bounds: JSON = {"max_completion_tokens": manner.most_tokens}
        else:
            bounds = {"temperature": manner.temperature, "max_tokens": manner.most_tokens}
        user = prompt.user if isinstance(prompt.user, str) else [_openai(part, shown) for part in prompt.user]
        messages = [{"role": "system", "content": prompt.system}, {"role": "user", "content": user}]
        effort = {"reasoning_effort": manner.effort} if manner.effort else {}
        return merge_request({"model": manner.model, **bounds, **effort, "messages": messages}, manner.extra)

    def read_answer(self, content: Any) -> Said:
        """The answer."""
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
    """Messages."""

    base = "https://api.anthropic.com/v1"
    takes = frozenset({"thinking"})

    def path(self, manner: Manner) -> str:
        """What follows the base address."""
        return "/messages"

    def headers(self, key: str) -> dict[str, str]:
        """How a key is shown."""
        return {"x-api-key": key, "anthropic-version": "2023-06-01"}

    def body(self, manner: Manner, prompt: ModelPrompt, shown: Shown) -> JSON:
        """The request. A model that thinks takes no temperature."""
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
        """The answer."""
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
    """generateContent."""

    base = "https://generativelanguage.googleapis.com/v1beta"
    takes = frozenset({"effort", "thinking"})

    def path(self, manner: Manner) -> str:
        """What follows the base address."""
        return f"/models/{quote(manner.model, safe='')}:generateContent"

    def headers(self, key: str) -> dict[str, str]:
        """How a key is shown."""
        return {"x-goog-api-key": key}

    def body(self, manner: Manner, prompt: ModelPrompt, shown: Shown) -> JSON:
        """The request."""
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
        """The answer without thoughts, whose tokens are counted."""
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
    """A request with more in it: objects are merged, anything else is replaced."""
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
