"""Models on this machine, through ``transformers``: one answer at a time, the likeliest token each time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime
from importlib import import_module
from typing import TYPE_CHECKING, Any

from PIL import Image

from assay.errors import one_line
from assay.support.extras import require
from assay.support.llm import Cache, Ledger, LLMError, Prompt, Reply

if TYPE_CHECKING:
    from assay.extensions.eqa.asking.models import Settings


def local(
    name: str, settings: Settings, cache: Cache, ledger: Ledger
) -> Callable[[], AbstractAsyncContextManager[Callable[[Prompt], Awaitable[Reply]]]]:
    """A model by its name at Hugging Face, or its folder. Raises LLMError if it cannot be had.

    Its weights go to the first graphics card, or stay in memory, unless ``settings.device_map`` spreads them.
    """
    require("vlm", "models on this machine need transformers and torch", LLMError)
    torch: Any = import_module("torch")
    transformers: Any = import_module("transformers")
    try:
        trusted = {"trust_remote_code": settings.remote_code}
        processor = transformers.AutoProcessor.from_pretrained(name, **trusted)
        spread = {"device_map": settings.device_map} if settings.device_map else {}
        model = transformers.AutoModelForImageTextToText.from_pretrained(
            name, dtype="auto", **trusted, **spread
        ).eval()
    except (OSError, ValueError, ImportError) as error:
        hint = "; --remote-code lets it" if "trust_remote_code" in str(error) else ""
        raise LLMError(f"local:{name}: {one_line(str(error))}{hint}") from None
    if not settings.device_map:
        model.to("cuda" if torch.cuda.is_available() else "cpu")
    most_tokens = settings.most_tokens

    def generated(prompt: Prompt) -> Reply:
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
        inputs = processor.apply_chat_template(
            messages, add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt"
        ).to(model.device)
        sent = inputs["input_ids"].shape[1]
        with torch.inference_mode():
            tokens = model.generate(**inputs, max_new_tokens=most_tokens, do_sample=False)[0][sent:]
        ledger.requests += 1
        ledger.prompt_tokens += sent
        ledger.answer_tokens += len(tokens)
        text, at = processor.decode(tokens, skip_special_tokens=True), datetime.now(UTC)
        return Reply(
            text,
            len(tokens) >= most_tokens,
            sent=sent,
            received=len(tokens),
            at=at.isoformat(timespec="seconds"),
        )

    async def reply(prompt: Prompt) -> Reply:
        shown = [part if isinstance(part, str) else part.name for part in prompt.parts]
        request = {"local": name, "max_tokens": most_tokens, "system": prompt.system, "user": shown}
        kept = cache.get(request)
        if kept is not None:
            ledger.cached += 1
            return kept
        try:
            made = await asyncio.to_thread(generated, prompt)
        except (RuntimeError, ValueError, TypeError, KeyError) as error:
            raise LLMError(f"local:{name}: {one_line(str(error))}") from None
        cache.put(request, made)
        return made

    @asynccontextmanager
    async def opened() -> AsyncIterator[Callable[[Prompt], Awaitable[Reply]]]:
        yield reply

    return opened
