"""What answers questions, by address.

random, longest, text-only, geometry    baselines: no model at all
openai:NAME                             any endpoint that speaks OpenAI's chat completions
anthropic:NAME, gemini:NAME             their own protocols
local:NAME                              a model of ``transformers`` on this machine
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from assay.errors import did_you_mean
from assay.extensions.eqa.baselines import BASELINES
from assay.extensions.eqa.errors import QuestionError
from assay.support.llm import Cache, Client, Endpoint, Ledger, Prompt, Reply
from assay.support.llm.protocols import SPEECHES

T = TypeVar("T")
Answering = Callable[[Prompt], Awaitable[Reply]]
LOCAL = "local"
VALID = ("random", "longest", "text-only", "geometry", *(f"{each}:NAME" for each in (*SPEECHES, LOCAL)))


@dataclass(frozen=True, slots=True)
class Model:
    """What answers prompts."""

    name: str
    """Its address."""
    opened: Callable[[], AbstractAsyncContextManager[Answering]]
    at_once: int = 1
    """How many are under way at a time."""
    ledger: Ledger = field(default_factory=Ledger)
    endpoint: str = ""
    """Where it answers; empty for a local one."""
    parameters: Mapping[str, object] = field(default_factory=dict)
    """With what it is asked."""

    def with_each(self, things: Iterable[T], work: Callable[[Answering, T], Awaitable[None]]) -> None:
        """Do some work that asks for each of some things, a few at a time; what it raises ends all of it."""
        waiting = iter(things)

        async def one_after_another(answering: Answering) -> None:
            for each in waiting:
                await work(answering, each)

        async def all_of_them() -> None:
            async with self.opened() as answering, asyncio.TaskGroup() as group:
                for _ in range(self.at_once):
                    group.create_task(one_after_another(answering))

        try:
            asyncio.run(all_of_them())
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None


@dataclass(frozen=True, slots=True)
class Settings:
    """How models behind endpoints, or on this machine, are asked."""

    url: str = ""
    """The base address; the protocol's own where empty."""
    key: str | None = field(default=None, repr=False)
    per_minute: float = 60.0
    at_once: int = 4
    timeout: float = 120.0
    """Seconds for one answer."""
    attempts: int = 6
    most_tokens: int = 2048
    """Of one answer; hidden thoughts count."""
    temperature: float | None = 0.0
    """None for models that take none."""
    first_wait: float = 1.0
    """Seconds before the second attempt."""
    effort: str = ""
    """How hard a reasoning model is to think, in its maker's words."""
    thinking: int | None = None
    """The most tokens of thoughts."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """What else is put into every request."""
    device_map: str = ""
    """Of a local model: how its weights are spread over devices, ``auto`` for instance."""
    remote_code: bool = False
    """Whether a local model may bring code of its own."""

    def told(self) -> dict[str, object]:
        """What changes answers, to be kept with them."""
        return {
            "temperature": self.temperature,
            "most_tokens": self.most_tokens,
            **({"effort": self.effort} if self.effort else {}),
            **({"thinking": self.thinking} if self.thinking is not None else {}),
            **({"extra": dict(self.extra)} if self.extra else {}),
        }


def is_baseline(address: str) -> bool:
    """Whether an address is that of a baseline. Raises QuestionError for what is no address."""
    protocol, _, name = address.partition(":")
    if address in BASELINES:
        return True
    if protocol not in (*SPEECHES, LOCAL) or not name.strip():
        raise QuestionError(f"there is no model '{address[:100]}': {did_you_mean(address, VALID, most=9)}")
    return False


def endpoint_of(address: str, settings: Settings) -> Endpoint | None:
    """The endpoint behind an address, none for a local model. Raises LLMError for settings without sense."""
    protocol, _, name = address.partition(":")
    if protocol == LOCAL:
        return None
    speech = SPEECHES[protocol]
    return Endpoint(
        settings.url or speech.base,
        name,
        settings.key,
        speech,
        settings.temperature,
        settings.most_tokens,
        settings.per_minute,
        settings.at_once,
        settings.timeout,
        settings.attempts,
        settings.first_wait,
        settings.effort,
        settings.thinking,
        settings.extra,
    )


def model(
    address: str, settings: Settings, cache: Cache, on_wait: Callable[[float], None] = lambda seconds: None
) -> Model:
    """The model of an address that is no baseline; ``on_wait`` is told when an endpoint limits the rate."""
    ledger = Ledger()
    endpoint = endpoint_of(address, settings)
    if endpoint is None:
        from assay.extensions.eqa.asking.local import local

        name = address.partition(":")[2]
        opening = local(name, settings, cache, ledger)
        return Model(address, opening, ledger=ledger, parameters=settings.told())

    @asynccontextmanager
    async def opened() -> AsyncIterator[Answering]:
        async with Client(endpoint, cache, ledger, on_wait) as client:
            yield client.reply

    return Model(address, opened, settings.at_once, ledger, endpoint.address, settings.told())
