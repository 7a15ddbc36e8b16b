"""Tasks for models: answer questions, categorise mistakes, write wrong instructions.

Failures are counted by reason, and the remaining requests continue.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import polars as pl

from assay import __version__
from assay.extensions.eqa.annotations import Annotations, Mistake, error_categories
from assay.extensions.eqa.asking.answers import MAX_TEXT, Answer, AnswerState, parse_letter, parse_tag
from assay.extensions.eqa.asking.prompts import Examples, Prompting, find_image, question_parts, texts
from assay.extensions.eqa.build import InstructionCase
from assay.extensions.eqa.drafts.instructions import is_different
from assay.extensions.eqa.leak import BASELINES
from assay.extensions.eqa.question import Question, QuestionKind
from assay.extensions.eqa.views import save_image
from assay.support.llm.client import Cache, Client, Ledger
from assay.support.llm.protocols import Endpoint, LLMError, ModelPrompt, RefusedError
from assay.support.streams import stream

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Model:
    """A model that replies to prompts."""

    name: str
    """Address of the model."""
    endpoint: Endpoint
    cache: Cache
    on_wait: Callable[[float], None] = lambda seconds: None
    """Function that is called with each rate-limit delay, in seconds."""
    ledger: Ledger = field(default_factory=Ledger)

    def process(self, items: Iterable[T], work: Callable[[Client, T], Awaitable[None]]) -> None:
        """Process items concurrently; the first exception cancels the remaining items and is re-raised."""
        waiting = iter(items)

        async def process_all() -> None:
            async def worker() -> None:
                for item in waiting:
                    await work(client, item)

            async with (
                Client(self.endpoint, self.cache, self.ledger, self.on_wait) as client,
                asyncio.TaskGroup() as group,
            ):
                for _ in range(self.endpoint.at_once):
                    group.create_task(worker())

        try:
            asyncio.run(process_all())
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None


MAX_FAILURES = 20
"""Number of consecutive questions without a reply after which an endpoint receives no further questions."""
MAX_REFUSALS = 4
"""Number of consecutive identical refusals after which an endpoint receives no further questions."""
MAX_JUDGED_TEXT = 6_000
"""Maximum number of characters of a reply that are quoted in a judge's prompt."""
DISTRACTORS = 3
MAX_INSTRUCTION = 200
"""Maximum length of an instruction, in characters."""
_WRONG_TAG = re.compile(r"<wrong>([^<>]*)</wrong>")


@dataclass(frozen=True, slots=True)
class AskResult:
    """Answers from one model."""

    answers: list[Answer]
    """Answers in the order of the questions, without those that were not asked."""
    stopped: str = ""
    """Reason for stopping early; empty if all questions were asked."""


def ask_baseline(questions: Sequence[Question], name: str) -> AskResult:
    """Answer questions with the baseline called ``name``."""
    answers = []
    for question in questions:
        if letter := BASELINES[name](question):
            answers.append(Answer(name, "", question.id, AnswerState.ANSWERED, letter))
        else:
            reason = "the data set lacks the necessary states"
            answers.append(Answer(name, "", question.id, AnswerState.UNANSWERED, reason=reason))
    return AskResult(answers)


