"""Reads what a task says, and writes it down in other words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache

import numpy as np

from assay.errors import PerturbationError
from assay.extensions.tabletop.originals import OPEN, ORIGINALS
from assay.extensions.tabletop.perturb.wordings import TEMPLATES, WORDS
from assay.extensions.tabletop.tasks import TableTask

Fields = Mapping[str, tuple[str, ...]]
"""What can stand in each place that a template leaves open."""
_BEGINNING = re.compile(r"(?:^|(?<=\. ))[a-z]")


def read(task: TableTask) -> Fields:
    """What a task says in the places that templates leave open, as an angle or a texture.

    Raises PerturbationError for a prompt in other words than the task's own.
    """
    for original in ORIGINALS[task.setting.task]:
        found = _pattern(original).fullmatch(task.prompt.text)
        if found is not None:
            return {name: (value,) for name, value in found.groupdict().items()}
    raise PerturbationError(f"{task.id}: the prompt was changed before: '{task.prompt.text:.60}'")


def wordings(task: TableTask) -> Iterator[str]:
    """Every wording of a task but its own. Raises PerturbationError for a prompt in other words than that."""
    fields = {**WORDS, **read(task)}
    for template in TEMPLATES[task.setting.task]:
        for text in _fill(template, fields):
            if text != task.prompt.text:
                yield text


def draw_wording(task: TableTask, rng: np.random.Generator) -> str:
    """One of the wordings: a template, then a word of each class. Raises PerturbationError as above."""
    fields = {**WORDS, **read(task)}
    templates = TEMPLATES[task.setting.task]
    while True:
        text = templates[int(rng.integers(len(templates)))]
        while (place := OPEN.search(text)) is not None:
            options = fields[place[1]]
            text = text.replace(place[0], options[int(rng.integers(len(options)))])
        if (text := capitalise(text)) != task.prompt.text:
            return text


def _fill(text: str, fields: Fields) -> Iterator[str]:
    """A template with every choice of words."""
    place = OPEN.search(text)
    if place is None:
        yield capitalise(text)
        return
    for option in fields[place[1]]:
        yield from _fill(text.replace(place[0], option), fields)


def capitalise(text: str) -> str:
    """A text whose sentences begin with capitals."""
    return _BEGINNING.sub(lambda letter: letter[0].upper(), text)


@cache
def _pattern(template: str) -> re.Pattern[str]:
    """What finds the words in a template's open places."""
    known: set[str] = set()
    parts: list[str] = []
    for index, part in enumerate(OPEN.split(template)):
        if index % 2 == 0:
            parts.append(re.escape(part))
        else:
            parts.append(f"(?P={part})" if part in known else f"(?P<{part}>.+?)")
            known.add(part)
    return re.compile("".join(parts))
