"""Request settings of a model, from which the command-line options are derived."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from assay.support.llm.protocols import Endpoint

T = TypeVar("T")


def _option(default: T, help: str, **limits: int) -> T:
    """Declare a setting that is also a command-line option."""
    return field(default=default, metadata={"help": help, **limits})


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """Request settings of a model; fields with a help text are command-line options."""

    endpoint: str = _option("", "Base URL of the endpoint; the protocol's default if empty.")
    per_minute: float = _option(60.0, "Maximum number of requests per minute.")
    at_once: int = _option(4, "Maximum number of concurrent requests.", min=1)
    timeout: float = _option(120.0, "Timeout of a request in seconds.")
    attempts: int = _option(6, "Maximum number of attempts per request.", min=1)
    most_tokens: int = _option(
        2048, "Maximum number of tokens in a reply, including hidden reasoning.", min=1
    )
    temperature: bool = _option(True, "Send temperature 0; some models reject the parameter.")
    effort: str = _option("", "Reasoning effort: low, medium, high, ...")
    thinking: int | None = _option(None, "Maximum number of reasoning tokens (Anthropic, Gemini).", min=0)
    extra: str = _option("", "JSON object to merge into every request.")
    first_wait: float = 1.0
    """Delay before the second attempt, in seconds."""

    def endpoint_of(self, address: str) -> Endpoint:
        """Return the endpoint of a model. Raises LLMError for invalid settings."""
        from assay.support.llm.protocols import PROTOCOLS, Endpoint, LLMError, key_from_environment

        protocol, _, name = address.partition(":")
        try:
            extra = json.loads(self.extra or "{}")
        except ValueError as error:
            raise LLMError(f"--extra is not JSON: {error}") from None
        if not isinstance(extra, dict):
            raise LLMError('--extra must be a JSON object, such as {"reasoning_effort": "low"}')
        temperature = 0.0 if self.temperature else None
        url = self.endpoint or PROTOCOLS[protocol].base
        shared = {option.name for option in fields(Endpoint)} & {option.name for option in fields(self)}
        settings = {option: getattr(self, option) for option in shared}
        settings |= {"temperature": temperature, "extra": extra}
        return Endpoint(url, name, key_from_environment(), protocol, **settings)
