from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from assay.eqa.asking.models import Settings
from assay.eqa.question import LETTERS, Question, load

from ..invented import small_set

Reply = tuple[int, dict[str, str], bytes]


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass


class Vision:
    """A server that speaks all three protocols, knows the answers, and misbehaves where it is told to."""

    def __init__(self, folder: Path) -> None:
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.faults: dict[int, Reply] = {}
        """Number of a request, -1 for every one -> what it gets."""
        self.form: Callable[[str], str] = lambda letter: letter
        self.pause: Callable[[], None] = lambda: None
        self._answers = {_seen(each, folder): each.answer for each in load(folder)}
        self._lock = threading.Lock()
        vision = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with vision._lock:
                    number = len(vision.asked)
                    vision.asked.append(body | {"path": self.path})
                    vision.headers.append(dict(self.headers.items()))
                vision.pause()
                fault = vision.faults.get(number) or vision.faults.get(-1)
                status, headers, content = fault or vision.answer(self.path, body)
                try:
                    self.send_response(status)
                    for name, value in headers.items():
                        self.send_header(name, value)
                    self.send_header("Content-Length", str(len(content)))
                    self.end_headers()
                    self.wfile.write(content)
                    self.wfile.flush()
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

            def log_message(self, *args: object) -> None:
                pass

        self._server = _Quiet(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def answer(self, path: str, body: dict[str, Any]) -> Reply:
        said = self.form(self._answers[_shown(body)])
        if path.endswith("/messages"):
            usage = {"input_tokens": 900, "output_tokens": 3}
            content: dict[str, Any] = {"content": [{"type": "text", "text": said}], "usage": usage}
        elif path.endswith(":generateContent"):
            parts = [{"text": "hm, B?", "thought": True}, {"text": said}]
            usage = {"promptTokenCount": 900, "candidatesTokenCount": 1, "thoughtsTokenCount": 2}
            content = {"candidates": [{"content": {"parts": parts}}], "usageMetadata": usage}
        else:
            content = json.loads(chat(said)[2])
        return 200, {"Content-Type": "application/json"}, json.dumps(content).encode()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def chat(text: str, finish: str = "stop") -> Reply:
    choice = {"message": {"content": text}, "finish_reason": finish}
    usage = {"prompt_tokens": 900, "completion_tokens": 3}
    return 200, {}, json.dumps({"choices": [choice], "usage": usage}).encode()


def _seen(question: Question, folder: Path) -> tuple[Any, ...]:
    files = [folder / name for name in (*question.pictures, *question.option_pictures)]
    pictures = tuple(base64.b64encode(path.read_bytes()).decode() for path in files)
    return "\n".join([question.text, *question.options]), pictures


def _shown(body: dict[str, Any]) -> tuple[Any, ...]:
    """The question's text and options, and all pictures, in whatever protocol they came."""
    content = body["contents"][0]["parts"] if "contents" in body else body["messages"][-1]["content"]
    texts, pictures = [], []
    for part in content:
        if "text" in part:
            texts.append(part["text"])
        elif "inlineData" in part:
            pictures.append(part["inlineData"]["data"])
        elif "source" in part:
            pictures.append(part["source"]["data"])
        else:
            pictures.append(part["image_url"]["url"].removeprefix("data:image/png;base64,"))
    options = [text[3:] for text in texts if text[:1] in LETTERS and text[1:3] == ": "]
    return "\n".join([texts[0], *options]), tuple(pictures)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_set(tmp_path_factory.mktemp("asked") / "set")


@pytest.fixture(scope="session")
def questions(folder: Path) -> list[Question]:
    return load(folder)


@pytest.fixture
def vision(folder: Path) -> Iterator[Vision]:
    server = Vision(folder)
    yield server
    server.close()


@pytest.fixture
def settings(vision: Vision) -> Callable[..., Settings]:
    def made(**more: Any) -> Settings:
        usual: dict[str, Any] = {"per_minute": 1e6, "timeout": 5.0, "attempts": 2, "first_wait": 0.01}
        return Settings(vision.url, **(usual | more))

    return made
