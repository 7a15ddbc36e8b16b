"""Paraphrases from a language model, in four steps.

    1 generate        for every task and each of 13 types on one axis
    2 verify          which of them keep to the rules
    3 merge           for every task and each of 30 combinations, from examples that passed
    4 verify again    which of those do

The model verifies only what has passed the rules that ``assay words verify`` knows, unless they are not to filter.
What a step asks does not depend on when it is asked. So a run that was killed is finished by the same call,
with the answers it already has.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path

from assay.perturb.words.grid.cells import CELLS, ActionType, Cell, ObjectType
from assay.perturb.words.grid.generate import Paraphrase
from assay.perturb.words.grid.verify import Rules
from assay.perturb.words.llm.answers import accepted_candidates, scene_names, usable_rewordings
from assay.perturb.words.llm.prompts import Prompts, read_prompts
from assay.perturb.words.llm.screen import RuleUse, Sentences
from assay.support.llm.cache import Cache
from assay.support.llm.client import Client
from assay.support.llm.endpoint import Endpoint
from assay.support.llm.ledger import Ledger
from assay.support.llm.prompt import Prompt
from assay.tasks import Task
from assay.tasks.names import words as words_of

ROUNDS = 3
"""How often a cell that is short is asked for."""
MOST_LINES = 15
"""The most rewordings that are asked for, or looked at, in one request."""
EXAMPLES = 5
"""How many rewordings of each axis a merge is shown."""

Ask = Callable[[int, Sequence[str]], Prompt]
"""How many, and which there are already -> what to ask."""
Check = Callable[[Sequence[str]], Prompt]
"""Candidates -> what to ask about them."""


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
    """Paraphrases for every cell, ``per_cell`` in each over all tasks where as many are to be had.

    ``words`` is a file with more nouns. Where ``rules`` do not filter, the model alone judges, and a task needs
    no words of the lexicon. ``prompts`` are the built-in ones unless given. ``on_cell`` is called when a cell of
    a task is done; there are 43 for each task. Raises LLMError, and PerturbationError for a task that the lexicon
    has not the words for.
    """
    filters = rules is RuleUse.FILTER
    screens = [Rules(task, words) if filters else Sentences(task) for task in tasks]
    told = prompts or read_prompts()

    async def all_tasks() -> list[Paraphrase]:
        async with Client(endpoint, cache, ledger) as client, asyncio.TaskGroup() as group:
            shares = [per_cell // len(tasks) + (place < per_cell % len(tasks)) for place in range(len(tasks))]
            jobs = [
                group.create_task(_Steps(task, screen, told, share, client, ledger, on_cell).all())
                for task, screen, share in zip(tasks, screens, shares, strict=True)
                if share
            ]
        made = [each for job in jobs for each in job.result()]
        once = {words_of(each.text): each for each in reversed(made)}
        ledger.drop("line: said of another task already", len(made) - len(once))
        return list(reversed(once.values()))

    try:
        return asyncio.run(all_tasks())
    except BaseExceptionGroup as group:
        raise _first(group) from None


class _Steps:
    """The four steps for one task."""

    def __init__(
        self,
        task: Task,
        screen: Rules | Sentences,
        told: Prompts,
        wanted: int,
        client: Client,
        ledger: Ledger,
        on_cell: Callable[[str], None],
    ) -> None:
        self._task, self._screen, self._told, self._wanted = task, screen, told, wanted
        self._client, self._ledger, self._on_cell = client, ledger, on_cell
        self._about = task.instruction.text, scene_names(task)

    async def all(self) -> list[Paraphrase]:
        """Every cell, in order; a paraphrase that stands in two cells counts in the first."""
        single = await self._each([cell for cell in CELLS if not _is_merged(cell)], self._along_one_axis)
        merged = await self._each(
            [cell for cell in CELLS if _is_merged(cell)], lambda cell: self._along_both(cell, single)
        )
        found = single | merged
        taken: set[tuple[str, ...]] = set()
        assembled: list[Paraphrase] = []
        for cell in CELLS:
            new = [text for text in found[cell] if words_of(text) not in taken]
            self._ledger.drop("line: in another cell already", len(found[cell]) - len(new))
            taken |= {words_of(text) for text in new[: self._wanted]}
            assembled += [Paraphrase(self._task, cell, text) for text in new[: self._wanted]]
        return assembled

    async def _each(
        self, cells: Sequence[Cell], step: Callable[[Cell], Coroutine[None, None, list[str]]]
    ) -> dict[Cell, list[str]]:
        async def done(cell: Cell) -> list[str]:
            texts = await step(cell)
            self._on_cell(f"{self._task.id} {cell}")
            return texts

        async with asyncio.TaskGroup() as group:
            jobs = {cell: group.create_task(done(cell)) for cell in cells}
        return {cell: job.result() for cell, job in jobs.items()}

    async def _along_one_axis(self, cell: Cell) -> list[str]:
        def ask(count: int, known: Sequence[str]) -> Prompt:
            return self._told.to_generate(*self._about, cell, count, known)

        def check(candidates: Sequence[str]) -> Prompt:
            return self._told.to_verify(*self._about, cell, candidates)

        return await self._collect(cell, max(self._wanted, EXAMPLES), ask, check)

    async def _along_both(self, cell: Cell, single: Mapping[Cell, list[str]]) -> list[str]:
        named = single[Cell(cell.object_type, ActionType.NONE)][:EXAMPLES]
        acted = single[Cell(ObjectType.NONE, cell.action_type)][:EXAMPLES]
        if not named or not acted:
            self._ledger.drop("cell: nothing to merge")
            return []

        def ask(count: int, known: Sequence[str]) -> Prompt:
            return self._told.to_merge(*self._about, named, acted, count, known)

        def check(candidates: Sequence[str]) -> Prompt:
            return self._told.to_verify_merged(*self._about, cell, candidates)

        return await self._collect(cell, self._wanted, ask, check)

    async def _collect(self, cell: Cell, wanted: int, ask: Ask, check: Check) -> list[str]:
        """Ask and check until there is enough, a few times at most."""
        passed: list[str] = []
        seen: list[str] = []
        for round in range(ROUNDS):
            if len(passed) >= wanted:
                break
            # Some will be refused: ask for half as many again.
            count = min(MOST_LINES, (wanted - len(passed)) * 3 // 2 + 1)
            reply = await self._client.ask(ask(count, seen), round)
            candidates = usable_rewordings(reply, self._screen, cell, seen, self._ledger)[:MOST_LINES]
            if candidates:
                seen += candidates
                verdict = await self._client.ask(check(candidates), round)
                passed += accepted_candidates(verdict, candidates, self._ledger)
        return passed


def _first(error: BaseException) -> BaseException:
    """The first of the errors in a group: one that ends a run ends all that runs beside it."""
    return _first(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


def _is_merged(cell: Cell) -> bool:
    return cell.object_type is not ObjectType.NONE and cell.action_type is not ActionType.NONE
