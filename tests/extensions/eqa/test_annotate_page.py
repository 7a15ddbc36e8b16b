"""The annotation pages: a real server, invalid requests, and a browser driven by keyboard."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from tests.web.conftest import served

from assay.extensions.eqa.annotations import Annotations
from assay.extensions.eqa.asking.answers import Answer, AnswerState, write
from assay.extensions.eqa.question import LETTERS, Question, load

HOSTILE = "<script>document.title='owned'</script>"
Ask = Callable[..., tuple[int, dict[str, str], str]]


@pytest.fixture(scope="module")
def folder(exo_set: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shutil.copytree(exo_set, tmp_path_factory.mktemp("annotated") / "set")


@pytest.fixture(scope="module")
def questions(folder: Path) -> list[Question]:
    return load(folder)


@pytest.fixture(scope="module")
def kept(folder: Path) -> Annotations:
    return Annotations(folder / "annotations.sqlite")


@pytest.fixture(scope="module")
def address(folder: Path, questions: list[Question]) -> Iterator[str]:
    """``assay eqa annotate`` in a process of its own; host and port."""
    wrong = [
        Answer("m", "steps", each.id, AnswerState.ANSWERED, LETTERS[(each.right + 1) % 4], text=HOSTILE)
        for each in questions
    ]
    write(wrong, folder.parent / "m.jsonl")
    with served("eqa", "annotate", folder, "--answers", folder.parent / "m.jsonl") as found:
        yield found


def request(
    address: str, path: str, fields: dict[str, str] | None = None, **headers: str
) -> tuple[int, dict[str, str], str]:
    """Return the status, headers and text of the response; ``fields`` are posted."""
    connection = HTTPConnection(address, timeout=60)
    body = None if fields is None else urlencode(fields)
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request("GET" if fields is None else "POST", path, body, names)
    response = connection.getresponse()
    text = response.read().decode(errors="replace")
    connection.close()
    return response.status, {name.lower(): value for name, value in response.getheaders()}, text


@pytest.fixture
def ask(address: str) -> Ask:
    return partial(request, address)


def test_a_page_shows_the_question_and_not_its_answer(ask: Ask, questions: list[Question]):
    for number, question in enumerate(questions, 1):
        status, headers, text = ask(f"/questions/by/eve/{number}")
        assert status == 200 and headers["content-security-policy"].startswith("default-src 'self'")
        assert all(name in text for name in (*question.pictures, *question.option_pictures))
        assert question.moments[0] not in text and "aria-pressed" not in text and question.id not in text
    assert ask(f"/questions/{questions[0].pictures[0]}")[1]["content-type"] == "image/png"


def test_answers_and_comments_are_stored_and_work_is_resumed(ask: Ask, questions, kept: Annotations):
    status, headers, _ = ask("/questions?name=+Ann+B. ".replace(" ", "%20"))
    assert (status, headers["location"]) == (303, "/questions/by/Ann%20B.")
    status, headers, _ = ask("/questions/by/Ann%20B./1", {"letter": "C", "comment": HOSTILE})
    assert (status, headers["location"]) == (303, "/questions/by/Ann%20B./2")
    ask("/questions/by/Ann%20B./2", {"letter": "", "comment": "dark"})
    ask("/questions/by/Ann%20B./3", {"letter": "A", "comment": ""})
    ask("/questions/by/Ann%20B./3", {"letter": "", "comment": "sure"})
    given = kept.answers()["Ann B."]
    assert [given[each.id].choice for each in questions[:3]] == ["C", "", "A"]
    assert ask("/questions/by/Ann%20B.")[1]["location"] == "/questions/by/Ann%20B./2", (
        "a comment is no answer"
    )
    assert HOSTILE not in ask("/questions/by/Ann%20B./1")[2]
    assert f"2 of {len(questions)}" in ask("/questions")[2]


def test_mistakes_of_models_are_categorised(ask: Ask, questions, kept: Annotations):
    status, headers, _ = ask("/questions/by/ann/mistakes/1")
    assert (status, headers["location"]) == (303, "/questions/by/ann/1"), "who owes an answer is not told it"
    ask("/questions/by/ann/1", {"letter": "A", "comment": ""})
    text = ask("/questions/by/ann/mistakes/1")[2]
    assert "m (steps)" in text and f"correct is {questions[0].answer}" in text and HOSTILE not in text
    ask("/questions/by/ann/mistakes/1", {"category": "temporal", "note": "before is after"})
    (mark,) = kept.mistakes()
    assert mark == ("m (steps)", questions[0].id, "hand: ann", "temporal", "before is after")
    status, _, text = ask("/questions/by/ann/mistakes/1", {"category": "temporl"})
    assert status == 422 and "did you mean" in text


def test_invalid_requests_are_refused(ask: Ask):
    letter = {"letter": "A"}
    cases: dict[int, list[tuple[str, dict[str, str] | None, dict[str, str]]]] = {
        400: [
            ("/questions/by/ann/1", {"letter": "E"}, {}),
            ("/questions/by/ann/1", letter, {"Host": "evil.example"}),
        ],
        403: [
            ("/questions/by/ann/1", letter, {"Sec_Fetch_Site": "cross-site"}),
            ("/questions/by/ann/1", letter, {"Origin": "http://evil.example"}),
        ],
        404: [
            *((f"/questions/by/ann/{place}", None, {}) for place in ("0", "999", "mistakes/999")),
            ("/questions/by/ann/999", letter, {}),
            *(
                (f"/questions/pictures/{name}", None, {})
                for name in ("..%2fquestions.jsonl", "%2e%2e%2fbuild.json", "a%00.png", "none.png")
            ),
        ],
        413: [("/questions/by/ann/1", letter | {"comment": "x" * 50_000}, {})],
        422: [(f"/questions/by/{name}/1", None, {}) for name in ("a" * 200, "%20", "a%00b")],
    }
    for status, requests in cases.items():
        for path, fields, headers in requests:
            answered, _, text = ask(path, fields, **headers)
            assert answered == status and "Traceback" not in text and '"answer"' not in text, path


def test_questions_can_be_answered_with_the_keyboard(address: str, questions, kept: Annotations):
    playwright: Any = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("no chromium here (scripts/ensure-system.sh)")
    with playwright.sync_playwright() as started:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = started.chromium.launch(executable_path=path, args=arguments)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(60_000)
        complaints: list[str] = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
        page.goto(f"http://{address}/questions")
        page.wait_for_selector("input[name=name]:focus")  # a page takes its focus after it has loaded
        page.keyboard.type("kim")
        page.keyboard.press("Enter")
        page.wait_for_url("**/by/kim/1")
        page.keyboard.press("n")
        page.wait_for_selector("textarea:focus")
        page.keyboard.type("bad light")
        page.keyboard.press("Escape")
        page.keyboard.press("b")
        page.wait_for_url("**/by/kim/2")
        loaded = "[...document.images].every((each) => each.complete && each.naturalWidth > 0)"
        page.wait_for_function(loaded)
        page.keyboard.press("ArrowRight")
        page.wait_for_url("**/by/kim/3")
        page.keyboard.press("D")
        page.wait_for_url("**/by/kim/4")
        wide = page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
        browser.close()
    assert wide and complaints == []
    given = kept.answers()["kim"]
    assert given[questions[0].id] == ("B", "bad light") and given[questions[2].id].choice == "D"


def test_reviews_are_stored_apart_from_answers(folder: Path, questions, tmp_path: Path):
    place = tmp_path / "reviews.sqlite"
    with served("eqa", "annotate", folder, "--review", "--annotations", place) as address:
        for number, verdict in ((1, "keep"), (2, "drop")):
            page = f"/questions/by/ann/{number}"
            status, headers, _ = request(address, page, {"verdict": verdict, "comment": HOSTILE})
            assert status == 303 and headers["location"].endswith(f"/by/ann/{number + 1}")
        stored = Annotations(place)  # while the server runs
        choices = {id: review.choice for id, review in stored.reviews()["ann"].items()}
        assert choices == {questions[0].id: "keep", questions[1].id: "drop"} and stored.answers() == {}
        text = request(address, "/questions/by/ann/2")[2]
        assert f"correct is {questions[1].answer}" in text and HOSTILE not in text
        assert 'value="drop" data-key="x" aria-pressed="true"' in text
        assert request(address, "/questions/by/ann/3", {"verdict": "maybe"})[0] == 400
