from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from assay.extensions.eqa.asking.answers import MOST_TEXT, State
from assay.extensions.eqa.asking.cost import TILE_TOKENS, estimate
from assay.extensions.eqa.asking.models import is_baseline, model
from assay.extensions.eqa.asking.prompts import Style
from assay.extensions.eqa.asking.session import PATIENCE, REFUSALS, Asked, ask
from assay.extensions.eqa.errors import QuestionError
from assay.extensions.eqa.question import Question
from assay.support.llm import Cache, Ledger, LLMError, Price

from .conftest import Vision, chat

KEY = "sk-not-for-anybodys-eyes"


@pytest.fixture
def asked(folder: Path, questions: list[Question], settings, tmp_path: Path) -> Callable[..., Asked]:
    """Asks some questions; the ledger of the last time is its attribute."""

    def run(address: str = "openai:tiny", count: int = 8, style: Style = Style.DIRECT, **more: Any) -> Asked:
        cache = Cache(tmp_path / "said")
        try:
            run.waits = []  # type: ignore[attr-defined]
            answering = model(address, settings(**more), cache, run.waits.append)  # type: ignore[attr-defined]
            run.ledger = answering.ledger  # type: ignore[attr-defined]
            return ask(questions[:count], folder, answering, style)
        finally:
            cache.close()

    return run


def right(found: Asked, questions: list[Question]) -> list[bool]:
    known = {question.id: question.answer for question in questions}
    return [each.letter == known[each.question] for each in found.answers]


@pytest.mark.parametrize("protocol", ["openai", "anthropic", "gemini"])
def test_every_protocol_carries_words_pictures_and_answers(vision: Vision, asked, questions, protocol: str):
    found = asked(f"{protocol}:tiny", 12, key=KEY)
    assert right(found, questions) == [True] * 12 and not found.stopped
    assert (asked.ledger.prompt_tokens, asked.ledger.answer_tokens) == (12 * 900, 12 * 3)
    body, headers = vision.asked[0], {name.lower(): text for name, text in vision.headers[0].items()}
    path, header, temperature = {
        "openai": ("/v1/chat/completions", "authorization", body.get("temperature")),
        "anthropic": ("/v1/messages", "x-api-key", body.get("temperature")),
        "gemini": (
            "/v1/models/tiny:generateContent",
            "x-goog-api-key",
            body.get("generationConfig", {}).get("temperature"),
        ),
    }[protocol]
    assert body["path"] == path and KEY in headers[header] and temperature == 0.0


def test_models_without_a_temperature_are_asked_without_one(vision: Vision, asked):
    asked(count=1, temperature=None, most_tokens=77)
    body = vision.asked[0]
    assert "temperature" not in body and "max_tokens" not in body and body["max_completion_tokens"] == 77


def test_reasons_are_kept_and_the_letter_is_read_from_its_tag(vision: Vision, asked, questions):
    vision.form = lambda letter: f"The hand moved. <answer>{letter}</answer>"
    found = asked(style=Style.STEPS)
    assert all(right(found, questions)) and found.answers[0].text.startswith("The hand moved.")
    direct = asked(style=Style.DIRECT)
    assert all(right(direct, questions)) and asked.ledger.cached == 0, "another prompt is another request"


def test_what_breaks_is_counted_and_named_and_the_rest_goes_on(vision: Vision, asked, questions):
    prose = chat("I think it is B.")
    html: tuple[int, dict, bytes] = (200, {}, b"<html>busy</html>")
    flood: tuple[int, dict, bytes] = (200, {}, b"x" * 5_000_000)
    vision.faults = {
        0: prose,
        1: html,
        2: html,
        3: flood,
        4: flood,
        5: (429, {"Retry-After": "0"}, b""),
        7: (400, {}, b"picture too large"),
        8: chat("Well, first", "length"),
    }
    found = asked(count=10, at_once=1)
    assert Counter(each.state for each in found.answers) == {
        State.ANSWERED: 5,
        State.UNPARSED: 2,
        State.UNANSWERED: 3,
    }
    reasons = [each.reason for each in found.answers if each.reason]
    assert reasons[0] == "more than a letter" and reasons[1] == "not a chat completion"
    assert reasons[2] == "more than 1,000,000 bytes" and "refuses: status 400" in reasons[3]
    assert reasons[4] == "cut off" and not found.stopped and asked.ledger.retries == 3


