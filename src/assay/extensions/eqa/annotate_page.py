"""Pages on which people answer questions, review them, and say what kind of mistake a model made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeVar
from urllib.parse import parse_qsl, quote

from fastapi import APIRouter, Depends, FastAPI, HTTPException, Request, Response
from fastapi.responses import FileResponse, RedirectResponse

from assay.extensions.eqa.annotations import (
    HAND,
    VERDICTS,
    Annotations,
    Given,
    Mistake,
    Review,
    categories,
    group_of,
    named,
)
from assay.extensions.eqa.asking.judging import Wrong
from assay.extensions.eqa.asking.prompts import picture
from assay.extensions.eqa.errors import QuestionError
from assay.extensions.eqa.question import LETTERS, PICTURES, Question
from assay.extensions.eqa.reviewing import as_csv
from assay.runs.queries import NotFoundError
from assay.web.app import application, serve_app
from assay.web.library import Library
from assay.web.replays import Replays
from assay.web.site import render_page

T = TypeVar("T")

router = APIRouter(prefix="/questions")
HOME = "/questions"
MOST_BYTES = 20_000
"""Of what a page sends."""


@dataclass(frozen=True, slots=True)
class Desk:
    """What is asked, and where answers are kept."""

    folder: Path
    questions: Sequence[Question]
    annotations: Annotations
    wrong: Sequence[Wrong] = ()
    """Models' wrong answers that can be looked at."""
    review: bool = False
    """Whether questions are shown with their answers, to be kept or dropped."""


def serve(desk: Desk, port: int, ready: Callable[[str], None] = lambda address: None) -> None:
    """Serve a desk to this machine until Ctrl-C, as `assay.web.app.serve` does runs."""
    with Replays() as replays:
        serve_app(with_desk(desk, replays), port, lambda address: ready(f"{address.rstrip('/')}{HOME}"))


def with_desk(desk: Desk, replays: Replays) -> FastAPI:
    """The web app with a desk in it."""
    app = application(Library(desk.folder), replays)
    app.state.desk = desk
    app.include_router(router)
    return app


def _desk(request: Request) -> Desk:
    found = request.app.state.desk
    assert isinstance(found, Desk)
    return found


async def _sent(request: Request) -> dict[str, str]:
    """The fields of a form; only pages of this app may send one."""
    origin = request.headers.get("origin", "null")
    ours = request.headers.get("sec-fetch-site", "none") in ("same-origin", "none")
    if not ours or origin not in ("null", f"{request.url.scheme}://{request.headers.get('host', '')}"):
        raise HTTPException(403, "answers are for the pages of this app")
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_BYTES:
            raise HTTPException(413, f"more than {MOST_BYTES:,} bytes")
    try:
        return dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=10))
    except ValueError:
        raise HTTPException(400, "not the fields of a form") from None


TheDesk = Annotated[Desk, Depends(_desk)]
Sent = Annotated[dict[str, str], Depends(_sent)]


@router.get("")
def start(request: Request, desk: TheDesk, name: str = "") -> Response:
    """Who answers? With a name, goes on where that person left."""
    if name.strip():
        return RedirectResponse(f"{HOME}/by/{quote(named(name), safe='')}", 303)
    people = {person: len(_done(desk, person)) for person in _people(desk)}
    return render_page(request, "annotate_start.html", desk=desk, people=people)


@router.get(f"/{PICTURES}/{{name}}")
def picture_file(desk: TheDesk, name: str) -> Response:
    """A picture of a question."""
    try:
        return FileResponse(picture(desk.folder, f"{PICTURES}/{name}").path, media_type="image/png")
    except (QuestionError, ValueError, OSError):
        raise NotFoundError("there is no such picture") from None


@router.get("/reviews.csv")
def reviews_file(desk: TheDesk) -> Response:
    """Every verdict, as a file that `assay eqa review --read` takes back."""
    if not desk.review:
        raise NotFoundError("there are reviews only with --review")
    text = as_csv(desk.questions, desk.annotations.reviews())
    disposition = {"Content-Disposition": 'attachment; filename="reviews.csv"'}
    return Response(text, media_type="text/csv; charset=utf-8", headers=disposition)


@router.get("/by/{name}")
def resume(desk: TheDesk, name: str) -> Response:
    """On to the first question without an answer; to the list if there is none."""
    return _onward(desk, named(name), 0)


@router.get("/by/{name}/list")
def listing(request: Request, desk: TheDesk, name: str) -> Response:
    """Every question, and whether it has an answer."""
    return render_page(
        request,
        "annotate_list.html",
        desk=desk,
        name=named(name),
        given=_reviews(desk, named(name)) if desk.review else desk.annotations.answers(named(name)),
        marked=_marked(desk, name),
    )


