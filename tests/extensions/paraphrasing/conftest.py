from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest
from tests.perturb.words.distance.conftest import models as models

from assay import tasks
from assay.extensions.paraphrasing.pipeline import read_prompts
from assay.perturb.words.grid.cells import CELLS, ActionType, Cell, ObjectType
from assay.perturb.words.grid.generate import paraphrases
from assay.support.llm.protocols import Endpoint

from ...model_server import ModelServer, Reply


class Model(ModelServer):
    """A server that speaks the protocol, and misbehaves where it is told to."""

    def __init__(self) -> None:
        self.faults: dict[int, Callable[[dict[str, Any]], Reply | None]] = {}
        """Number of a request, -1 for every one -> what it gets instead; None for the usual answer."""
        self.seconds = 0.0
        """How long an answer takes."""
        self.verdict: Callable[[int], str] = lambda count: " ".join(map(str, range(1, count + 1)))
        super().__init__()

    def reply(self, number: int, path: str, body: dict[str, Any]) -> Reply:
        time.sleep(self.seconds)
        fault = self.faults.get(number) or self.faults.get(-1)
        return (fault(body) if fault else None) or chat(self.text(body))

    def text(self, body: dict[str, Any]) -> str:
        """What it says: as many rewordings as it is asked for, or its verdict on those it is shown."""
        system, user = (message["content"] for message in body["messages"])
        if system.startswith("You check"):
            return self.verdict(len(re.findall(r"^\d+\. ", user, re.MULTILINE)))
        original = re.search(r"Instruction: (.*)", user)[1]
        count = int(re.search(r"Write (\d+) different", user)[1])
        told, _, known = user.partition("which are there already:")
        taken = set(re.findall(r"^- (.*)$", known, re.MULTILINE))
        fitting = worded(original)[_cell(told, worded(original))]
        return "\n".join([text for text in fitting if text not in taken][:count])


@cache
def worded(original: str) -> dict[Cell, list[str]]:
    """What it knows to say for an instruction of libero_goal: what the offline generator does."""
    task = next(task for task in tasks.suite("libero_goal") if task.instruction.text == original)
    found: dict[Cell, list[str]] = {}
    for each in paraphrases(task, 30, 0):
        found.setdefault(each.cell, []).append(each.text)
    return found


def _cell(user: str, known: dict[Cell, list[str]]) -> Cell:
    """The cell that a prompt asks for, by the words of its rule, or by its examples of both axes."""
    for rule, cell in _rules().items():
        if rule in user:
            return cell
    examples = re.findall(r"^- (.*)$", user, re.MULTILINE)
    axes = [cell for text in examples for cell in known if not merged(cell) and text in known[cell]]
    thing = next(cell.object_type for cell in axes if cell.object_type is not ObjectType.NONE)
    action = next(cell.action_type for cell in axes if cell.action_type is not ActionType.NONE)
    return Cell(thing, action)


@cache
def _rules() -> dict[str, Cell]:
    return {
        read_prompts().fill("generate", "", [], cell).user.splitlines()[2]: cell
        for cell in CELLS
        if not merged(cell)
    }


def merged(cell: Cell) -> bool:
    return cell.object_type is not ObjectType.NONE and cell.action_type is not ActionType.NONE


def chat(text: str | None, *, finish: str = "stop", **more: Any) -> Reply:
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
