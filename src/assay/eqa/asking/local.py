"""Models on this machine, through ``transformers``: one answer at a time, the likeliest token each time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib import import_module
from typing import Any

from PIL import Image

from assay.errors import one_line
from assay.extras import require
from assay.llm import Cache, Ledger, LLMError, Prompt, Reply


def local(
    name: str, most_tokens: int, cache: Cache, ledger: Ledger
) -> Callable[[], AbstractAsyncContextManager[Callable[[Prompt], Awaitable[Reply]]]]:
    """A model by its name at Hugging Face, or its folder. Raises LLMError if it cannot be had."""
    require("vlm", "models on this machine need transformers and torch", LLMError)
    torch: Any = import_module("torch")
    transformers: Any = import_module("transformers")
    try:
        processor = transformers.AutoProcessor.from_pretrained(name)
        model = transformers.AutoModelForImageTextToText.from_pretrained(name, dtype="auto").eval()
    except (OSError, ValueError) as error:
        raise LLMError(f"local:{name}: {one_line(str(error))}") from None
    model.to("cuda" if torch.cuda.is_available() else "cpu")

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
        return Reply(processor.decode(tokens, skip_special_tokens=True), len(tokens) >= most_tokens)

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
