"""Generates the grid's paraphrases with a language model: generate, verify, merge, verify again."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path

from assay.errors import PerturbationError
from assay.extensions.paraphrasing.prompts import Prompts, read_prompts
from assay.perturb.words.grid.cells import CELLS, ActionType, Cell, ObjectType
from assay.perturb.words.grid.generate import Paraphrase
from assay.perturb.words.grid.rules import MAX_CHARACTERS, Flaw, Rules, plain_flaws
from assay.support.llm import Cache, Client, Ledger, Reply
from assay.support.llm.protocols import Endpoint
from assay.tasks import Task
from assay.tasks.language.lexicon import names_of
from assay.tasks.language.lexicon import words as words_of


class RuleUse(StrEnum):
    """How the rules of ``assay words verify`` are used."""

    FILTER = "filter"
    """Lines that violate a rule are dropped before the model verifies them."""
    WARN = "warn"
    """Lines that violate a rule are kept, and their rows name the rule."""
    OFF = "off"
    """The rules are not applied."""


class Sentences:
    """Minimal check used when the rules do not filter: a line must be a sentence and differ from the original."""

    def __init__(self, task: Task) -> None:
        self._original = task.instruction.text
        printable = self._original.strip() and self._original.isprintable()
        if not printable or len(self._original) > MAX_CHARACTERS:
            raise PerturbationError(
                f"{task.id}: the instruction is not a sentence of up to {MAX_CHARACTERS} characters"
            )

    def flaws(self, text: str, cell: Cell) -> Iterator[Flaw]:
        """Yield the reasons why a line is not a usable sentence in any cell."""
        return (flaw for flaw in plain_flaws(text, self._original) if flaw[0] == "text")


_MARK = re.compile(r"^(?:[-*•]|\(?\d{1,3}[.):])\s+")
_QUOTES = ("\"'`\u201c\u2018", "\"'`\u201d\u2019")
_NUMBERS = re.compile(r"\d{1,4}(?:(?:[\s,;.]|and)+\d{1,4})*")


def usable_rewordings(
    reply: Reply | None, screen: Rules | Sentences, cell: Cell, known: Sequence[str], ledger: Ledger
) -> list[str]:
    """Return the usable rewordings in a reply: complete, new, and without rule violations."""
    lines = [line for line in reply.text.splitlines() if line.strip()] if reply else []
    if reply and reply.cut_off and lines:
        lines.pop()
        ledger.drop("line: cut off")
    taken = {words_of(text) for text in known}
    usable: list[str] = []
    for line in lines:
        text = _MARK.sub("", " ".join(line.split()))
        while len(text) > 1 and text[0] in _QUOTES[0] and text[-1] in _QUOTES[1]:
            text = text[1:-1].strip()
        flaw = next(screen.flaws(text, cell), None)
        if flaw is not None:
            ledger.drop(f"line: violates the rule '{flaw[0]}'")
        elif words_of(text) in taken:
            ledger.drop("line: duplicate")
        else:
            taken.add(words_of(text))
            usable.append(text)
    return usable


def accepted_candidates(reply: Reply | None, candidates: Sequence[str], ledger: Ledger) -> list[str]:
    """Return the candidates whose numbers are listed in a reply; empty if the reply is not a list of valid numbers."""
    if reply is None:
        return []
    answer = reply.text.strip().strip(".").lower()
    if answer != "none" and (reply.cut_off or not _NUMBERS.fullmatch(answer)):
        ledger.drop("answer: not a list of numbers")
        return []
    numbers = {int(number) for number in re.findall(r"\d+", answer)}
    if not numbers <= set(range(1, len(candidates) + 1)):
        ledger.drop("answer: number out of range")
        return []
    ledger.drop("line: rejected by the verifier", len(candidates) - len(numbers))
    return [candidate for number, candidate in enumerate(candidates, start=1) if number in numbers]


ROUNDS = 3
"""Maximum number of rounds of requests for a cell with too few paraphrases."""
MOST_LINES = 15
"""Maximum number of rewordings requested or verified at once."""
EXAMPLES = 5
"""Number of example rewordings from each axis in a merge prompt."""


def paraphrases(
    tasks: Sequence[Task],
    per_cell: int,
    endpoint: Endpoint,
    cache: Cache,
    ledger: Ledger,
    *,
    words: Path | None = None,
    rules: RuleUse = RuleUse.FILTER,
    prompts: Prompts | None = None,
    on_cell: Callable[[str], None] = lambda name: None,
) -> list[Paraphrase]:
    """Return paraphrases for every cell, up to ``per_cell`` in each over all tasks.

    ``words`` is a file with additional nouns. If ``rules`` do not filter, only the model judges, and a task's
    objects need not be in the lexicon. ``prompts`` defaults to the built-in ones. ``on_cell`` is called when a
    cell of a task is done; there are 43 cells for each task. Raises LLMError, and PerturbationError for a task
    whose objects are not in the lexicon.
    """
    filters = rules is RuleUse.FILTER
    screens = [Rules(task, words) if filters else Sentences(task) for task in tasks]
    texts = prompts or read_prompts()

    async def all_tasks() -> list[Paraphrase]:
        async with Client(endpoint, cache, ledger) as client, asyncio.TaskGroup() as group:
            shares = [per_cell // len(tasks) + (place < per_cell % len(tasks)) for place in range(len(tasks))]
            jobs = [
                group.create_task(_Steps(task, screen, texts, share, client, ledger, on_cell).all())
                for task, screen, share in zip(tasks, screens, shares, strict=True)
                if share
            ]
        paraphrases_ = [paraphrase for job in jobs for paraphrase in job.result()]
        once = {words_of(paraphrase.text): paraphrase for paraphrase in reversed(paraphrases_)}
        ledger.drop("line: duplicate of another task's", len(paraphrases_) - len(once))
        return list(reversed(once.values()))

    try:
        return asyncio.run(all_tasks())
    except BaseExceptionGroup as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup):  # an error cancels all concurrent jobs: raise it alone
            error = error.exceptions[0]
        raise error from None


class _Steps:
    """The four pipeline steps for one task."""

    def __init__(
        self,
        task: Task,
        screen: Rules | Sentences,
        prompts: Prompts,
        wanted: int,
        client: Client,
        ledger: Ledger,
        on_cell: Callable[[str], None],
    ) -> None:
        self._task, self._screen, self._prompts, self._wanted = task, screen, prompts, wanted
        self._client, self._ledger, self._on_cell = client, ledger, on_cell
        names = dict.fromkeys(names_of(entity.category)[0] for entity in task.scene.entities)
        self._about = task.instruction.text, list(names)

    async def all(self) -> list[Paraphrase]:
        """Return the paraphrases for all cells, in order; a duplicate in two cells counts only in the first."""
        texts: dict[Cell, list[str]] = {}
        for merged in (False, True):  # the merge prompts quote paraphrases along one axis
            async with asyncio.TaskGroup() as group:
                cells = [cell for cell in CELLS if _is_merged(cell) == merged]
                jobs = {cell: group.create_task(self._collect(cell, texts)) for cell in cells}
            texts |= {cell: job.result() for cell, job in jobs.items()}
        taken: set[tuple[str, ...]] = set()
        assembled: list[Paraphrase] = []
        for cell in CELLS:
            new = [text for text in texts[cell] if words_of(text) not in taken]
            self._ledger.drop("line: duplicate in another cell", len(texts[cell]) - len(new))
            taken |= {words_of(text) for text in new[: self._wanted]}
            assembled += [Paraphrase(self._task, cell, text) for text in new[: self._wanted]]
        return assembled

    async def _collect(self, cell: Cell, single: Mapping[Cell, list[str]]) -> list[str]:
        """Request and verify rewordings for a cell until there are enough, at most `ROUNDS` times.

        ``single`` holds the paraphrases along one axis, which are merged for cells that change both axes.
        """
        generate, verify, wanted = "generate", "verify", max(self._wanted, EXAMPLES)
        named: Sequence[str] = ()
        acted: Sequence[str] = ()
        if _is_merged(cell):
            generate, verify, wanted = "merge", "verify_merged", self._wanted
            named = single[Cell(cell.object_type, ActionType.NONE)][:EXAMPLES]
            acted = single[Cell(ObjectType.NONE, cell.action_type)][:EXAMPLES]
            if not (named and acted):
                self._ledger.drop("cell: nothing to merge")
                wanted = 0
        passed: list[str] = []
        seen: list[str] = []
        for round in range(ROUNDS):
            if len(passed) >= wanted:
                break
            # Some will be refused: ask for half as many again.
            count = min(MOST_LINES, (wanted - len(passed)) * 3 // 2 + 1)
            prompt = self._prompts.fill(
                generate, *self._about, cell, count=count, known=seen, named=named, acted=acted
            )
            reply = await self._client.ask(prompt, round)
            candidates = usable_rewordings(reply, self._screen, cell, seen, self._ledger)[:MOST_LINES]
            if candidates:
                seen += candidates
                check = self._prompts.fill(verify, *self._about, cell, candidates=candidates)
                verdict = await self._client.ask(check, round)
                passed += accepted_candidates(verdict, candidates, self._ledger)
        self._on_cell(f"{self._task.id} {cell}")
        return passed


def _is_merged(cell: Cell) -> bool:
    return cell.object_type is not ObjectType.NONE and cell.action_type is not ActionType.NONE
