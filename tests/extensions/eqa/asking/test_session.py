from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.extensions.eqa.annotations import Annotations
from assay.extensions.eqa.asking.answers import MAX_TEXT, Answer, AnswerState, read, write
from assay.extensions.eqa.asking.prompts import Prompting, Style
from assay.extensions.eqa.asking.session import (
    MAX_FAILURES,
    MAX_REFUSALS,
    AskResult,
    Model,
    ask,
    judge_answers,
    judge_prompt,
    parse_distractors,
    write_distractors,
    wrong_answers,
)
from assay.extensions.eqa.build import InstructionCase
from assay.extensions.eqa.commands.shared import ModelSettings
from assay.extensions.eqa.question import LETTERS, Question
from assay.support.llm.client import Cache
from assay.support.llm.protocols import KEY_VARIABLE, LLMError

from .conftest import Vision, chat

KEY = "sk-not-for-anybodys-eyes"
PROTOCOLS = ("openai", "anthropic", "gemini")
CLAUDE_USAGE = {"input_tokens": 900, "output_tokens": 3}
GEMINI_USAGE = {"promptTokenCount": 900, "candidatesTokenCount": 1, "thoughtsTokenCount": 2}
OPENAI_USAGE = {"prompt_tokens": 900, "completion_tokens": 3}


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Cache]:
    cache = Cache(tmp_path / "said")
    yield cache
    cache.close()


@pytest.fixture
def asked(folder: Path, questions: list[Question], settings, cache: Cache) -> Callable[..., AskResult]:
    """Asks some questions; the ledger and waits of the last session are its attributes."""

    def run(
        address: str = "openai:tiny", count: int = 8, style: Style = Style.DIRECT, **more: Any
    ) -> AskResult:
        run.waits = []  # type: ignore[attr-defined]
        model = open_model(address, settings(**more), cache, run.waits.append)  # type: ignore[attr-defined]
        run.ledger = model.ledger  # type: ignore[attr-defined]
        return ask(questions[:count], folder, model, Prompting.of(style))

    return run


def open_model(
    address: str, settings: ModelSettings, cache: Cache, *on_wait: Callable[[float], None]
) -> Model:
    return Model(address, settings.endpoint_of(address), cache, *on_wait)


