from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.model_server import ModelServer, Reply

from assay.extensions.eqa.commands.shared import ModelSettings
from assay.extensions.eqa.question import LETTERS, Question, load

from ..conftest import small_set


class Vision(ModelServer):
    """A server of all three protocols that knows the answers and can be given faults."""

    def __init__(self, folder: Path) -> None:
        self.faults: dict[int, Reply] = {}
        """Number of a request, -1 for all -> its reply."""
        self.form: Callable[[str], str] = lambda letter: letter
        self.pause: Callable[[], None] = lambda: None
        self._answers = {_seen(each, folder): each.answer for each in load(folder)}
        super().__init__()

    def reply(self, number: int, path: str, body: dict[str, Any]) -> Reply:
        self.pause()
        return self.faults.get(number) or self.faults.get(-1) or self.answer(path, body)

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


def chat(text: str, finish: str = "stop") -> Reply:
    choice = {"message": {"content": text}, "finish_reason": finish}
    usage = {"prompt_tokens": 900, "completion_tokens": 3}
    return 200, {}, json.dumps({"choices": [choice], "usage": usage}).encode()


def _seen(question: Question, folder: Path) -> tuple[Any, ...]:
    files = [folder / name for name in (*question.pictures, *question.option_pictures)]
    pictures = tuple(base64.b64encode(path.read_bytes()).decode() for path in files)
    return "\n".join([question.text, *question.options]), pictures


def _shown(body: dict[str, Any]) -> tuple[Any, ...]:
    """Return the text, the options and the pictures of a request in any protocol."""
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
def settings(vision: Vision) -> Callable[..., ModelSettings]:
    def make(**more: Any) -> ModelSettings:
        usual: dict[str, Any] = {"per_minute": 1e6, "timeout": 5.0, "attempts": 2, "first_wait": 0.01}
        return ModelSettings(vision.url, **(usual | more))

    return make
