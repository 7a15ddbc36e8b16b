"""The names of things that a text says, found with the lexicon and the scene."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from assay.language import Meaning, Mention
from assay.perturb.words.grid.cells import ObjectType
from assay.perturb.words.grid.wordings import new_names

_ARTICLE = re.compile("a|an|both|each|its|my|our|that|the|their|these|this|those|two|your")
_BOUND = re.compile(
    "after|and|are|at|be|been|before|between|by|can|could|for|from|has|have|i|if|in|into|is|it|me|next|of|on|once"
    "|onto|or|so|then|to|under|until|were|when|where|will|with|would|you"
)
_FARTHEST = 5
"""How many words may stand between an article and the name."""
_WORD = re.compile(r"[a-z0-9]+(?:['-][a-z0-9]+)*")
_GENITIVE = re.compile(r"'s\b")


@dataclass(frozen=True, slots=True)
class FoundName:
    """A name in a text, after an article."""

    name: str
    nouns: frozenset[str]
    """What in the scene it may stand for."""
    plural: bool
    between: tuple[str, ...]
    """The words between the article and the name."""


def words_of(text: str) -> list[str]:
    """The words of a text in lower case, without punctuation and genitives."""
    return _WORD.findall(_GENITIVE.sub("", text.lower()))


class Finder:
    """Finds what a text calls the things of a scene."""

    def __init__(self, meaning: Meaning) -> None:
        self._names: dict[tuple[str, ...], tuple[set[str], bool]] = {}
        for noun in meaning.nouns:
            for name in noun.all_names:
                for written, plural in noun.numbers_of(name):
                    known = self._names.setdefault(tuple(words_of(written)), (set(), plural))
                    known[0].add(noun.name)
        self._longest = max(map(len, self._names), default=0)

    def find(self, text: str) -> Iterator[FoundName]:
        """The names in a text, the longest at each place."""
        words = words_of(text)
        start = end = 0
        while start < len(words):
            between = _after_article(words, start)
            taken = self._at(words, start) if between is not None else None
            if taken is None or between is None:
                start += 1
                continue
            if self._at(words, start + len(taken)) is not None:  # "the food bowl" is no food
                start += len(taken)
                continue
            nouns, plural = self._names[taken]
            # What another name has taken ("the caddy's back compartment") is not between.
            between = between[max(0, end - start + len(between)) :]
            yield FoundName(" ".join(taken), frozenset(nouns), plural, between)
            start = end = start + len(taken)

    def _at(self, words: list[str], start: int) -> tuple[str, ...] | None:
        for length in range(min(self._longest, len(words) - start), 0, -1):
            name = tuple(words[start : start + length])
            if name in self._names:
                return name
        return None


@dataclass(frozen=True, slots=True)
class Naming:
    """What a text calls one of the original's nouns."""

    form: str
    """As the original has it."""
    kept: bool
    """Whether the text says so too."""
    qualifiers: tuple[str, ...]
    """Words before it that the original does not have there."""
    renamed: Mapping[str, ObjectType]
    """Other names of it that the lexicon knows, and their types."""
    added: tuple[str, ...]
    """Words before any name of it that the original does not have there."""


def naming(mention: Mention, names: list[FoundName], originally: list[FoundName], meaning: Meaning) -> Naming:
    """What a text with these names calls a noun of the original, which has those."""
    noun, form = mention.noun, mention.original
    mentioned = {each.noun.name for each in meaning.mentions}
    others = {each.original for each in meaning.mentions} - {form}
    listed = {
        " ".join(words_of(written)): kind
        for kind in (ObjectType.HABITUAL, ObjectType.CONTEXTUAL)
        for name in new_names(noun, kind, mention.form)
        for written in (name, noun.plural_of(name))
    }
    mine = [each for each in names if noun.name in each.nouns and each.name not in others]
    kept = [each for each in mine if each.name.endswith(form) and each.name not in listed]
    mine = [each for each in mine if each in kept or each.nouns & mentioned == {noun.name}]
    before = {word for each in originally if each.name == form for word in each.between}
    new = [word for each in kept for word in (*each.between, *words_of(each.name.removesuffix(form)))]
    return Naming(
        form=form,
        kept=bool(kept),
        qualifiers=tuple(word for word in new if word not in before),
        renamed={each.name: listed[each.name] for each in mine if each.name in listed},
        added=tuple(word for each in mine for word in each.between if word not in before),
    )


def _after_article(words: list[str], start: int) -> tuple[str, ...] | None:
    """The words between the article before a place and that place; None if there is no article."""
    for back in range(1, min(_FARTHEST + 1, start) + 1):
        word = words[start - back]
        if _ARTICLE.fullmatch(word):
            return tuple(words[start - back + 1 : start])
        if _BOUND.fullmatch(word):
            # "the yellow and white mug": colours may be joined.
            joined = word == "and" and back == 2 and start >= 4 and _ARTICLE.fullmatch(words[start - 4])
            return tuple(words[start - 3 : start]) if joined else None
    return None