def right(result: AskResult, questions: list[Question]) -> list[bool]:
    letters = {question.id: question.answer for question in questions}
    return [answer.letter == letters[answer.question] for answer in result.answers]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_protocol_carries_texts_images_settings_and_answers(
    vision: Vision, asked, questions, protocol, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    result = asked(f"{protocol}:tiny", 12)
    assert right(result, questions) == [True] * 12 and not result.stopped
    assert (asked.ledger.prompt_tokens, asked.ledger.answer_tokens) == (12 * 900, 12 * 3)
    body, headers = vision.asked[0], {name.lower(): text for name, text in vision.headers[0].items()}
    path, header, parameters = {
        "openai": ("/v1/chat/completions", "authorization", body),
        "anthropic": ("/v1/messages", "x-api-key", body),
        "gemini": ("/v1/models/tiny:generateContent", "x-goog-api-key", body.get("generationConfig", {})),
    }[protocol]
    assert body["path"] == path and KEY in headers[header] and parameters["temperature"] == 0.0
    assert KEY not in repr(result) + json.dumps(vision.asked)


def test_reasoning_and_extra_parameters_reach_each_protocol(vision: Vision, asked):
    asked("openai:tiny", 1, effort="low", extra='{"reasoning": {"max": 5}, "temperature": 1}')
    asked("anthropic:tiny", 1, thinking=1000, extra='{"thinking": {"display": "short"}}')
    asked("gemini:tiny", 1, thinking=1000)
    asked("openai:tiny", 1, temperature=False, most_tokens=77)
    one, two, three, four = vision.asked
    assert (one["reasoning_effort"], one["reasoning"], one["temperature"]) == ("low", {"max": 5}, 1)
    assert two["thinking"] == {"type": "enabled", "budget_tokens": 1000, "display": "short"}
    assert "temperature" not in two
    assert three["generationConfig"]["thinkingConfig"] == {"thinkingBudget": 1000, "includeThoughts": True}
    assert "temperature" not in four and "max_tokens" not in four and four["max_completion_tokens"] == 77
    for address, setting, words in (
        ("openai:tiny", {"thinking": 10}, "no parameter for thinking"),
        ("anthropic:tiny", {"effort": "low"}, "no parameter for effort"),
        ("gemini:tiny", {"thinking": 5000}, "less than the maximum length"),
    ):
        with pytest.raises(LLMError, match=words):
            asked(address, 1, **setting)


def test_answers_record_endpoint_time_parameters_and_the_end_of_a_long_reply(vision: Vision, asked):
    vision.faults[-1] = chat("I look again. " * 2_000 + "Answer: B")
    (answer,) = asked(count=1, effort="low", extra='{"seed": 3}').answers
    assert len(answer.text) == MAX_TEXT and answer.text.endswith("Answer: B")
    assert answer.endpoint == f"{vision.url}/chat/completions" and (answer.sent, answer.received) == (900, 3)
    assert datetime.fromisoformat(answer.at).tzinfo is not None
    recorded = json.loads(answer.parameters)
    values = [recorded[name] for name in ("temperature", "effort", "extra", "prompt")]
    assert values == [0.0, "low", {"seed": 3}, "direct"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_protocol_survives_server_errors(vision: Vision, asked, questions, protocol: str):
    vision.faults = {
        0: (500, {}, b"oops"),
        2: (200, {}, b"<html>busy</html>"),
        4: (200, {}, b'{"choices": ['),
        6: (429, {"Retry-After": "0"}, b""),
        8: (529, {}, b""),
    }
    result = asked(f"{protocol}:tiny", 5, at_once=1)
    assert right(result, questions) == [True] * 5 and asked.ledger.retries == 5, "each once, then answered"
    vision.faults, vision.pause = {}, lambda: time.sleep(0.5)
    answer = asked(f"{protocol}:tiny", 6, timeout=0.2, attempts=1).answers[-1]
    assert answer.state is AnswerState.UNANSWERED and "no answer within 0.2" in answer.reason


REPLIES: dict[str, tuple[dict, tuple[str, str, str, str]]] = {
    # content -> state, reason, text and thoughts of the answer
    "openai": (
        {"choices": [{"message": {"content": None, "refusal": "no"}}], "usage": OPENAI_USAGE},
        ("unparsed", "blocked", "no", ""),
    ),
    "openai cut off": (
        {"choices": [{"message": {"content": None}, "finish_reason": "length"}], "usage": OPENAI_USAGE},
        ("unparsed", "cut off", "", ""),
    ),
    "openai thoughts": (
        {"choices": [{"message": {"content": "B", "reasoning_content": "it moved"}}], "usage": OPENAI_USAGE},
        ("answered", "", "B", "it moved"),
    ),
    "anthropic": (
        {"content": [], "stop_reason": "refusal", "usage": CLAUDE_USAGE},
        ("unparsed", "blocked", "refusal", ""),
    ),
    "anthropic thoughts": (
        {
            "content": [{"type": "thinking", "thinking": "it moved"}, {"type": "text", "text": "B"}],
            "usage": CLAUDE_USAGE,
        },
        ("answered", "", "B", "it moved"),
    ),
    "gemini": (
        {"candidates": [{"finishReason": "SAFETY"}], "usageMetadata": GEMINI_USAGE},
        ("unparsed", "blocked", "SAFETY", ""),
    ),
    "gemini blocked": (
        {"promptFeedback": {"blockReason": "OTHER"}, "usageMetadata": GEMINI_USAGE},
        ("unparsed", "blocked", "OTHER", ""),
    ),
    "gemini thoughts": (
        {
            "candidates": [{"content": {"parts": [{"text": "it moved", "thought": True}, {"text": "B"}]}}],
            "usageMetadata": GEMINI_USAGE,
        },
        ("answered", "", "B", "it moved"),
    ),
}


@pytest.mark.parametrize("name", REPLIES)
def test_refusals_and_reasoning_are_told_apart_from_answers_and_cached(vision: Vision, asked, name: str):
    content, expected = REPLIES[name]
    vision.faults[-1] = (200, {}, json.dumps(content).encode())
    for _ in range(2):  # the second time from the cache
        (answer,) = asked(f"{name.partition(' ')[0]}:tiny", 1).answers
        assert (answer.state, answer.reason, answer.text, answer.thoughts) == expected
        assert (answer.sent, answer.received) == (900, 3)
    assert len(vision.asked) == 1


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_request_blocked_by_a_filter_is_wrong_and_not_repeated(vision: Vision, asked, protocol):
    vision.faults = {number: (400, {}, b"Output blocked by content filtering policy") for number in range(5)}
    vision.faults[5] = (400, {}, b'{"error": {"code": "content_policy_violation", "message": "rejected"}}')
    for _ in range(2):
        result = asked(f"{protocol}:tiny", 6, at_once=1)
        assert [(answer.state, answer.reason) for answer in result.answers] == [("unparsed", "blocked")] * 6
        assert not result.stopped and len(vision.asked) == 6 and "polic" in result.answers[0].text


def test_rate_limits_pause_all_requests_without_using_up_attempts(
    vision: Vision, asked, questions, monkeypatch
):
    vision.faults = dict.fromkeys(range(6), (429, {"Retry-After": "0.2"}, b"slow down"))
    start = time.monotonic()
    result = asked(count=4, at_once=2, attempts=1)
    assert right(result, questions) == [True] * 4 and 0.6 <= time.monotonic() - start < 10
    assert asked.waits and set(asked.waits) == {0.2}
    monkeypatch.setattr("assay.support.llm.client.LONGEST_HELD", 0.5)
    vision.faults[-1] = (429, {"Retry-After": "0.1"}, b"")
    answer = asked("gemini:tiny", 1, attempts=1).answers[0]
    assert answer.state is AnswerState.UNANSWERED and "status 429" in answer.reason, "not forever"


def test_asking_stops_at_repeated_refusals_an_invalid_key_and_a_dead_endpoint(
    vision: Vision, asked, folder: Path, questions, settings, cache: Cache, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    vision.faults[-1] = (400, {}, b"Unsupported value: 'temperature' does not support 0.0")
    result = asked(count=12, at_once=1)
    assert len(vision.asked) == MAX_REFUSALS and result.stopped.endswith("--no-temperature may help")
    vision.faults[-1] = (401, {}, f"no such key: {KEY}".encode())
    result = asked(at_once=2)
    assert "status 401" in result.stopped and KEY not in repr(result)
    assert len(vision.asked) <= MAX_REFUSALS + 2
    nowhere = replace(settings(attempts=1), endpoint="http://127.0.0.1:9/v1")
    result = ask(questions, folder, open_model("openai:tiny", nowhere, cache), Prompting.of(Style.DIRECT))
    assert result.stopped.startswith(f"{MAX_FAILURES} questions in a row received no reply")
    assert MAX_FAILURES <= len(result.answers) < len(questions)


def test_a_judge_categorises_wrong_answers_under_its_own_name(
    folder: Path, questions: list[Question], vision: Vision, settings, cache: Cache, tmp_path: Path
):
    answers = [
        Answer("m", "steps", question.id, AnswerState.ANSWERED, LETTERS[(question.right + bool(place)) % 4])
        for place, question in enumerate(questions[:6])
    ]
    answers = [replace(answer, text="left is +Y") for answer in answers]
    unparsed = Answer("m", "steps", questions[6].id, AnswerState.UNPARSED, reason="empty")
    write([*answers, unparsed], tmp_path / "a.jsonl")
    wrong = wrong_answers(questions, read(tmp_path / "a.jsonl"))
    assert [answer.question.id for answer in wrong] == [question.id for question in questions[1:6]]
    assert any("left is +Y" in part for part in judge_prompt(wrong[0], folder).parts if isinstance(part, str))
    vision.faults[-1] = chat("It confuses left and right. <answer>reference frame</answer>")
    vision.faults[0] = chat("Hm. <answer>bad luck</answer>")
    stored = Annotations(tmp_path / "marks.sqlite")
    dropped = judge_answers(wrong, folder, open_model("openai:wise", settings(at_once=1), cache), stored)
    assert dropped == {"unknown error category": 1} and len(stored.mistakes()) == 4
    assert {(mark.model, mark.marker, mark.category) for mark in stored.mistakes()} == {
        ("m (steps)", "judge: openai:wise", "reference frame")
    }


RIGHT = "put the carrot on the plate"
GOOD = "<wrong>put the pot on the stove</wrong><wrong>wash the cup</wrong><wrong>open the drawer</wrong>"


def test_distractors_must_each_differ_in_content():
    for text, reason in (
        (GOOD, ""),
        (GOOD.replace("wash the cup", "wash  the\ncup"), ""),
        ("put the pot on the stove", "expected 3 instructions, got 0"),
        (GOOD + "<wrong>fold it</wrong>", "expected 3 instructions, got 4"),
        (GOOD.replace("wash the cup", ""), "two instructions have the same content"),
        (
            GOOD.replace("wash the cup", "Place the carrot onto the plate."),
            "two instructions have the same content",
        ),
        (GOOD.replace("wash the cup", "put a pot on a stove"), "two instructions have the same content"),
        (GOOD.replace("wash the cup", "x" * 300), "not an instruction"),
        (GOOD.replace("wash the cup", "wash\x00the cup"), "not an instruction"),
    ):
        wrong, found = parse_distractors(RIGHT, text)
        assert found == reason and len(wrong) == (0 if reason else 3)


def test_a_model_that_sees_both_images_writes_distractors(
    vision: Vision, settings, cache: Cache, tmp_path: Path
):
    vision.faults = {0: chat(GOOD), 1: chat("I would rather not.")}
    model = open_model("openai:tiny", settings(at_once=1), cache)
    shots = [np.full((8, 8, 3), grey, np.uint8) for grey in (10, 200)]
    cases = [InstructionCase(name, text, lambda: shots) for name, text in (("1", RIGHT), ("2", "fold it"))]
    written, dropped = write_distractors(cases, model, tmp_path / "seen")
    assert written == {"1": ("put the pot on the stove", "wash the cup", "open the drawer")}
    assert dropped == {"expected 3 instructions, got 0": 1} and RIGHT in str(vision.asked[0]["messages"])
    content = vision.asked[0]["messages"][-1]["content"]
    assert [part["type"] for part in content] == ["text", "image_url", "text", "image_url", "text"]
    assert content[1] != content[3], "before and after"
    assert write_distractors(cases[:1], model, tmp_path / "seen")[0] == written and len(vision.asked) == 2
