"""How endpoints are spoken to: OpenAI's chat completions, Anthropic's messages, Gemini's generateContent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol
from urllib.parse import quote

from assay.llm.prompt import Picture, Prompt

Shown = Callable[[Picture], str]
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


class Said(NamedTuple):
    """What an answer holds."""

    text: str
    """Empty where the model, or who watches over it, would not answer."""
    cut_off: bool
    """Whether it was longer than it may be."""
    sent: object
    """Tokens, as the endpoint counts them; anything else where it does not."""
    received: object


class Speech(Protocol):
    """A protocol over HTTP. ``said`` may raise anything for what is not in it."""

    base: str
    """Where its inventor answers."""

    def path(self, manner: Manner) -> str:
        """What follows the base address."""

    def headers(self, key: str) -> dict[str, str]:
        """How a key is shown."""

    def body(self, manner: Manner, prompt: Prompt, shown: Shown) -> JSON:
        """The request."""

    def said(self, content: Any) -> Said:
        """The answer."""


class OpenAI:
    """Chat completions, which most servers speak."""

    base = "https://api.openai.com/v1"

    def path(self, manner: Manner) -> str:
        """What follows the base address."""
        return "/chat/completions"

    def headers(self, key: str) -> dict[str, str]:
        """How a key is shown."""
        return {"Authorization": f"Bearer {key}"}

    def body(self, manner: Manner, prompt: Prompt, shown: Shown) -> JSON:
        """The request. Models that take no temperature take ``max_completion_tokens`` only."""
        if manner.temperature is None:
            bounds: JSON = {"max_completion_tokens": manner.most_tokens}
        else:
            bounds = {"temperature": manner.temperature, "max_tokens": manner.most_tokens}
        user = prompt.user if isinstance(prompt.user, str) else [_openai(part, shown) for part in prompt.user]
        messages = [{"role": "system", "content": prompt.system}, {"role": "user", "content": user}]
        return {"model": manner.model, **bounds, "messages": messages}

    def said(self, content: Any) -> Said:
        """The answer."""
        choice, usage = content["choices"][0], content.get("usage") or {}
        message = choice["message"]["content"]  # text, its parts, or nothing: refused, or only thoughts
        parts = [{"type": "text", "text": message}] if isinstance(message, str) else message or []
        return Said(
            "".join(part["text"] for part in parts if part["type"] == "text"),
            choice.get("finish_reason") == "length",
            usage.get("prompt_tokens"),
            usage.get("completion_tokens"),
        )


class Anthropic:
    """Messages."""

    base = "https://api.anthropic.com/v1"

    def path(self, manner: Manner) -> str:
        """What follows the base address."""
        return "/messages"

    def headers(self, key: str) -> dict[str, str]:
        """How a key is shown."""
        return {"x-api-key": key, "anthropic-version": "2023-06-01"}

    def body(self, manner: Manner, prompt: Prompt, shown: Shown) -> JSON:
        """The request."""
        warmth = {} if manner.temperature is None else {"temperature": manner.temperature}
        content = [
            {"type": "text", "text": part}
            if isinstance(part, str)
            else {
                "type": "image",
                "source": {"type": "base64", "media_type": "image/png", "data": shown(part)},
            }
            for part in prompt.parts
        ]
        return {
            "model": manner.model,
            **warmth,
            "max_tokens": manner.most_tokens,
            "system": prompt.system,
            "messages": [{"role": "user", "content": content}],
        }

    def said(self, content: Any) -> Said:
        """The answer."""
        usage = content.get("usage") or {}
        return Said(
            "".join(part["text"] for part in content["content"] if part["type"] == "text"),
            content.get("stop_reason") == "max_tokens",
            usage.get("input_tokens"),
            usage.get("output_tokens"),
        )


class Gemini:
    """generateContent."""

    base = "https://generativelanguage.googleapis.com/v1beta"

    def path(self, manner: Manner) -> str:
        """What follows the base address."""
        return f"/models/{quote(manner.model, safe='')}:generateContent"

    def headers(self, key: str) -> dict[str, str]:
        """How a key is shown."""
        return {"x-goog-api-key": key}

    def body(self, manner: Manner, prompt: Prompt, shown: Shown) -> JSON:
        """The request."""
        warmth = {} if manner.temperature is None else {"temperature": manner.temperature}
        parts = [
            {"text": part}
            if isinstance(part, str)
            else {"inlineData": {"mimeType": "image/png", "data": shown(part)}}
            for part in prompt.parts
        ]
        return {
            "systemInstruction": {"parts": [{"text": prompt.system}]},
            "contents": [{"role": "user", "parts": parts}],
            "generationConfig": {**warmth, "maxOutputTokens": manner.most_tokens},
        }

    def said(self, content: Any) -> Said:
        """The answer; a thought is none, but its tokens are paid for."""
        usage = content.get("usageMetadata") or {}
        if content.get("promptFeedback", {}).get("blockReason"):
            candidate: JSON = {"finishReason": "SAFETY"}
        else:
            candidate = content["candidates"][0]
        cut_off = candidate.get("finishReason") == "MAX_TOKENS"
        silent = candidate.get("finishReason", "STOP") != "STOP"  # cut off, or blocked
        parts = (candidate.get("content") or {}).get("parts", []) if silent else candidate["content"]["parts"]
        received = usage.get("candidatesTokenCount", 0) + usage.get("thoughtsTokenCount", 0)
        return Said(
            "".join(part["text"] for part in parts if not part.get("thought")),
            cut_off,
            usage.get("promptTokenCount"),
            received if usage else None,
        )


OPENAI: Speech = OpenAI()
SPEECHES: Mapping[str, Speech] = MappingProxyType(
    {"openai": OPENAI, "anthropic": Anthropic(), "gemini": Gemini()}
)


def _openai(part: str | Picture, shown: Shown) -> JSON:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{shown(part)}"}}
