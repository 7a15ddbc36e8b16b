"""Web pages for answering questions, reviewing them, and categorising models' mistakes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeVar
from urllib.parse import parse_qsl, quote

from fastapi import APIRouter, Depends, HTTPException, Request, Response
from fastapi.responses import FileResponse, RedirectResponse

from assay.extensions.eqa.annotations import (
    HAND,
    VERDICTS,
    Annotations,
    ByPerson,
    HumanChoice,
    Mistake,
    error_categories,
    find_category,
    normalise_name,
)
from assay.extensions.eqa.asking.prompts import find_image
from assay.extensions.eqa.asking.session import WrongAnswer
from assay.extensions.eqa.question import LETTERS, PICTURES, Question, QuestionError
from assay.web.app import application, serve_app
from assay.web.library import Library
from assay.web.queries import NotFoundError
from assay.web.replays import Replays
from assay.web.site import render_page

T = TypeVar("T")

router = APIRouter(prefix="/questions")
HOME = "/questions"
MAX_FORM_BYTES = 20_000


@dataclass(frozen=True, slots=True)
class AnnotationDesk:
    """Questions to be answered or reviewed in a browser, and the file that stores the results."""

    folder: Path
    questions: Sequence[Question]
    annotations: Annotations
    wrong: Sequence[WrongAnswer] = ()
    """Wrong answers from models, to be categorised."""
    review: bool = False
    """Whether questions are shown with their answers, to be kept or dropped by a reviewer."""

    def choices(self) -> ByPerson:
        """Return the answers or, in review mode, the verdicts."""
        return self.annotations.reviews() if self.review else self.annotations.answers()

    def done(self, name: str) -> set[str]:
        """Return the ids of the questions that a person has answered or, in review mode, reviewed."""
        choices = self.choices().get(name, {})
        ids = {question.id for question in self.questions}
        return {question for question, choice in choices.items() if choice.choice and question in ids}

    def marks(self, name: str) -> dict[tuple[str, str], Mistake]:
        """Return the categories that a person has assigned, by model and question."""
        return {
            (mistake.model, mistake.question): mistake
            for mistake in self.annotations.mistakes()
            if mistake.marker == f"{HAND}: {name}"
        }


def serve(desk: AnnotationDesk, port: int, ready: Callable[[str], None] = lambda address: None) -> None:
    """Serve the pages on this machine until Ctrl-C; ``ready`` is called with their address."""
    with Replays() as replays:
        app = application(Library(desk.folder), replays)
        app.state.desk = desk
        app.include_router(router)
        serve_app(app, port, lambda address: ready(f"{address.rstrip('/')}{HOME}"))


def _desk(request: Request) -> AnnotationDesk:
    desk = request.app.state.desk
    assert isinstance(desk, AnnotationDesk)
    return desk


async def _form(request: Request) -> dict[str, str]:
    """Return the fields of a submitted form; reject requests from other sites."""
    origin = request.headers.get("origin", "null")
    if origin not in ("null", f"{request.url.scheme}://{request.headers.get('host', '')}"):
        raise HTTPException(403, "answers are accepted only from this app's pages")
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_FORM_BYTES:
            raise HTTPException(413, f"the form is too large; the limit is {MAX_FORM_BYTES:,} bytes")
    try:
        return dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=10))
    except ValueError:
        raise HTTPException(400, "the request is not a valid form") from None


TheDesk = Annotated[AnnotationDesk, Depends(_desk)]
Annotator = Annotated[str, Depends(normalise_name)]
Form = Annotated[dict[str, str], Depends(_form)]


def _redirect(name: str, place: str = "") -> Response:
    return RedirectResponse(f"{HOME}/by/{quote(name, safe='')}{place}", 303)


@router.get("")
def start(request: Request, desk: TheDesk, name: str = "") -> Response:
    """Show the page that asks for the annotator's name; if a name is given, resume that person's work."""
    if name.strip():
        return _redirect(normalise_name(name))
    people = {person: len(desk.done(person)) for person in desk.choices()}
    return render_page(request, "annotate_start.html", desk=desk, people=people)


@router.get(f"/{PICTURES}/{{name}}")
def image_file(desk: TheDesk, name: str) -> Response:
    """Send an image of a question."""
    try:
        return FileResponse(find_image(desk.folder, f"{PICTURES}/{name}").path, media_type="image/png")
    except (QuestionError, ValueError, OSError):
        raise NotFoundError("image not found") from None


@router.get("/by/{name}")
def resume(desk: TheDesk, name: Annotator) -> Response:
    """Redirect to the first unanswered question, or to the list if all are answered."""
    return _next_open(desk, name, 0)


@router.get("/by/{name}/list")
def listing(request: Request, desk: TheDesk, name: Annotator) -> Response:
    """Show all questions with their answers or verdicts."""
    return render_page(
        request,
        "annotate_list.html",
        desk=desk,
        name=name,
        given=desk.choices().get(name, {}),
        marked=desk.marks(name),
    )


@router.get("/by/{name}/mistakes/{number}")
def mistake_page(request: Request, desk: TheDesk, name: Annotator, number: int) -> Response:
    """Show a model's wrong answer with the correct one.

    A person who has not yet answered the question is redirected to it first.
    """
    wrong = _nth(desk.wrong, number)
    places = {question.id: place for place, question in enumerate(desk.questions, 1)}
    if wrong.question.id in places and wrong.question.id not in desk.done(name):
        return _redirect(name, f"/{places[wrong.question.id]}")
    categories: dict[str, dict[str, str]] = {}
    for category, (group, part, meaning) in error_categories().items():
        categories.setdefault(f"{group}: {part}", {})[category] = meaning
    return render_page(
        request,
        "annotate_mistake.html",
        name=name,
        number=number,
        count=len(desk.wrong),
        wrong=wrong,
        question=wrong.question,
        letters=LETTERS,
        categories=categories,
        mark=desk.marks(name).get((wrong.model, wrong.question.id)),
    )


@router.post("/by/{name}/mistakes/{number}")
def mark_mistake(desk: TheDesk, form: Form, name: Annotator, number: int) -> Response:
    """Store the category of a mistake and continue with the next mistake."""
    wrong, category = _nth(desk.wrong, number), form.get("category", "")
    find_category(category)  # raises if it is unknown
    marker = f"{HAND}: {name}"
    desk.annotations.mark(Mistake(wrong.model, wrong.question.id, marker, category, form.get("note", "")))
    return _redirect(name, f"/mistakes/{number + 1}" if number < len(desk.wrong) else "/list")


@router.get("/by/{name}/{number}")
def question_page(request: Request, desk: TheDesk, name: Annotator, number: int) -> Response:
    """Show one question, with its correct answer only in review mode."""
    question = _nth(desk.questions, number)
    return render_page(
        request,
        "annotate_review.html" if desk.review else "annotate_question.html",
        name=name,
        number=number,
        count=len(desk.questions),
        done=len(desk.done(name)),
        question=question,
        letters=LETTERS,
        verdicts=VERDICTS,
        given=desk.choices().get(name, {}).get(question.id, HumanChoice()),
    )


@router.post("/by/{name}/{number}")
def answer(desk: TheDesk, form: Form, name: Annotator, number: int) -> Response:
    """Store an answer, verdict or comment, and continue with the next unanswered question."""
    question, comment = _nth(desk.questions, number), form.get("comment", "")
    field, valid = ("verdict", VERDICTS) if desk.review else ("letter", tuple(LETTERS))
    choice = form.get(field, "")
    if choice not in (*valid, ""):
        raise HTTPException(400, f"{field}: choose from {', '.join(valid)}")
    choice = choice or desk.choices().get(name, {}).get(question.id, HumanChoice()).choice
    store = desk.annotations.review if desk.review else desk.annotations.answer
    store(name, question.id, choice, comment)
    return _next_open(desk, name, number)


def _next_open(desk: AnnotationDesk, name: str, number: int) -> Response:
    """Redirect to the next unanswered question after ``number`` (from 1), then to those before it."""
    done, count = desk.done(name), len(desk.questions)
    order = [*range(number, count), *range(min(number, count))]
    following = next((place + 1 for place in order if desk.questions[place].id not in done), "list")
    return _redirect(name, f"/{following}")


def _nth(items: Sequence[T], number: int) -> T:
    if not 1 <= number <= len(items):
        raise NotFoundError(f"number {number} is out of range; expected 1 to {len(items)}")
    return items[number - 1]
