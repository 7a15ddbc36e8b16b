"""What a model's answer says: lines of text, or numbers. Whatever is neither is dropped and counted."""

from __future__ import annotations

import re
from collections.abc import Sequence

from assay.perturb.words.grid.cells import Cell
from assay.perturb.words.grid.verify import Rules
from assay.perturb.words.llm.screen import Sentences
from assay.support.llm.cache import Reply
from assay.support.llm.ledger import Ledger
from assay.tasks import Task
from assay.tasks.names import names_of, words

_MARK = re.compile(r"^(?:[-*•]|\(?\d{1,3}[.):])\s+")
_QUOTES = ("\"'`\u201c\u2018", "\"'`\u201d\u2019")
_NUMBERS = re.compile(r"\d{1,4}(?:(?:[\s,;.]|and)+\d{1,4})*")


def usable_rewordings(
    reply: Reply | None, screen: Rules | Sentences, cell: Cell, known: Sequence[str], ledger: Ledger
) -> list[str]:
    """The rewordings in an answer that could be used: whole, new, and with nothing against them."""
    if reply is None:
        return []
    lines = [line for line in reply.text.splitlines() if line.strip()]
    if reply.cut_off and lines:
        lines.pop()
        ledger.drop("line: cut off")
    taken = {_plain(each) for each in known}
    found: list[str] = []
    for line in lines:
        text = _strip_marks(line)
        flaw = next(screen.flaws(text, cell), None)
        if flaw is not None:
            ledger.drop(f"line: against the rule '{flaw[0]}'")
        elif _plain(text) in taken:
            ledger.drop("line: said already")
        else:
            taken.add(_plain(text))
            found.append(text)
    return found


def accepted_candidates(reply: Reply | None, candidates: Sequence[str], ledger: Ledger) -> list[str]:
    """The candidates whose numbers an answer gives; none of them if it gives anything else."""
    if reply is None:
        return []
    said = reply.text.strip().strip(".").lower()
    if said != "none" and (reply.cut_off or not _NUMBERS.fullmatch(said)):
        ledger.drop("answer: not a list of numbers")
        return []
    numbers = {int(number) for number in re.findall(r"\d+", said)}
    if not numbers <= set(range(1, len(candidates) + 1)):
        ledger.drop("answer: numbers of nothing")
        return []
    ledger.drop("line: refused by the verifier", len(candidates) - len(numbers))
    return [each for number, each in enumerate(candidates, start=1) if number in numbers]


def scene_names(task: Task) -> list[str]:
    """What the things in a task's scene are called, each once."""
    return list(dict.fromkeys(names_of(entity.category)[0] for entity in task.scene.entities))


def _strip_marks(line: str) -> str:
    """A line without a bullet, a number or quotation marks around it."""
    text = _MARK.sub("", " ".join(line.split()))
    while len(text) > 1 and text[0] in _QUOTES[0] and text[-1] in _QUOTES[1]:
        text = text[1:-1].strip()
    return text


def _plain(text: str) -> str:
    return " ".join(words(text))
