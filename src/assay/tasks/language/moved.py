"""What an instruction calls the things that are to be moved, and the same instruction with other names for them.

    "pick up the black bowl next to the plate and place it on the plate"   the black bowl -> the corn
    "pick up the corn and place it on the plate"

A thing with a name of its own needs no place to be told by, so "next to the plate" goes with the old name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace

from assay.errors import PerturbationError
from assay.tasks.language.attributes import attribute_words
from assay.tasks.language.lexicon import lexicon
from assay.tasks.language.phrases import without_place
from assay.tasks.language.sentences import write_steps
from assay.tasks.language.steps import read_steps
from assay.tasks.names import names_of

Rename = Callable[[str, str, bool], str | None]
"""From a category, the noun that is said for it, and whether it is in the plural, to what is said instead; None for
what keeps its name."""


def rename_moved(text: str, categories: Iterable[str], rename: Rename) -> str:
    """An instruction with other names for the things that it moves, which are of these categories.

    ``rename`` gives a name without an article; for a plural, with whatever goes between "both" and it.
    Raises PerturbationError where the words for a category are not to be found, or it is said twice.
    """
    named: dict[str, str] = {}
    wanted = tuple(dict.fromkeys(categories))

    def renamed(phrase: str) -> str:
        both, rest = re.fullmatch(r"(both )?(.*)", without_place(phrase)).groups("")  # type: ignore[union-attr]
        parts = rest.removeprefix("the ").split(" and the ")
        plural = both != "" and not rest.startswith("the ")
        found = [_category(part, wanted) for part in parts]
        for category in filter(None, found):
            if named.setdefault(category, phrase) != phrase:
                raise PerturbationError(
                    f"'{text}' says {named[category]!r} and {phrase!r} of things of one kind"
                )
        new = [
            None if category is None else rename(category, _noun(part, category), plural)
            for part, category in zip(parts, found, strict=True)
        ]
        if not any(new):
            return phrase
        said = [name or part for name, part in zip(new, parts, strict=True)]
        return f"{both}{said[0]}" if plural else f"{both}the {' and the '.join(said)}"

    steps = [
        replace(step, thing=renamed(step.thing)) if step.preposition else step for step in read_steps(text)
    ]
    missing = [category for category in wanted if category not in named]
    if missing:
        raise PerturbationError(
            f"'{text}' does not say in words that it knows what is done with {missing[0]}"
        )
    return write_steps(steps)


def _category(part: str, categories: Iterable[str]) -> str | None:
    """The category that a noun phrase without an article names: by LIBERO's own name for it, else by its noun."""
    for names in (names_of, _nouns):
        found = [
            category for category in categories if _says(part, names(category), qualified=names is _nouns)
        ]
        if len(found) == 1:
            return found[0]
        if found:
            raise PerturbationError(f"'{part}' may be any of {', '.join(found)}")
    return None


def _says(part: str, names: Iterable[str], *, qualified: bool) -> bool:
    before = rf"(?:(?:{'|'.join((*attribute_words(), 'and'))}) )*" if qualified else ""
    return any(re.fullmatch(before + re.escape(name), part) for name in names)


def _noun(part: str, category: str) -> str:
    """The noun at the end of a phrase: "mug" of "yellow and white mug"."""
    ends = [name for name in _nouns(category) if f" {part}".endswith(f" {name}")]
    return max(ends, key=len, default=part)


def _nouns(category: str) -> tuple[str, ...]:
    """What the lexicon has for a category, for one and for several. Raises PerturbationError."""
    return tuple(
        written
        for noun in lexicon().of_category(category)
        for form in noun.original_forms
        for written, _ in noun.numbers_of(form)
    )