def ask(
    questions: Sequence[Question],
    folder: Path,
    model: Model,
    prompting: Prompting,
    on_answer: Callable[[], None] = lambda: None,
    examples: Examples | None = None,
) -> AskResult:
    """Ask a model the questions, each after the examples of its kind and view.

    ``on_answer`` is called after each answer.
    """
    examples = examples or {}
    prompts = [
        (kind, prompting.system[kind], prompting.ask[kind], prompting.question.get(kind))
        for kind in QuestionKind
    ]
    endpoint = model.endpoint
    reasoning = {"effort": endpoint.effort, "thinking": endpoint.thinking, "extra": dict(endpoint.extra)}
    parameters: dict[str, object] = {
        "temperature": endpoint.temperature,
        "most_tokens": endpoint.most_tokens,
        **{name: value for name, value in reasoning.items() if value or value == 0},
        "prompt": prompting.name,
        "prompt_hash": hashlib.sha256(repr(prompts).encode()).hexdigest()[:12],
        "version": __version__,
    }
    if examples:
        parameters["examples"] = {
            f"{kind} {view}": [question.id for question in group] for (kind, view), group in examples.items()
        }
    recorded = json.dumps(parameters, sort_keys=True)
    answers: dict[str, Answer] = {}
    failures: list[str] = []
    """Error message of each consecutive failure so far; empty for failures other than refused requests."""
    stopped = ""

    async def ask_one(client: Client, question: Question) -> None:
        nonlocal stopped
        if stopped:
            return
        origin = (model.name, prompting.name, question.id)
        request: Any = {"endpoint": endpoint.address, "parameters": recorded}
        shown = examples.get((question.kind, question.view), ())
        try:
            reply = await client.reply(prompting.prompt(question, folder, shown))
        except LLMError as error:
            failures.append(str(error) if isinstance(error, RefusedError) else "")
            stopped = stopped or _stop_reason(error, failures)
            answer = Answer(*origin, AnswerState.UNANSWERED, reason=str(error), **request)
        else:
            failures.clear()
            letter, reason = parse_letter(reply, prompting.style)
            answer = Answer(
                *origin,
                AnswerState.ANSWERED if letter else AnswerState.UNPARSED,
                letter,
                reason,
                text=reply.text[-MAX_TEXT:] or reply.blocked,
                thoughts=reply.thoughts[:MAX_TEXT],
                at=reply.at,
                sent=reply.sent,
                received=reply.received,
                **request,
            )
        answers[question.id] = answer
        on_answer()

    model.process(questions, ask_one)
    return AskResult([answers[question.id] for question in questions if question.id in answers], stopped)


def _stop_reason(error: LLMError, failures: Sequence[str]) -> str:
    """Return the reason to stop sending questions; empty to continue."""
    if isinstance(error, RefusedError) and error.of_all:
        return str(error)
    refusals = failures[-MAX_REFUSALS:]
    if refusals[0] and list(refusals) == [refusals[0]] * MAX_REFUSALS:
        hint = "; --no-temperature may help" if "temperature" in refusals[0].lower() else ""
        return f"{MAX_REFUSALS} questions in a row were refused: {error}{hint}"
    if len(failures) >= MAX_FAILURES:
        return f"{MAX_FAILURES} questions in a row received no reply; last error: {error}"
    return ""


def _use_replies(
    model: Model,
    items: Sequence[T],
    prompt_of: Callable[[T], ModelPrompt],
    use: Callable[[T, str], str],
    on_reply: Callable[[], None] = lambda: None,
) -> Counter[str]:
    """Send a prompt for each item; return the number of failures by reason.

    ``use`` stores the text of a reply and returns "", or the reason why the text is unusable. Raises RefusedError if
    all prompts would be refused.
    """
    failures: Counter[str] = Counter()

    async def use_reply(client: Client, item: T) -> None:
        try:
            reason = use(item, (await client.reply(prompt_of(item))).text)
        except LLMError as error:
            if isinstance(error, RefusedError) and error.of_all:
                raise
            reason = str(error)
        if reason:
            failures[reason] += 1
        on_reply()

    model.process(items, use_reply)
    return failures


class WrongAnswer(NamedTuple):
    """A wrong answer from a model."""

    model: str
    question: Question
    letter: str
    text: str
    """Reply of the model."""
    thoughts: str = ""
    """Reasoning of the model, if the endpoint returned it separately."""


def wrong_answers(questions: Sequence[Question], answers: pl.DataFrame) -> list[WrongAnswer]:
    """Return the wrong answers in a table of answers, in the order of the questions."""
    by_id = {question.id: question for question in questions}
    order = {name: place for place, name in enumerate(by_id)}
    rows = answers.filter(pl.col("state") == AnswerState.ANSWERED).select(
        "model", "style", "question", "letter", "text", "thoughts"
    )
    wrong = [
        WrongAnswer(f"{model} ({style})" if style else model, by_id[question], *reply)
        for model, style, question, *reply in rows.iter_rows()
        if question in by_id and by_id[question].answer != reply[0]
    ]
    return sorted(wrong, key=lambda answer: (order[answer.question.id], answer.model))


