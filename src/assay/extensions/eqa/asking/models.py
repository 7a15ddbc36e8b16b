"""Models by address.

random, longest, text-only, geometry    baselines without a model
openai:NAME                             any endpoint with OpenAI's chat-completions protocol
anthropic:NAME, gemini:NAME             endpoints with their own protocols
local:NAME                              a ``transformers`` model on this machine
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import import_module
from typing import Any, TypeVar

from PIL import Image

from assay.errors import did_you_mean, one_line
from assay.extensions.eqa.asking.settings import LOCAL, ModelSettings
from assay.extensions.eqa.baselines import BASELINES
from assay.extensions.eqa.question import QuestionError
from assay.support.extras import require
from assay.support.llm.client import Cache, Client, Ledger
from assay.support.llm.protocols import PROTOCOLS, LLMError, ModelPrompt, Reply

T = TypeVar("T")
Answering = Callable[[ModelPrompt], Awaitable[Reply]]
MODEL_ADDRESSES = tuple(f"{protocol}:NAME" for protocol in (*PROTOCOLS, LOCAL))


@dataclass(frozen=True, slots=True)
class Model:
    """A model that replies to prompts."""

    name: str
    """Address of the model."""
    connect: Callable[[], AbstractAsyncContextManager[Answering]]
    at_once: int = 1
    """Maximum number of concurrent requests."""
    ledger: Ledger = field(default_factory=Ledger)
    endpoint: str = ""
    """URL of the endpoint; empty for local models."""
    parameters: Mapping[str, object] = field(default_factory=dict)
    """Settings that affect replies."""

    def process(self, items: Iterable[T], work: Callable[[Answering, T], Awaitable[None]]) -> None:
        """Process items concurrently; the first exception cancels the remaining items and is re-raised."""
        waiting = iter(items)

        async def process_all() -> None:
            async def worker() -> None:
                for item in waiting:
                    await work(answering, item)

            async with self.connect() as answering, asyncio.TaskGroup() as group:
                for _ in range(self.at_once):
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
    if protocol not in (*PROTOCOLS, LOCAL) or not name.strip():
        advice = did_you_mean(address, (*BASELINES, *MODEL_ADDRESSES), most=9)
        raise QuestionError(f"unknown model '{address[:100]}': {advice}")
    settings.endpoint_of(address)
    return False


def open_model(
    address: str,
    settings: ModelSettings,
    cache: Cache,
    on_wait: Callable[[float], None] = lambda seconds: None,
) -> Model:
    """Open a model that is not a baseline; ``on_wait`` is called with each rate-limit delay in seconds."""
    ledger = Ledger()
    endpoint = settings.endpoint_of(address)
    parameters = settings.parameters(endpoint)
    if endpoint is None:
        local = LocalModel(address.partition(":")[2], settings, cache, ledger)
        return Model(address, lambda: nullcontext(local.reply), ledger=ledger, parameters=parameters)

    @asynccontextmanager
    async def connect() -> AsyncIterator[Answering]:
        async with Client(endpoint, cache, ledger, on_wait) as client:
            yield client.reply

    return Model(address, connect, settings.at_once, ledger, endpoint.address, parameters)


class LocalModel:
    """A ``transformers`` model on this machine: one reply at a time, greedy decoding.

    Weights are loaded onto the first GPU, or into main memory if none exists, unless ``settings.device_map``
    distributes them. Raises LLMError if the model cannot be loaded.
    """

    def __init__(self, name: str, settings: ModelSettings, cache: Cache, ledger: Ledger) -> None:
        """Load the model ``name``, a Hugging Face repository or a local folder."""
        require("vlm", "local models need transformers and torch", LLMError)
        self._name, self._cache, self._ledger = name, cache, ledger
        self._most_tokens = settings.most_tokens
        self._torch: Any = import_module("torch")
        transformers: Any = import_module("transformers")
        trust = {"trust_remote_code": settings.remote_code}
        spread = {"device_map": settings.device_map} if settings.device_map else {}
        try:
            self._processor = transformers.AutoProcessor.from_pretrained(name, **trust)
            self._model = transformers.AutoModelForImageTextToText.from_pretrained(
                name, dtype="auto", **trust, **spread
            ).eval()
        except (OSError, ValueError, ImportError) as error:
            hint = "; allow this with --remote-code" if "trust_remote_code" in str(error) else ""
            raise LLMError(f"local:{name}: {one_line(str(error))}{hint}") from None
        if not settings.device_map:
            self._model.to("cuda" if self._torch.cuda.is_available() else "cpu")

    async def reply(self, prompt: ModelPrompt) -> Reply:
        """Reply to a prompt, from the cache if possible. Raises LLMError if the model fails."""
        user = [part if isinstance(part, str) else part.name for part in prompt.parts]
        request = {
            "local": self._name,
            "max_tokens": self._most_tokens,
            "system": prompt.system,
            "user": user,
        }
        cached = self._cache.get(request)
        if cached is not None:
            self._ledger.cached += 1
            return cached
        try:
            reply = await asyncio.to_thread(self._generate, prompt)
        except (RuntimeError, ValueError, TypeError, KeyError) as error:
            raise LLMError(f"local:{self._name}: {one_line(str(error))}") from None
        self._cache.put(request, reply)
        return reply

    def _generate(self, prompt: ModelPrompt) -> Reply:
        content = [
            {"type": "text", "text": part}
            if isinstance(part, str)
            else {"type": "image", "image": Image.open(part.path).convert("RGB")}
            for part in prompt.parts
        ]
        messages = [
            {"role": "system", "content": [{"type": "text", "text": prompt.system}]},
            {"role": "user", "content": content},
        ]
        inputs = self._processor.apply_chat_template(
            messages, add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt"
        ).to(self._model.device)
        sent = inputs["input_ids"].shape[1]
        with self._torch.inference_mode():
            tokens = self._model.generate(**inputs, max_new_tokens=self._most_tokens, do_sample=False)[0]
        tokens = tokens[sent:]
        self._ledger.requests += 1
        self._ledger.prompt_tokens += sent
        self._ledger.answer_tokens += len(tokens)
        return Reply(
            self._processor.decode(tokens, skip_special_tokens=True),
            len(tokens) >= self._most_tokens,
            sent=sent,
            received=len(tokens),
            at=datetime.now(UTC).isoformat(timespec="seconds"),
        )
