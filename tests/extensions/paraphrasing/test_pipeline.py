from __future__ import annotations

from collections import Counter
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import pytest

from assay import tasks
from assay.errors import PerturbationError
from assay.extensions.paraphrasing.pipeline import paraphrases, read_prompts
from assay.perturb.words.grid.cells import CELLS
from assay.perturb.words.grid.generate import Paraphrase
from assay.perturb.words.grid.rules import verify
from assay.perturb.words.grid.table import GridRow
from assay.support.llm.client import Cache, Ledger
from assay.support.llm.protocols import Endpoint
from assay.tasks import Instruction

PROMPTS = read_prompts()
TWO = tasks.resolve("libero_goal/0,libero_goal/1")


@pytest.fixture
def run(tmp_path: Path):
    def made(
        endpoint: Endpoint, chosen=TWO, per_cell: int = 4, **more: Any
    ) -> tuple[list[Paraphrase], Ledger]:
        ledger, cache = Ledger(), Cache(tmp_path / "answers")
        try:
            return paraphrases(chosen, per_cell, endpoint, cache, ledger, **more), ledger
        finally:
            cache.close()

    return made


def step_of(body: dict[str, Any]) -> str:
    system, user = (message["content"] for message in body["messages"])
    if system.startswith("You check"):
        return "verify again" if "Second change:" in user else "verify"
    return "merge" if system.startswith("You combine") else "generate"


def test_every_cell_is_filled_in_four_steps(model, endpoint, run):
    found, ledger = run(endpoint())
    counts = Counter((each.task.id, each.cell) for each in found)
    assert set(counts.values()) == {2} and len(counts) == 2 * len(CELLS)
    rows = (
        GridRow(line, each.task.id, *astuple(each.cell), each.task.instruction.text, each.text)  # type: ignore[call-arg]
        for line, each in enumerate(found)
    )
    assert not list(verify(rows))
    assert len({each.text.lower() for each in found}) == len(found)
    asked = Counter(map(step_of, model.asked))
    assert asked == {"generate": 26, "verify": 26, "merge": 60, "verify again": 60}
    assert ledger.requests == 172 and ledger.prompt_tokens == 17_200


def test_merging_is_shown_only_what_passed(model, endpoint, run):
    model.verdict = lambda count: " ".join(map(str, range(2, count + 1)))  # the first never passes
    run(endpoint(), chosen=TWO[:1], per_cell=2)
    refused = {
        line.removeprefix("1. ")
        for body in model.asked
        if step_of(body) == "verify"
        for line in body["messages"][1]["content"].splitlines()
        if line.startswith("1. ")
    }
    merged = [body["messages"][1]["content"] for body in model.asked if step_of(body) == "merge"]
    assert refused and merged and not any(f"- {line}\n" in text for text in merged for line in refused)


def test_what_comes_out_does_not_depend_on_how_much_is_asked_at_once(model, endpoint, tmp_path):
    outcomes = []
    for at_once in (1, 8):
        cache = Cache(tmp_path / f"answers {at_once}")
        outcomes.append(paraphrases(TWO[:1], 2, endpoint(at_once=at_once), cache, Ledger()))
        cache.close()
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("text", ["", "put\x07it there", "put it there " * 1000, "put it\nthere"])
def test_an_instruction_that_is_none_is_rejected_before_anything_is_asked(model, endpoint, run, text: str):
    task = replace(TWO[0], instruction=Instruction(text))
    with pytest.raises(PerturbationError, match="libero_goal/0"):
        run(endpoint(), chosen=(task,))
    assert not model.asked


def test_an_answer_that_is_of_no_use_is_kept_and_another_asked_for(model, endpoint, run):
    usual, asked = model.text, Counter[str]()

    def useless_at_first(body: dict[str, Any]) -> str:
        question = body["messages"][1]["content"]
        asked[question] += 1
        useless = step_of(body) == "generate" and asked[question] == 1
        return "I would rather talk about the weather." if useless else usual(body)

    model.text = useless_at_first
    found, ledger = run(endpoint(), chosen=TWO[:1], per_cell=2)
    assert len(found) == 2 * len(CELLS) and ledger.requests == 86 + 13
    again, ledger = run(endpoint(), chosen=TWO[:1], per_cell=2)
    assert again == found and (ledger.requests, ledger.cached) == (0, 86 + 13)
