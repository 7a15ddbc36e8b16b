"""Names of objects in a text, found with the lexicon and the scene."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from assay.tasks.language import Meaning, Noun

_ARTICLE = re.compile("a|an|both|each|its|my|our|that|the|their|these|this|those|two|your")
_BOUND = re.compile(
    "after|and|are|at|be|been|before|between|by|can|could|for|from|has|have|i|if|in|into|is|it|me|next|of|on|once"
    "|onto|or|so|then|to|under|until|were|when|where|will|with|would|you"
)
_FARTHEST = 5
"""Maximum number of words between an article and the name."""
_WORD = re.compile(r"[a-z0-9]+(?:['-][a-z0-9]+)*")
_LAST = 3
"""Rank of a merely general name."""
_GENITIVE = re.compile(r"'s\b")


@dataclass(frozen=True, slots=True)
class FoundName:
    """A name in a text, after an article."""

    name: str
    nouns: frozenset[str]
    """Nouns of the scene that the name may refer to. If these include nouns of the original, only nouns for which
    the name is at least as specific remain: a "container" on the stove is a bowl rather than a bottle.
    """
    plural: bool
    between: tuple[str, ...]
    """The words between the article and the name."""


@lru_cache(maxsize=4096)
def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a text in lower case, without punctuation and genitives."""
    return tuple(_WORD.findall(_GENITIVE.sub("", text.lower())))


class Finder:
    """Finds the names of a scene's objects in texts."""

    def __init__(self, meaning: Meaning) -> None:
        self._names: dict[tuple[str, ...], tuple[dict[str, int], bool]] = {}
        self._mentioned = {mention.noun.name for mention in meaning.mentions}
        for noun in meaning.nouns:
            for name in noun.all_names:
                for written, plural in noun.numbers_of(name):
                    entry = self._names.setdefault(words_of(written), ({}, plural))
                    rank = min(_rank(noun, name), entry[0].get(noun.name, _LAST))
                    entry[0][noun.name] = rank
        self._longest = max(map(len, self._names), default=0)
        self.original = tuple(self.find(meaning.original))
        """The names in the original."""

    def find(self, text: str) -> Iterator[FoundName]:
        """Yield the names in a text, the longest at each position."""
        words = words_of(text)
        start = end = 0
        while start < len(words):
            between = _after_article(words, start)
            taken = self._at(words, start) if between is not None else None
            if taken is None or between is None:
                start += 1
                continue
            following = self._at(words, start + len(taken))
            nouns, plural = self._nouns_of(taken)
            if following is not None and not self._is_whole(taken, following):
                start += len(taken)  # "the food bowl" is no food
                continue
            # What another name has taken ("the caddy's back compartment") is not between.
            between = between[max(0, end - start + len(between)) :]
            yield FoundName(" ".join(taken), nouns, plural, between)
            start = end = start + len(taken) + len(following or ())

    def _nouns_of(self, name: tuple[str, ...]) -> tuple[frozenset[str], bool]:
        """Return the nouns that a name may refer to, and whether it is plural."""
        ranks, plural = self._names[name]
        least = min((rank for noun, rank in ranks.items() if noun in self._mentioned), default=_LAST)
        return frozenset(noun for noun, rank in ranks.items() if rank <= least), plural

    def _is_whole(self, first: tuple[str, ...], second: tuple[str, ...]) -> bool:
        """Whether two consecutive names are a specific and a general name of one object: "the stove surface"."""
        own, general = self._names[first][0], self._names[second][0]
        return any(own[noun] < general.get(noun, 0) for noun in own)

    def _at(self, words: tuple[str, ...], start: int) -> tuple[str, ...] | None:
        for length in range(min(self._longest, len(words) - start), 0, -1):
            name = words[start : start + length]
            if name in self._names:
                return name
        return None


def _rank(noun: Noun, name: str) -> int:
    """Return the rank of a noun for a name: 0 for its own name, then plain synonyms, contextual names, any other."""
    listed = (noun.habitual, noun.contextual, noun.also)
    return next((rank for rank, names in enumerate(listed, 1) if name in map(str.lower, names)), 0)


def _after_article(words: tuple[str, ...], start: int) -> tuple[str, ...] | None:
    """Return the words between a position and the article before it; None if there is no article."""
    for back in range(1, min(_FARTHEST + 1, start) + 1):
        word = words[start - back]
        if _ARTICLE.fullmatch(word):
            return words[start - back + 1 : start]
        if _BOUND.fullmatch(word):
            # "the yellow and white mug": colours may be joined.
            joined = word == "and" and back == 2 and start >= 4 and _ARTICLE.fullmatch(words[start - 4])
            return words[start - 3 : start] if joined else None
    return None