@pytest.mark.parametrize("protocol", ["openai", "anthropic", "gemini"])
def test_every_protocol_survives_what_servers_do(vision: Vision, asked, questions, protocol: str):
    html: tuple[int, dict, bytes] = (200, {}, b"<html>busy</html>")
    torn: tuple[int, dict, bytes] = (200, {}, b'{"choices": [')
    vision.faults = {
        0: (500, {}, b"oops"),
        2: html,
        4: torn,
        6: (429, {"Retry-After": "0"}, b""),
        8: (529, {}, b""),
    }
    found = asked(f"{protocol}:tiny", 5, at_once=1)
    assert right(found, questions) == [True] * 5 and asked.ledger.retries == 5, "each once, then answered"
    vision.faults, vision.pause = {}, lambda: time.sleep(0.5)
    slow = asked(f"{protocol}:tiny", 6, timeout=0.2, attempts=1)
    assert slow.answers[-1].state is State.UNANSWERED and "no answer within 0.2" in slow.answers[-1].reason


def test_what_was_not_answered_is_asked_again_and_the_rest_is_not(vision: Vision, asked, questions):
    vision.faults = {0: (500, {}, b""), 1: (500, {}, b"")}
    assert [each.state for each in asked(at_once=1).answers].count(State.UNANSWERED) == 1
    before = len(vision.asked)
    assert all(right(asked(at_once=1), questions)) and len(vision.asked) == before + 1


USAGE = {"prompt_tokens": 900, "completion_tokens": 3}
SILENT = {
    "openai": {"choices": [{"message": {"content": None, "refusal": "no"}}], "usage": USAGE},
    "openai cut off": {
        "choices": [{"message": {"content": None}, "finish_reason": "length"}],
        "usage": USAGE,
    },
    "anthropic": {
        "content": [],
        "stop_reason": "refusal",
        "usage": {"input_tokens": 900, "output_tokens": 3},
    },
    "gemini": {
        "candidates": [{"finishReason": "SAFETY"}],
        "usageMetadata": {"promptTokenCount": 900, "candidatesTokenCount": 3},
    },
    "gemini blocked": {
        "promptFeedback": {"blockReason": "OTHER"},
        "usageMetadata": {"promptTokenCount": 900, "candidatesTokenCount": 3},
    },
}


@pytest.mark.parametrize("protocol", ["openai", "anthropic", "gemini"])
@pytest.mark.parametrize(
    ("status", "said"),
    [
        (400, b'{"error": {"code": "content_policy_violation", "message": "rejected"}}'),
        (400, b"Output blocked by content filtering policy"),
    ],
)
def test_a_blocked_request_counts_alike_whoever_blocks_it(vision: Vision, asked, protocol, status, said):
    vision.faults[-1] = (status, {}, said)
    found = asked(f"{protocol}:tiny", 6, at_once=1)
    assert [(each.state, each.reason) for each in found.answers] == [(State.UNPARSED, "blocked")] * 6
    assert not found.stopped and len(vision.asked) == 6 and "polic" in found.answers[0].text
    asked(f"{protocol}:tiny", 6)
    assert len(vision.asked) == 6, "nor is it asked again"


def test_of_a_long_answer_the_end_is_kept(vision: Vision, asked):
    vision.faults[-1] = chat("I look again. " * 2_000 + "Answer: B")
    (answer,) = asked(count=1).answers
    assert len(answer.text) == MOST_TEXT and answer.text.endswith("Answer: B")


THOUGHTS = {
    "openai": {"choices": [{"message": {"content": "B", "reasoning_content": "it moved"}}], "usage": {}},
    "anthropic": {
        "content": [{"type": "thinking", "thinking": "it moved"}, {"type": "text", "text": "B"}],
        "usage": {"input_tokens": 900, "output_tokens": 3},
    },
    "gemini": {
        "candidates": [{"content": {"parts": [{"text": "it moved", "thought": True}, {"text": "B"}]}}],
        "usageMetadata": {"promptTokenCount": 900, "candidatesTokenCount": 1, "thoughtsTokenCount": 2},
    },
}


