from __future__ import annotations

from collections import Counter
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import pytest

from assay import tasks
from assay.errors import PerturbationError
from assay.perturb.words.grid.cells import CELLS
from assay.perturb.words.grid.generate import Paraphrase
from assay.perturb.words.grid.rules import verify
from assay.perturb.words.grid.table import GridRow
from assay.perturb.words.llm import Cache, Endpoint, Ledger, LLMError, RuleUse, paraphrases, read_prompts
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


def test_no_more_is_under_way_than_allowed(model, endpoint, run):
    import threading

    now, most, lock = 0, 0, threading.Lock()
    usual = model.text

    def counted(body: dict[str, Any]) -> str:
        nonlocal now, most
        with lock:
            now, most = now + 1, max(most, now + 1)
        try:
            threading.Event().wait(0.005)
            return usual(body)
        finally:
            with lock:
                now -= 1

    model.text = counted
    run(endpoint(at_once=3), chosen=TWO[:1], per_cell=1)
    assert 1 < most <= 3


def test_a_cell_that_is_short_is_asked_for_again_without_what_it_has(model, endpoint, run):
    model.verdict = lambda count: "1"
    found, ledger = run(endpoint(), chosen=TWO[:1], per_cell=2)
    again = [body for body in model.asked if "which are there already" in body["messages"][1]["content"]]
    assert again and ledger.dropped["line: refused by the verifier"] > 0
    assert Counter(each.cell for each in found).most_common()[-1][1] == 2


def test_a_verifier_that_refuses_all_leaves_nothing_and_says_so(model, endpoint, run):
    model.verdict = lambda count: "none"
    found, ledger = run(endpoint(), chosen=TWO[:1], per_cell=1)
    assert found == [] and ledger.dropped["cell: nothing to merge"] == 30


def test_trouble_here_and_there_costs_time_and_not_the_run(model, endpoint, run):
    asked: Counter[str] = Counter()

    def now_and_then(body: dict[str, Any]) -> tuple[int, dict[str, str], bytes] | None:
        question = body["messages"][1]["content"]
        asked[question] += 1
        trouble: tuple = ((500, {}, b""), (429, {"Retry-After": "0"}, b""), (200, {}, b"<html>"))
        return trouble[len(question) % 3] if asked[question] == 1 else None

    model.faults[-1] = now_and_then
    found, ledger = run(endpoint(attempts=2), chosen=TWO[:1], per_cell=2)
    assert len(found) == 2 * len(CELLS) and (ledger.requests, ledger.retries) == (172, 86)


def test_nonsense_costs_cells_and_not_the_run(model, endpoint, run):
    model.faults[-1] = lambda body: (200, {}, b"<html>") if step_of(body) == "merge" else None
    found, ledger = run(endpoint(attempts=1), chosen=TWO[:1], per_cell=2)
    assert {each.cell for each in found} == {cell for cell in CELLS if "none" in str(cell)}
    assert ledger.dropped["answer: not a chat completion"] == 90  # three rounds of 30 merges


def test_a_run_that_breaks_off_goes_on_where_it_was(model, endpoint, run):
    model.faults = {number: lambda body: (500, {}, b"") for number in range(60, 1000)}
    with pytest.raises(LLMError, match="status 500"):
        run(endpoint(attempts=1))
    model.faults.clear()
    model.asked.clear()
    found, ledger = run(endpoint())
    assert ledger.cached >= 60 - 3  # what was under way beside the one that failed is asked again
    assert len(model.asked) == 172 - ledger.cached
    assert len(found) == 4 * len(CELLS)


def test_every_step_and_type_has_words_of_its_own():
    original, things = TWO[1].instruction.text, ["bowl", "stove"]
    for cell in CELLS:
        merged = cell.object_type.value != "none" and cell.action_type.value != "none"
        made = (
            (
                PROMPTS.fill("merge", original, things, cell, named=["a"], acted=["b"], count=3, known=["c"]),
                PROMPTS.fill("verify_merged", original, things, cell, candidates=["x", "y"]),
            )
            if merged
            else (
                PROMPTS.fill("generate", original, things, cell, count=3),
                PROMPTS.fill("verify", original, things, cell, candidates=["x", "y"]),
            )
        )
        for prompt in made:
            assert "{" not in prompt.system + prompt.user and original in prompt.user
    assert (
        len({PROMPTS.fill("verify", original, things, cell, candidates=["x"]).user for cell in CELLS[:10]})
        == 10
    )


@pytest.mark.parametrize("text", ["", "put\x07it there", "put it there " * 1000, "put it\nthere"])
def test_an_instruction_that_is_none_is_refused_before_anything_is_asked(model, endpoint, run, text: str):
    task = replace(TWO[0], instruction=Instruction(text))
    with pytest.raises(PerturbationError, match="libero_goal/0") as caught:
        run(endpoint(), chosen=(task,))
    assert not model.asked and "\n" not in str(caught.value)


def test_braces_in_an_instruction_are_just_braces():
    asked = PROMPTS.fill("generate", "put the bowl {count} on the stove {x}", [], CELLS[0], count=3)
    assert "put the bowl {count} on the stove {x}" in asked.user


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


@pytest.mark.parametrize("use", [RuleUse.WARN, RuleUse.OFF])
def test_where_the_rules_do_not_filter_the_model_alone_judges(model, endpoint, run, use: RuleUse):
    usual = model.text

    def against_the_rules(body: dict[str, Any]) -> str:
        said = usual(body)
        return said.replace("drawer", "mug") + "\nSure thing!" if step_of(body) == "merge" else said

    model.text = against_the_rules
    found, ledger = run(endpoint(), chosen=TWO[:1], per_cell=1, rules=use)
    assert any("mug" in each.text for each in found) and not any("Sure" in each.text for each in found)
    assert set(ledger.dropped) & {"line: against the rule 'text'"}
