"""Generates the grid's paraphrases with a language model: generate, verify, merge, verify again.

The prompts for these four steps are read from ``prompts.yaml`` or a file in the same format.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Literal

from assay.errors import PerturbationError
from assay.perturb.words.grid.cells import CELLS, ActionType, Cell, ObjectType
from assay.perturb.words.grid.generate import Paraphrase
from assay.perturb.words.grid.rules import Flaw, Rules, plain_flaws
from assay.support.llm.client import Cache, Client, Ledger
from assay.support.llm.protocols import Endpoint, ModelPrompt, Reply
from assay.tasks import Task
from assay.tasks.language.lexicon import YamlRecord, load_yaml, names_of, validate
from assay.tasks.language.lexicon import words as words_of

_REQUIRED = {
    "generate": ("{original}", "{rule}"),
    "verify": ("{original}", "{candidates}"),
    "merge": ("{original}", "{named}", "{acted}"),
    "verify_merged": ("{original}", "{candidates}"),
}
"""Step -> names of the fields that its prompt must contain."""


class StepTexts(YamlRecord):
    """Prompt texts for one step; fields in braces are filled in."""

    system: str
    user: str


class Prompts(YamlRecord):
    """All texts of the prompts; see ``prompts.yaml``."""

    name: str
    """Name of the file that contains the texts, or ``built-in``, and a digest of the texts."""
    every: str
    """Requirements for every rewording; replaces {every} in the system prompts."""
    lines: str
    """Form of a reply with rewordings; replaces {lines} in the system prompts."""
    numbers: str
    """Form of a reply with numbers; replaces {numbers} in the system prompts."""
    object_rules: Mapping[ObjectType, str]
    action_rules: Mapping[ActionType, str]
    keep: Mapping[Literal["things", "action"], str]
    """Constraint on the axis that must not change: the names of objects, or the action."""
    generate: StepTexts
    verify: StepTexts
    merge: StepTexts
    verify_merged: StepTexts

    def fill(
        self,
        step: str,
        original: str,
        things: Sequence[str],
        cell: Cell,
        *,
        count: int = 0,
        known: Sequence[str] = (),
        candidates: Sequence[str] = (),
        named: Sequence[str] = (),
        acted: Sequence[str] = (),
    ) -> ModelPrompt:
        """Return the prompt for a step: ``generate``, ``verify``, ``merge`` or ``verify_merged``.

        ``known`` lists rewordings to avoid; ``named`` and ``acted`` are object and action rewordings to be merged.
        """
        texts: StepTexts = getattr(self, step)
        is_action = cell.object_type is ObjectType.NONE
        object_rule = self.object_rules.get(cell.object_type, "")
        action_rule = self.action_rules.get(cell.action_type, "")
        return ModelPrompt(
            texts.system.format(every=self.every, lines=self.lines, numbers=self.numbers),
            texts.user.format(
                original=original,
                things=", ".join(things),
                object_rule=object_rule,
                action_rule=action_rule,
                rule=action_rule if is_action else object_rule,
                keep=self.keep["things" if is_action else "action"],
                count=count,
                known=f" None of these, which are there already:\n{_bullets(known)}" if known else "",
                candidates="\n".join(f"{number}. {line}" for number, line in enumerate(candidates, start=1)),
                named=_bullets(named),
                acted=_bullets(acted),
            ),
        )


@cache
def read_prompts(file: Path | None = None) -> Prompts:
    """Read the prompts from a file, or the built-in ones.

    Raises PerturbationError, with the location, for invalid prompts.
    """
    place = file or files(__package__).joinpath("prompts.yaml")
    content = load_yaml(place)
    if not isinstance(content, dict):
        raise PerturbationError(f"{place}: expected the fields of prompts.yaml: every, lines, ...")
    digest = hashlib.sha256(place.read_bytes()).hexdigest()[:12]
    name = f"{file.name if file is not None else 'built-in'} {digest}"
    prompts = validate(Prompts, content | {"name": name}, str(place))
    lacking = [f"object_rules.{type}" for type in ObjectType if type not in (*prompts.object_rules, "none")]
    lacking += [f"action_rules.{type}" for type in ActionType if type not in (*prompts.action_rules, "none")]
    if lacking:
        raise PerturbationError(f"{place}: missing {', '.join(lacking)}")
    for step, required in _REQUIRED.items():
        try:
            prompts.fill(step, "", (), Cell(ObjectType.NONE, ActionType.NONE))
        except (KeyError, IndexError, ValueError) as error:
            raise PerturbationError(f"{place}: {step}: its text has an unknown field: {error}") from None
        for field in required:
            if field not in getattr(prompts, step).user:
                raise PerturbationError(f"{place}: {step}.user lacks the field {field}")
    return prompts


def _bullets(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


FindFlaws = Callable[[str, Cell], Iterable[Flaw]]
"""Function that yields the rules of a cell that a rewording violates, each with a reason."""
_LIST_MARK = re.compile(r"^(?:[-*•]|\(?\d{1,3}[.):])\s+")
_QUOTES = ("\"'`\u201c\u2018", "\"'`\u201d\u2019")
_NUMBERS = re.compile(r"\d{1,4}(?:(?:[\s,;.]|and)+\d{1,4})*")


def usable_rewordings(
    reply: Reply | None, flaws: FindFlaws, cell: Cell, known: Sequence[str], ledger: Ledger
) -> list[str]:
    """Return the usable rewordings in a reply: complete, not in ``known``, and without rule violations."""
    lines = [line for line in reply.text.splitlines() if line.strip()] if reply else []
    if reply and reply.cut_off and lines:
        lines.pop()
        ledger.drop("line: cut off")
    taken = {words_of(text) for text in known}
    usable: list[str] = []
    for line in lines:
        text = _LIST_MARK.sub("", " ".join(line.split()))
        while len(text) > 1 and text[0] in _QUOTES[0] and text[-1] in _QUOTES[1]:
            text = text[1:-1].strip()
        flaw = next(iter(flaws(text, cell)), None)
        if flaw is not None:
            ledger.drop(f"line: violates the rule '{flaw[0]}'")
        elif words_of(text) in taken:
            ledger.drop("line: duplicate")
        else:
            taken.add(words_of(text))
            usable.append(text)
    return usable


def accepted_candidates(reply: Reply | None, candidates: Sequence[str], ledger: Ledger) -> list[str]:
    """Return the candidates whose numbers (from 1) a reply lists; empty if it is not a valid list of numbers."""
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
MAX_LINES = 15
"""Maximum number of rewordings in one request to generate or verify."""
EXAMPLES = 5
"""Number of example rewordings for each axis in a merge prompt."""


def paraphrases(
    tasks: Sequence[Task],
    per_cell: int,
    endpoint: Endpoint,
    cache: Cache,
    ledger: Ledger,
    *,
    words: Path | None = None,
    use_rules: bool = True,
    prompts: Prompts | None = None,
    on_cell: Callable[[str], None] = lambda name: None,
) -> list[Paraphrase]:
    """Return paraphrases for every cell, up to ``per_cell`` in each over all tasks.

    ``words`` is a file with additional nouns. With ``use_rules``, rewordings that violate a rule of ``assay words
    verify`` are dropped before the model verifies them; otherwise only the model judges, and a task's objects need not
    be in the lexicon. ``prompts`` defaults to the built-in ones. ``on_cell`` is called whenever a cell of a task
    is completed; there are 43 cells for each task. Raises LLMError, and PerturbationError for a task whose objects
    are not in the lexicon.
    """

    def flaw_finder(task: Task) -> FindFlaws:
        if use_rules:
            return Rules(task, words).flaws
        original = task.instruction.text
        return lambda text, cell: (flaw for flaw in plain_flaws(text, original) if flaw[0] == "text")

    finders = [flaw_finder(task) for task in tasks]
    texts = prompts or read_prompts()

    async def all_tasks() -> list[Paraphrase]:
        async with Client(endpoint, cache, ledger) as client, asyncio.TaskGroup() as group:
            shares = [per_cell // len(tasks) + (place < per_cell % len(tasks)) for place in range(len(tasks))]
            jobs = [
                group.create_task(_TaskPipeline(task, flaws, texts, share, client, ledger, on_cell).run())
                for task, flaws, share in zip(tasks, finders, shares, strict=True)
                if share
            ]
        results = [paraphrase for job in jobs for paraphrase in job.result()]
        unique = {words_of(paraphrase.text): paraphrase for paraphrase in reversed(results)}
        ledger.drop("line: duplicate of another task's", len(results) - len(unique))
        return list(reversed(unique.values()))

    try:
        return asyncio.run(all_tasks())
    except BaseExceptionGroup as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup):  # an error cancels all concurrent jobs: raise it alone
            error = error.exceptions[0]
        raise error from None


@dataclass(frozen=True, slots=True, eq=False)
class _TaskPipeline:
    """The four steps of the pipeline for one task."""

    task: Task
    flaws: FindFlaws
    prompts: Prompts
    wanted: int
    """Number of paraphrases per cell."""
    client: Client
    ledger: Ledger
    on_cell: Callable[[str], None]

    async def run(self) -> list[Paraphrase]:
        """Return the paraphrases for all cells, in order. A text that occurs in two cells is kept only in the first."""
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
            self.ledger.drop("line: duplicate in another cell", len(texts[cell]) - len(new))
            taken |= {words_of(text) for text in new[: self.wanted]}
            assembled += [Paraphrase(self.task, cell, text) for text in new[: self.wanted]]
        return assembled

    async def _collect(self, cell: Cell, single: Mapping[Cell, list[str]]) -> list[str]:
        """Request and verify rewordings for a cell until there are enough, at most `ROUNDS` times.

        ``single`` holds the paraphrases along one axis, which are merged for cells that change both axes.
        """
        generate, verify, wanted = "generate", "verify", max(self.wanted, EXAMPLES)
        objects = [*dict.fromkeys(names_of(entity.category)[0] for entity in self.task.scene.entities)]
        about = self.task.instruction.text, objects, cell
        named: Sequence[str] = ()
        acted: Sequence[str] = ()
        if _is_merged(cell):
            generate, verify, wanted = "merge", "verify_merged", self.wanted
            named = single[Cell(cell.object_type, ActionType.NONE)][:EXAMPLES]
            acted = single[Cell(ObjectType.NONE, cell.action_type)][:EXAMPLES]
            if not (named and acted):
                self.ledger.drop("cell: nothing to merge")
                wanted = 0
        accepted: list[str] = []
        seen: list[str] = []
        for round in range(ROUNDS):
            if len(accepted) >= wanted:
                break
            # Request half as many again as are missing, because some will be rejected.
            count = min(MAX_LINES, (wanted - len(accepted)) * 3 // 2 + 1)
            prompt = self.prompts.fill(generate, *about, count=count, known=seen, named=named, acted=acted)
            reply = await self.client.ask(prompt, round)
            candidates = usable_rewordings(reply, self.flaws, cell, seen, self.ledger)[:MAX_LINES]
            if candidates:
                seen += candidates
                check = self.prompts.fill(verify, *about, candidates=candidates)
                verdict = await self.client.ask(check, round)
                accepted += accepted_candidates(verdict, candidates, self.ledger)
        self.on_cell(f"{self.task.id} {cell}")
        return accepted


def _is_merged(cell: Cell) -> bool:
    return cell.object_type is not ObjectType.NONE and cell.action_type is not ActionType.NONE
