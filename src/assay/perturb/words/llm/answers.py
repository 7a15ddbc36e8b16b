"""What a model's answer says: lines of text, or numbers. Whatever is neither is dropped and counted."""

from __future__ import annotations

import re
from collections.abc import Sequence

from assay.perturb.words.grid.cells import Cell, ObjectType
from assay.perturb.words.llm.cache import Reply
from assay.perturb.words.llm.ledger import Ledger
from assay.tasks import Task
from assay.tasks.names import mentions, names_of, words

LONGEST = 250
"""Characters of a rewording."""
_MARK = re.compile(r"^(?:[-*•]|\(?\d{1,3}[.):])\s+")
_QUOTES = ("\"'`\u201c\u2018", "\"'`\u201d\u2019")
_REMARK = re.compile(
    r"^(?:sure|certainly|of course|here (?:are|is)|okay|note|rewordings?)\b.*[:!]$", re.IGNORECASE
)
_NUMBERS = re.compile(r"\d{1,4}(?:(?:[\s,;.]|and)+\d{1,4})*")


def rewordings(
    reply: Reply | None, task: Task, cell: Cell, known: Sequence[str], ledger: Ledger
) -> list[str]:
    """The rewordings in an answer that could be used: whole, new, and about what the task is about."""
    if reply is None:
        return []
    lines = [line for line in reply.text.splitlines() if line.strip()]
    if reply.cut_off and lines:
        lines.pop()
        ledger.drop("line: cut off")
    taken = {_plain(each) for each in (task.instruction.text, *known)}
    found: list[str] = []
    for line in lines:
        text = _unmarked(line)
        flaw = _flaw(text, task, cell) or ("line: said already" if _plain(text) in taken else None)
        if flaw is not None:
            ledger.drop(flaw)
        else:
            taken.add(_plain(text))
            found.append(text)
    return found


def chosen(reply: Reply | None, candidates: Sequence[str], ledger: Ledger) -> list[str]:
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


def named_in(task: Task) -> list[str]:
    """What the things in a task's scene are called, each once."""
    return list(dict.fromkeys(names_of(entity.category)[0] for entity in task.scene.entities))


def _flaw(text: str, task: Task, cell: Cell) -> str | None:
    """Why a line is no rewording, or None."""
    if not text or not text.isprintable() or not re.search(r"[A-Za-z]{2}", text):
        return "line: no text"
    if len(text) > LONGEST:
        return "line: too long"
    if _REMARK.match(text):
        return "line: a remark"
    original = task.instruction.text
    forms = {form for entity in task.scene.entities for form in names_of(entity.category)}
    # "drawer" is a name of a cabinet: where one of its names is said, the others may be.
    for entity in task.scene.entities:
        if any(mentions(original, form) for form in names_of(entity.category)):
            forms -= set(names_of(entity.category))
    if any(mentions(text, form) for form in forms):
        return "line: names another thing of the scene"
    if cell.object_type is ObjectType.NONE and not _same_names(text, task):
        return "line: loses the name of a thing"
    return None


def _same_names(text: str, task: Task) -> bool:
    """Whether everything that the instruction names is named."""
    for entity in task.scene.entities:
        said = [form for form in names_of(entity.category) if mentions(task.instruction.text, form)]
        if said and not any(mentions(text, form) for form in said):
            return False
    return True


def _unmarked(line: str) -> str:
    """A line without a bullet, a number or quotation marks around it."""
    text = _MARK.sub("", " ".join(line.split()))
    while len(text) > 1 and text[0] in _QUOTES[0] and text[-1] in _QUOTES[1]:
        text = text[1:-1].strip()
    return text


def _plain(text: str) -> str:
    return " ".join(words(text))
