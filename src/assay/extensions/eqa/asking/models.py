"""Models behind endpoints, by address: ``openai:NAME``, ``anthropic:NAME`` or ``gemini:NAME``."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from assay.errors import did_you_mean
from assay.extensions.eqa.asking.settings import ModelSettings
from assay.extensions.eqa.baselines import BASELINES
from assay.extensions.eqa.question import QuestionError
from assay.support.llm.client import Cache, Client, Ledger
from assay.support.llm.protocols import PROTOCOLS, Endpoint

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Model:
    """A model that replies to prompts."""

    name: str
    """Address of the model."""
    endpoint: Endpoint
    cache: Cache
    on_wait: Callable[[float], None] = lambda seconds: None
    """Function that is called with each rate-limit delay, in seconds."""
    ledger: Ledger = field(default_factory=Ledger)

    def process(self, items: Iterable[T], work: Callable[[Client, T], Awaitable[None]]) -> None:
        """Process items concurrently; the first exception cancels the remaining items and is re-raised."""
        waiting = iter(items)

        async def process_all() -> None:
            async def worker() -> None:
                for item in waiting:
                    await work(client, item)

            async with (
                Client(self.endpoint, self.cache, self.ledger, self.on_wait) as client,
                asyncio.TaskGroup() as group,
            ):
                for _ in range(self.endpoint.at_once):
                    group.create_task(worker())

        try:
            asyncio.run(process_all())
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None


def is_baseline(address: str, settings: ModelSettings) -> bool:
    """Return whether an address names a baseline.

    Raises QuestionError for an invalid address, LLMError for settings that do not apply to the model.
    """
    protocol, _, name = address.partition(":")
    if address in BASELINES:
        return True
    if protocol not in PROTOCOLS or not name.strip():
        advice = did_you_mean(address, (*BASELINES, *(f"{name}:NAME" for name in PROTOCOLS)), most=9)
        raise QuestionError(f"unknown model '{address[:100]}': {advice}")
    settings.endpoint_of(address)
    return False
