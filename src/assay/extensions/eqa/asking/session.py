"""Asks every question, a few at a time. What breaks is counted and named, and the rest goes on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from assay import __version__
from assay.extensions.eqa.asking.answers import MOST_TEXT, Answer, State
from assay.extensions.eqa.asking.models import Answering, Model
from assay.extensions.eqa.asking.parsing import letter as letter_of
from assay.extensions.eqa.asking.prompts import Prompting, Style, prompted
from assay.extensions.eqa.baselines import BASELINES
from assay.extensions.eqa.question import Kind, Question
from assay.support.llm import LLMError, RefusedError

Examples = Mapping[tuple[Kind, str], Sequence[Question]]
"""What is shown before questions of a kind and view."""
PATIENCE = 20
"""So many questions in a row without an answer, and the endpoint is given up."""
REFUSALS = 4
"""So many questions in a row refused with the same words, and the others are not sent."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What came of asking."""

    answers: list[Answer]
    """In the order of the questions; those that were not asked are missing."""
    stopped: str = ""
    """Why not all were asked; empty if they were."""


def ask_baseline(questions: Sequence[Question], name: str) -> Asked:
    """The answers of a baseline."""

    def answer(question: Question) -> Answer:
        if letter := BASELINES[name](question):
            return Answer(name, "", question.id, State.ANSWERED, letter)
        return Answer(
            name, "", question.id, State.UNANSWERED, reason="the data set does not say what was done"
        )

    return Asked([answer(question) for question in questions])


def ask(
    questions: Sequence[Question],
    folder: Path,
    model: Model,
    how: Style | Prompting,
    on_answer: Callable[[Answer], None] = lambda answer: None,
    examples: Examples | None = None,
) -> Asked:
    """Ask a model; ``on_answer`` is called for each answer as it comes, ``examples`` are shown before each question."""
    prompting = Prompting.of(how) if isinstance(how, Style) else how
    asking = _Asking(folder, model, prompting, on_answer, examples or {})
    asyncio.run(asking.all(questions))
    found = [asking.answers[question.id] for question in questions if question.id in asking.answers]
    return Asked(found, asking.stopped)


class _Asking:
    def __init__(
        self,
        folder: Path,
        model: Model,
        how: Prompting,
        on_answer: Callable[[Answer], None],
        examples: Examples,
    ) -> None:
        self._folder, self._model, self._how, self._on_answer = folder, model, how, on_answer
        self._examples = examples
        told = {**model.parameters, "prompt": how.name, "prompt_hash": how.hash, "version": __version__}
        if shown := {f"{kind} {view}": [each.id for each in mine] for (kind, view), mine in examples.items()}:
            told["examples"] = shown
        self._asked_with = json.dumps(told, sort_keys=True)
        self.answers: dict[str, Answer] = {}
        self.stopped = ""
        self._in_vain = 0
        self._refused: list[str] = []

    async def all(self, questions: Sequence[Question]) -> None:
        waiting = iter(questions)
        async with self._model.opened() as answering, asyncio.TaskGroup() as group:
            for _ in range(self._model.at_once):
                group.create_task(self._one_after_another(waiting, answering))

    async def _one_after_another(self, waiting: Iterator[Question], answering: Answering) -> None:
        for question in waiting:
            if self.stopped:
                return
            answer = await self._asked(question, answering)
            self.answers[question.id] = answer
            self._on_answer(answer)

    async def _asked(self, question: Question, answering: Answering) -> Answer:
        answer = Answer(
            self._model.name,
            self._how.name,
            question.id,
            State.UNANSWERED,
            endpoint=self._model.endpoint,
            parameters=self._asked_with,
        )
        examples = self._examples.get((question.kind, question.view), ())
        try:
            reply = await answering(prompted(question, self._folder, self._how, examples))
        except LLMError as error:
            self._in_vain += 1
            self._refused.append(str(error) if isinstance(error, RefusedError) else "")
            last = self._refused[-REFUSALS:]
            if isinstance(error, RefusedError) and error.of_all:
                self.stopped = str(error)
            elif last[0] and last == [last[0]] * REFUSALS:
                hint = "; --no-temperature may help" if "temperature" in last[0].lower() else ""
                self.stopped = f"{REFUSALS} questions in a row: {error}{hint}"
            elif self._in_vain >= PATIENCE:
                self.stopped = f"{PATIENCE} questions in a row without an answer, the last: {error}"
            return replace(answer, reason=str(error))
        self._in_vain = 0
        self._refused.clear()
        found, why = letter_of(reply, self._how.style)
        return replace(
            answer,
            state=State.ANSWERED if found else State.UNPARSED,
            letter=found,
            reason=why,
            text=reply.text[-MOST_TEXT:] or reply.blocked,
            thoughts=reply.thoughts[:MOST_TEXT],
            at=reply.at,
            sent=reply.sent,
            received=reply.received,
        )