@pytest.mark.parametrize("protocol", THOUGHTS)
def test_thoughts_are_kept_apart_from_the_answer(vision: Vision, asked, protocol: str):
    vision.faults[-1] = (200, {}, json.dumps(THOUGHTS[protocol]).encode())
    for _ in range(2):  # the second time from the cache
        (answer,) = asked(f"{protocol}:tiny", 1).answers
        assert (answer.letter, answer.text, answer.thoughts) == ("B", "B", "it moved")
        assert answer.sent == (None if protocol == "openai" else 900)
    assert len(vision.asked) == 1


def test_answers_say_where_when_and_with_what_they_were_asked(vision: Vision, asked):
    (answer,) = asked(count=1, effort="low", extra={"seed": 3}).answers
    told = json.loads(answer.parameters)
    assert answer.endpoint == f"{vision.url}/chat/completions" and answer.sent == 900 and answer.received == 3
    assert datetime.fromisoformat(answer.at).tzinfo is not None
    assert (told["temperature"], told["effort"], told["extra"], told["prompt"]) == (
        0.0,
        "low",
        {"seed": 3},
        "direct",
    )


def test_reasoning_and_extra_parameters_reach_each_protocol(vision: Vision, asked):
    asked("openai:tiny", 1, effort="low", extra={"reasoning": {"max": 5}, "temperature": 1})
    asked("anthropic:tiny", 1, thinking=1000, extra={"thinking": {"display": "short"}})
    asked("gemini:tiny", 1, thinking=1000)
    one, two, three = vision.asked
    assert (one["reasoning_effort"], one["reasoning"], one["temperature"]) == ("low", {"max": 5}, 1)
    assert two["thinking"] == {"type": "enabled", "budget_tokens": 1000, "display": "short"}
    assert "temperature" not in two
    assert three["generationConfig"]["thinkingConfig"] == {"thinkingBudget": 1000, "includeThoughts": True}
    with pytest.raises(LLMError, match="no parameter for thinking"):
        asked("openai:tiny", 1, thinking=10)
    with pytest.raises(LLMError, match="no parameter for effort"):
        asked("anthropic:tiny", 1, effort="low")
    with pytest.raises(LLMError, match="below the tokens"):
        asked("gemini:tiny", 1, thinking=5000)


@pytest.mark.parametrize("protocol", ["openai", "anthropic", "gemini"])
def test_an_endless_limit_is_waited_for_as_long_as_is_promised(vision: Vision, asked, monkeypatch, protocol):
    monkeypatch.setattr("assay.support.llm.client.LONGEST_HELD", 0.5)
    vision.faults[-1] = (429, {"Retry-After": "0.1"}, b"")
    start = time.monotonic()
    found = asked(f"{protocol}:tiny", 1, attempts=1)
    assert 0.4 <= time.monotonic() - start < 3 and 4 <= len(vision.asked) <= 7
    assert found.answers[0].state is State.UNANSWERED and "status 429" in found.answers[0].reason


@pytest.mark.parametrize("name", SILENT)
def test_a_model_that_will_not_answer_is_wrong_and_paid_once(vision: Vision, asked, name: str):
    vision.faults[-1] = (200, {}, json.dumps(SILENT[name]).encode())
    protocol, _, how = name.partition(" ")
    found = asked(f"{protocol}:tiny", 1)
    (answer,) = found.answers
    assert answer.state is State.UNPARSED
    assert answer.reason == ("cut off" if how == "cut off" else "blocked")
    assert len(vision.asked) == 1 and (asked.ledger.prompt_tokens, asked.ledger.answer_tokens) == (900, 3)
    asked(f"{protocol}:tiny", 1)
    assert len(vision.asked) == 1, "nor is it asked again"


def test_an_answer_in_parts_is_put_together(vision: Vision, asked, questions):
    def parts(letter: str) -> list[dict[str, str]]:
        return [{"type": "text", "text": "<answer>"}, {"type": "text", "text": f"{letter}</answer>"}]

    vision.form = parts  # type: ignore[assignment]
    assert right(asked(count=2), questions) == [True, True]


