from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.support.llm.client import Cache, Client, Ledger
from assay.support.llm.protocols import Endpoint, LLMError, ModelPrompt, Reply

KEY = "sk-not-for-anybodys-eyes"


@pytest.fixture
def ask(tmp_path: Path) -> Callable[..., tuple[list[Reply | None], Ledger]]:
    def asked(endpoint: Endpoint, *questions: str) -> tuple[list[Reply | None], Ledger]:
        ledger, cache = Ledger(), Cache(tmp_path / "answers")

        async def run() -> list[Reply | None]:
            async with Client(endpoint, cache, ledger) as client:
                return [await client.ask(ModelPrompt("You are asked.", each)) for each in questions]

        try:
            return asyncio.run(run()), ledger
        finally:
            cache.close()

    return asked


@pytest.fixture(autouse=True)
def plain_talk(model):
    model.text = lambda body: f"You said: {body['messages'][1]['content']}"


def test_an_answer_is_returned_counted_and_cached(model, endpoint, ask):
    replies, ledger = ask(endpoint(), "hello")
    assert replies == [Reply("You said: hello", False)]
    assert (ledger.requests, ledger.prompt_tokens, ledger.answer_tokens) == (1, 100, 20)
    assert model.asked[0]["path"] == "/v1/chat/completions" and model.asked[0]["model"] == "tiny"
    replies, ledger = ask(endpoint(), "hello", "and you?")
    assert [reply.text for reply in replies] == ["You said: hello", "You said: and you?"]
    assert (ledger.cached, ledger.requests, ledger.prompt_tokens) == (1, 1, 100)


def test_the_key_goes_into_one_header_and_nowhere_else(model, endpoint, ask, tmp_path):
    place = endpoint(key=KEY)
    ask(place, "hello")
    assert model.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert KEY not in repr(place) and KEY not in json.dumps(model.asked)
    assert all(KEY.encode() not in file.read_bytes() for file in tmp_path.iterdir())
    model.faults[-1] = lambda body: (401, {}, f"no such key: {KEY}".encode())
    with pytest.raises(LLMError) as caught:
        ask(place, "and now?")
    assert KEY not in str(caught.value) and "status 401" in str(caught.value)
    model.faults, model.text = {}, lambda body: f"your key is {KEY}"
    assert ask(place, "what is it?")[0] == [Reply("your key is [key]", False)]
    assert all(KEY.encode() not in file.read_bytes() for file in tmp_path.iterdir())


def test_requests_are_paced_and_wait_as_long_as_the_endpoint_asks(model, endpoint, ask):
    start = time.monotonic()
    ask(endpoint(per_minute=600.0), *map(str, range(5)))
    paced = time.monotonic() - start
    model.faults[len(model.asked)] = lambda body: (429, {"Retry-After": "0.4"}, b"")
    ask(endpoint(), "hello")
    assert paced >= 0.4 and time.monotonic() - start >= paced + 0.4


def test_an_invalid_wait_is_ignored(model, endpoint, ask):
    start = time.monotonic()
    for header in ("soon", "-3", "nan", "inf", "Wed, 21 Oct 2015 07:28:00 GMT"):
        model.faults[len(model.asked)] = lambda body, header=header: (429, {"Retry-After": header}, b"")
        ask(endpoint(), f"hello, {header}")
    assert time.monotonic() - start < 2


def test_trouble_that_stays_ends_the_run(model, endpoint, ask):
    model.faults[-1] = lambda body: (500, {}, b"<html>\n<b>Traceback</b>\n" + b"x" * 5000)
    with pytest.raises(LLMError, match=r"status 500.*attempts: 3.*run the same command again") as caught:
        ask(endpoint(), "hello")
    assert len(model.asked) == 3 and len(str(caught.value)) < 400


@pytest.mark.parametrize("status", [400, 401, 403, 404, 302])
def test_a_refusal_is_not_repeated(model, endpoint, ask, status: int):
    model.faults[-1] = lambda body: (status, {"Location": "http://127.0.0.1:1/"}, b'{"error": "no"}')
    words = "redirects to http://127.0.0.1:1/" if status == 302 else f"rejected the request: status {status}"
    with pytest.raises(LLMError, match=words):
        ask(endpoint(), "hello")
    assert len(model.asked) == 1


NONSENSE = {
    "html": b"<html>welcome</html>",
    "nothing": b"",
    "a number": b'{"choices": [{"message": {"content": 7}}]}',
    "a usage of another kind": b'{"choices": [{"message": {"content": "x"}}], "usage": "much"}',
    "no text": b"\xff\xfe\x00",
    "deep": b"[" * 100_000,
    "a flood": b'{"choices": "' + b"x" * 5_000_000 + b'"}',
}


@pytest.mark.parametrize("content", NONSENSE.values(), ids=NONSENSE)
def test_an_invalid_answer_is_dropped_counted_and_not_cached(model, endpoint, ask, content: bytes):
    model.faults[-1] = lambda body: (200, {}, content)
    replies, ledger = ask(endpoint(attempts=2), "hello")
    assert replies == [None] and sum(ledger.dropped.values()) == 1
    model.faults.clear()
    assert ask(endpoint(), "hello")[0] == [Reply("You said: hello", False)]


def test_an_answer_that_drips_is_given_up(endpoint, ask):
    async def serve() -> None:
        async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
            for _ in range(100):
                writer.write(b" ")
                await asyncio.sleep(0.05)
            writer.close()

        server = await asyncio.start_server(drip, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        place = Endpoint(url, "tiny", timeout=0.4, attempts=1)
        start = time.monotonic()
        with pytest.raises(LLMError, match="no answer within"):
            await asyncio.to_thread(ask, place, "hello")
        assert time.monotonic() - start < 2
        server.close()

    asyncio.run(serve())


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"url": "localhost:8000"}, "must be a URL such as"),
        ({"url": "http://host:eight/v1"}, "must be a URL such as"),
        ({"url": f"https://me:{KEY}@there/v1"}, "belongs in ASSAY_LLM_KEY"),
        ({"url": f"https://there/v1?key={KEY}"}, "belongs in ASSAY_LLM_KEY"),
        (
            {"url": "http://there.example/v1", "key": KEY},
            "refusing to send the API key to there.example over http",
        ),
        ({"url": "https://there/v1", "key": f"{KEY}\n"}, "characters that are not allowed in an API key"),
        ({"url": "https://there/v1", "model": " "}, "model name"),
        ({"url": "https://there/v1", "per_minute": 0}, "must be positive"),
        ({"url": "https://there/v1", "per_minute": float("nan")}, "must be positive"),
    ],
)
def test_settings_that_are_invalid_are_rejected_without_telling_the_key(settings: dict[str, Any], words: str):
    with pytest.raises(LLMError, match=words) as caught:
        Endpoint(**({"model": "tiny"} | settings))
    assert KEY not in str(caught.value)


def test_a_file_that_is_not_a_cache_is_rejected(tmp_path: Path):
    (tmp_path / "answers").write_text("these are my notes, " * 100)
    with pytest.raises(LLMError, match="is not a cache of answers"):
        Cache(tmp_path / "answers")
