"""Porter's stemmer (1980), which maps words with different endings to one stem."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache

_VOWELS = frozenset("aeiou")
_SECOND = {
    **{"ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize", "abli": "able"},
    **{"alli": "al", "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize", "ation": "ate"},
    **{"alism": "al", "iveness": "ive", "fulness": "ful", "ousness": "ous", "aliti": "al", "iviti": "ive"},
    **{"ator": "ate", "biliti": "ble"},
}
_THIRD = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
_ENDS = "al ance ence er ic able ible ant ement ment ent ion ou ism ate iti ous ive ize"
_FOURTH = dict.fromkeys(_ENDS.split(), "")


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Return the stem of a lower-case word."""
    if len(word) < 3:
        return word
    for end, new in (("sses", "ss"), ("ies", "i"), ("ss", "ss"), ("s", "")):
        if word.endswith(end):
            word = word.removesuffix(end) + new
            break
    word = _without_past(word)
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = f"{word[:-1]}i"
    word = _replace_end(word, _SECOND, lambda rest, _: _measure(rest) > 0)
    word = _replace_end(word, _THIRD, lambda rest, _: _measure(rest) > 0)
    word = _replace_end(
        word, _FOURTH, lambda rest, end: _measure(rest) > 1 and (end != "ion" or rest.endswith(("s", "t")))
    )
    if word.endswith("e"):
        rest = word[:-1]
        if _measure(rest) > 1 or (_measure(rest) == 1 and not _ends_short(rest)):
            word = rest
    if word.endswith("ll") and _measure(word[:-1]) > 1:
        word = word[:-1]
    return word


def _without_past(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for end in ("ed", "ing"):
        rest = word.removesuffix(end)
        if rest != word and _has_vowel(rest):
            if rest.endswith(("at", "bl", "iz")):
                return f"{rest}e"
            is_double = len(rest) > 1 and rest[-1] == rest[-2] and _kinds(rest)[-1] == "c"
            if is_double and rest[-1] not in "lsz":
                return rest[:-1]
            return f"{rest}e" if _measure(rest) == 1 and _ends_short(rest) else rest
    return word


def _replace_end(word: str, ends: Mapping[str, str], holds: Callable[[str, str], bool]) -> str:
    """Replace the longest listed ending of a word if ``holds`` returns true for the rest of the word."""
    for end in sorted(ends, key=len, reverse=True):
        if word.endswith(end):
            rest = word.removesuffix(end)
            return rest + ends[end] if holds(rest, end) else word
    return word


def _kinds(word: str) -> str:
    """Return "v" for each vowel and "c" for each consonant; y is a vowel after a consonant."""
    kinds = ""
    for place, letter in enumerate(word):
        vowel = letter in _VOWELS or (letter == "y" and place > 0 and kinds[-1] == "c")
        kinds += "v" if vowel else "c"
    return kinds


def _measure(word: str) -> int:
    """Return the number of vowel-consonant sequences."""
    return len(re.findall("v+c+", _kinds(word)))


def _has_vowel(word: str) -> bool:
    return "v" in _kinds(word)


def _ends_short(word: str) -> bool:
    """Whether a word ends in a consonant, a vowel and a consonant other than w, x or y."""
    return _kinds(word)[-3:] == "cvc" and word[-1] not in "wxy"