@router.get("/by/{name}/mistakes/{number}")
def mistake_page(request: Request, desk: TheDesk, name: str, number: int) -> Response:
    """A model's wrong answer, with the right one; first the question itself, for who has yet to answer it."""
    wrong = _nth(desk.wrong, number)
    asked = {question.id: place for place, question in enumerate(desk.questions, 1)}
    if wrong.question.id in asked and wrong.question.id not in _answered(desk, named(name)):
        return RedirectResponse(f"{HOME}/by/{quote(named(name), safe='')}/{asked[wrong.question.id]}", 303)
    return render_page(
        request,
        "annotate_mistake.html",
        name=named(name),
        number=number,
        count=len(desk.wrong),
        wrong=wrong,
        question=wrong.question,
        letters=LETTERS,
        categories=categories(),
        mark=_marked(desk, name).get((wrong.model, wrong.question.id)),
    )


@router.post("/by/{name}/mistakes/{number}")
def mark_mistake(desk: TheDesk, sent: Sent, name: str, number: int) -> Response:
    """Keep what kind of mistake it is, and go on."""
    wrong, category = _nth(desk.wrong, number), sent.get("category", "")
    group_of(category)
    marker = f"{HAND}: {named(name)}"
    desk.annotations.mark(Mistake(wrong.model, wrong.question.id, marker, category, sent.get("note", "")))
    following = f"mistakes/{number + 1}" if number < len(desk.wrong) else "list"
    return RedirectResponse(f"{HOME}/by/{quote(named(name), safe='')}/{following}", 303)


@router.get("/by/{name}/{number}")
def question_page(request: Request, desk: TheDesk, name: str, number: int) -> Response:
    """One question; never its answer."""
    question = _nth(desk.questions, number)
    if desk.review:
        return render_page(
            request,
            "annotate_review.html",
            name=named(name),
            number=number,
            count=len(desk.questions),
            done=len(_done(desk, named(name))),
            question=question,
            letters=LETTERS,
            verdicts=VERDICTS,
            given=_reviews(desk, named(name)).get(question.id, Review("", "", "", "")),
        )
    given = desk.annotations.answers(named(name))
    return render_page(
        request,
        "annotate_question.html",
        name=named(name),
        number=number,
        count=len(desk.questions),
        done=len(_answered(desk, named(name))),
        question=question,
        letters=LETTERS,
        given=given.get(question.id, Given("", "")),
    )


@router.post("/by/{name}/{number}")
def answer(desk: TheDesk, sent: Sent, name: str, number: int) -> Response:
    """Keep an answer or verdict, or a comment beside the one there is, and go on to the next question without one."""
    question, letter = _nth(desk.questions, number), sent.get("letter", "")
    if desk.review:
        verdict = sent.get("verdict", "")
        if verdict not in (*VERDICTS, ""):
            raise HTTPException(400, f"verdict: one of {', '.join(VERDICTS)}")
        earlier = _reviews(desk, named(name)).get(question.id, Review("", "", "", ""))
        kept = Review(named(name), question.id, verdict or earlier.verdict, sent.get("comment", ""))
        desk.annotations.review_all([kept])
        return _onward(desk, named(name), number)
    if letter not in (*LETTERS, ""):
        raise HTTPException(400, f"letter: one of {', '.join(LETTERS)}")
    before = desk.annotations.answers(named(name)).get(question.id, Given("", ""))
    desk.annotations.answer(named(name), question.id, letter or before.letter, sent.get("comment", ""))
    return _onward(desk, named(name), number)


def _onward(desk: Desk, name: str, number: int) -> Response:
    """To the next question without an answer after a number, from 1, then before it."""
    done, count = _done(desk, name), len(desk.questions)
    order = [*range(number, count), *range(min(number, count))]
    following = next((place + 1 for place in order if desk.questions[place].id not in done), "list")
    return RedirectResponse(f"{HOME}/by/{quote(name, safe='')}/{following}", 303)


def _answered(desk: Desk, name: str) -> set[str]:
    """The questions of the desk that have a letter."""
    given = desk.annotations.answers(name)
    return {question.id for question in desk.questions if question.id in given and given[question.id].letter}


def _reviews(desk: Desk, name: str) -> dict[str, Review]:
    return {review.question: review for review in desk.annotations.reviews() if review.reviewer == name}


def _done(desk: Desk, name: str) -> set[str]:
    """The questions of the desk that have a letter, or a verdict, of somebody."""
    if not desk.review:
        return _answered(desk, name)
    given = _reviews(desk, name)
    return {question.id for question in desk.questions if question.id in given and given[question.id].verdict}


def _people(desk: Desk) -> list[str]:
    if not desk.review:
        return desk.annotations.annotators()
    return sorted({review.reviewer for review in desk.annotations.reviews()})


def _marked(desk: Desk, name: str) -> dict[tuple[str, str], Mistake]:
    marker = f"{HAND}: {named(name)}"
    return {
        (mistake.model, mistake.question): mistake
        for mistake in desk.annotations.mistakes()
        if mistake.marker == marker
    }


def _nth(things: Sequence[T], number: int) -> T:
    if not 1 <= number <= len(things):
        raise NotFoundError(f"there is no number {number} here; there are {len(things)}")
    return things[number - 1]