def test_the_same_refusal_again_and_again_ends_it_with_advice(vision: Vision, asked):
    vision.faults[-1] = (400, {}, b"Unsupported value: 'temperature' does not support 0.0")
    found = asked(count=12, at_once=1)
    assert len(vision.asked) == REFUSALS and found.stopped.endswith("--no-temperature may help")


def test_too_many_requests_hold_all_back_and_use_up_no_attempts(vision: Vision, asked, questions):
    limited = (429, {"Retry-After": "0.2"}, b"slow down")
    vision.faults = dict.fromkeys(range(6), limited)
    start = time.monotonic()
    found = asked(count=4, at_once=2, attempts=1)
    assert right(found, questions) == [True] * 4 and 0.6 <= time.monotonic() - start < 10
    assert asked.waits and set(asked.waits) == {0.2}


def test_a_date_says_how_long_to_wait(vision: Vision, asked, questions):
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=3), usegmt=True)
    vision.faults[0] = (429, {"Retry-After": soon}, b"")
    assert right(asked(count=1), questions) == [True] and 0.5 < asked.waits[0] <= 3


def test_a_refused_key_ends_it_at_once(vision: Vision, asked):
    vision.faults[-1] = (401, {}, f"no such key: {KEY}".encode())
    found = asked(key=KEY, at_once=2)
    assert "status 401" in found.stopped and len(vision.asked) <= 2 and KEY not in repr(found)


def test_an_endpoint_that_is_down_is_given_up(folder: Path, questions, settings, tmp_path: Path):
    cache = Cache(tmp_path / "said")
    nobody = model("openai:tiny", replace(settings(attempts=1), url="http://127.0.0.1:9/v1"), cache)
    found = ask(questions, folder, nobody, Style.DIRECT)
    assert found.stopped.startswith(f"{PATIENCE} questions in a row without an answer")
    assert PATIENCE <= len(found.answers) < len(questions)
    cache.close()


def test_a_slow_endpoint_is_named(vision: Vision, asked):
    vision.pause = lambda: time.sleep(0.6)
    found = asked(count=2, timeout=0.2, attempts=1)
    assert [each.reason.split(": ")[-1][:20] for each in found.answers] == ["no answer within 0.2"] * 2


def test_the_key_is_nowhere_but_in_its_header(vision: Vision, asked, tmp_path: Path):
    vision.form = lambda letter: f"your key is {KEY} <answer>{letter}</answer>"
    found = asked(key=KEY)
    assert KEY not in repr(found) and KEY not in json.dumps(vision.asked)
    assert all(KEY.encode() not in file.read_bytes() for file in tmp_path.iterdir())


def test_cost_is_estimated_before_anything_is_sent(folder: Path, questions: list[Question]):
    about = estimate(questions, folder, Style.DIRECT)
    pictures = sum(len(each.pictures) + len(each.option_pictures) for each in questions)
    words = about.sent - TILE_TOKENS * pictures
    assert about.questions == len(questions) and 50 * len(questions) < words < 500 * len(questions)
    assert about.cost(Price(1.0, 10.0)) == pytest.approx((about.sent + 10 * about.received) / 1e6)


def test_a_broken_picture_is_found_before_anything_is_sent(folder: Path, questions, tmp_path: Path):
    (tmp_path / "pictures").mkdir()
    for name in (*questions[0].pictures, *questions[0].option_pictures):
        (tmp_path / name).write_text("no picture")
    with pytest.raises(QuestionError, match="not a picture"):
        estimate(questions[:1], tmp_path, Style.DIRECT)


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("geometri", "did you mean 'geometry'"),
        ("openai:", "did you mean 'openai:NAME'"),
        ("xyz:abc", "valid: anthropic:NAME, "),
        ("", "there is no model"),
    ],
)
def test_an_address_that_is_none_is_refused(address: str, words: str):
    with pytest.raises(QuestionError, match=words):
        is_baseline(address)


def test_local_models_say_what_they_need(tmp_path: Path):
    try:
        import transformers  # noqa: F401
    except ImportError:
        from assay.extensions.eqa.asking.local import local

        with pytest.raises(LLMError, match=r"pip install 'assay-robotics\[vlm\]'"):
            local("some/model", 10, Cache(tmp_path / "said"), Ledger())
    else:
        pytest.skip("transformers is installed here")
