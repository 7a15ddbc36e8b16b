from __future__ import annotations

import hashlib
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from assay.perturb.words.llm import Endpoint

Answer = tuple[int, dict[str, str], bytes]


class Model:
    """A server that speaks the protocol, and misbehaves where it is told to."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.faults: dict[int, Callable[[dict[str, Any]], Answer | None]] = {}
        """Number of a request, -1 for every one -> what it gets instead; None for the usual answer."""
        self.seconds = 0.0
        """How long an answer takes."""
        self.verdict: Callable[[int], str] = lambda count: " ".join(map(str, range(1, count + 1)))
        self._lock = threading.Lock()
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1  # headers and body in one piece

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with model._lock:
                    number = len(model.asked)
                    model.asked.append(body | {"path": self.path})
                    model.headers.append(dict(self.headers.items()))
                time.sleep(model.seconds)
                fault = model.faults.get(number) or model.faults.get(-1)
                answer = (fault(body) if fault else None) or chat(model.text(body))
                try:
                    self.send_response(answer[0])
                    for name, value in answer[1].items():
                        self.send_header(name, value)
                    self.send_header("Content-Length", str(len(answer[2])))
                    self.end_headers()
                    self.wfile.write(answer[2])
                    self.wfile.flush()
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

            def log_message(self, *args: object) -> None:
                pass

        self._server = _Quiet(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        ).start()

    def text(self, body: dict[str, Any]) -> str:
        """What it says: as many rewordings as it is asked for, or its verdict on those it is shown."""
        system, user = (message["content"] for message in body["messages"])
        if system.startswith("You check"):
            return self.verdict(len(re.findall(r"^\d+\. ", user, re.MULTILINE)))
        original = re.search(r"Instruction: (.*)", user)[1]
        count = int(re.search(r"Write (\d+) different", user)[1])
        asked = int.from_bytes(hashlib.sha256(user.encode()).digest()[:8], "big")
        return "\n".join(f"{original} {_word(asked + number)}" for number in range(count))

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Quiet(ThreadingHTTPServer):
    """Says nothing about clients that are killed."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass


def _word(number: int) -> str:
    return "".join(chr(ord("a") + int(digit)) for digit in str(number))


def chat(text: str | None, *, finish: str = "stop", **more: Any) -> Answer:
    """A chat completion."""
    content: dict[str, Any] = {
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20},
    }
    return 200, {"Content-Type": "application/json"}, json.dumps(content | more).encode()


@pytest.fixture
def model() -> Iterator[Model]:
    """A language model on this machine."""
    server = Model()
    yield server
    server.close()


@pytest.fixture
def endpoint(model: Model) -> Callable[..., Endpoint]:
    """Makes endpoints of the model, without long waits."""

    def made(**settings: Any) -> Endpoint:
        usual: dict[str, Any] = {"per_minute": 1e6, "first_wait": 0.01, "timeout": 5.0, "attempts": 3}
        return Endpoint(model.url, "tiny", **(usual | settings))

    return made