def sample_wrong_answers(wrong: Sequence[WrongAnswer], per_kind: int, seed: int) -> list[WrongAnswer]:
    """Draw up to ``per_kind`` wrong answers per model and kind, keeping their order."""
    groups: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for place, answer in enumerate(wrong):
        groups[answer.model, str(answer.question.kind)].append(place)
    chosen = (
        stream(seed, "eqa", "errors", *key).permutation(group)[:per_kind].tolist()
        for key, group in groups.items()
    )
    return [wrong[place] for place in sorted(chain(*chosen))]


def judge_prompt(answer: WrongAnswer, folder: Path) -> ModelPrompt:
    """Return the prompt that asks a judge model for the category of a mistake."""
    words, categories = texts(), error_categories()
    listed = "\n".join(
        f"- {name}: {meaning} ({group}: {part})" for name, (group, part, meaning) in categories.items()
    )
    verdict = words["judge"].format(right=answer.question.answer, chosen=answer.letter)
    reply = f"{answer.thoughts}\n\n{answer.text}".strip()[:MAX_JUDGED_TEXT]
    form = words["judge_form"].format(categories=listed, example=next(iter(categories)))
    return ModelPrompt(
        words["judge_system"], (*question_parts(answer.question, folder), f"{verdict}\n\n{reply}", form)
    )


def judge_answers(
    wrong: Sequence[WrongAnswer],
    folder: Path,
    model: Model,
    annotations: Annotations,
    on_mark: Callable[[], None] = lambda: None,
) -> Counter[str]:
    """Categorise wrong answers with a judge model; return the number of failures by reason.

    Raises RefusedError if all requests would be refused.
    """

    def mark(answer: WrongAnswer, text: str) -> str:
        category, reason = parse_tag(text)
        if not reason and category not in error_categories():
            reason = "unknown error category"
        if not reason:
            marker = f"judge: {model.name}"
            annotations.mark(Mistake(answer.model, answer.question.id, marker, category, ""))
        return reason

    return _use_replies(model, wrong, lambda answer: judge_prompt(answer, folder), mark, on_mark)


def write_distractors(
    cases: Sequence[InstructionCase], model: Model, folder: Path
) -> tuple[dict[str, tuple[str, ...]], Counter[str]]:
    """Ask a model to write three wrong instructions per episode, given the first and last image.

    Returns the instructions by episode id, and the number of failures by reason. Images are written to ``folder``.
    The instructions are derived from the correct one, so the four options may reveal it; `assay eqa leak` measures
    how strongly. Raises RefusedError if all requests would be refused.
    """
    words = texts()
    instructions: dict[str, tuple[str, ...]] = {}

    def prompt(case: InstructionCase) -> ModelPrompt:
        first, second = (find_image(folder, save_image(folder, image)) for image in case.images())
        request = words["distractors"].format(instruction=case.instruction)
        return ModelPrompt(
            words["distractors_system"], (words["first"], first, words["second"], second, request)
        )

    def store(case: InstructionCase, text: str) -> str:
        wrong, reason = parse_distractors(case.instruction, text)
        if wrong:
            instructions[case.episode] = wrong
        return reason

    return instructions, _use_replies(model, cases, prompt, store)


def parse_distractors(instruction: str, text: str) -> tuple[tuple[str, ...], str]:
    """Parse three wrong instructions: return them and "", or () and the reason why the reply is unusable."""
    wrong = tuple(" ".join(content.split()) for content in _WRONG_TAG.findall(text))
    if len(wrong) != DISTRACTORS:
        return (), f"expected {DISTRACTORS} instructions, got {len(wrong)}"
    if not all(text.isprintable() and len(text) <= MAX_INSTRUCTION for text in wrong):
        return (), "not an instruction"
    if not all(is_different(one, two) for one, two in combinations((instruction, *wrong), 2)):
        return (), "two instructions have the same content"
    return wrong, ""
