"""METEOR (Banerjee and Lavie 2005) with exact and stem matches: words that are written alike, or share a stem.

    F = 10 P R / (R + 9 P)        METEOR = F (1 - 0.5 (chunks / matches)^3)

P and R are the matched shares of the paraphrase and of the original; a chunk is a run of matches that stand side by
side in both. Of the alignments with the most matches, exact ones first, that with the fewest chunks counts. Synonyms
(the third kind of match, from WordNet) are left out: that gives the figures of LIBERO-Para's Table 10.
"""

from __future__ import annotations

import re
from collections import Counter

from assay.perturb.words.distance.stems import stem

VARIANT = "exact+stem"
"""Which matches count."""
_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")
_MOST_STATES = 256
"""Alignments that are followed at once; more would need dozens of repeated words."""
_NONE = -2
"""The place of a word that is aligned with nothing: no word stands beside it."""
_Alignment = tuple[int, int]
"""Words of the reference that are taken, as bits; the one that the last word is aligned with."""
_Value = tuple[int, int, int]
"""Exact matches, all matches, minus the chunks: the larger the better."""


def meteor(original: str, paraphrase: str) -> float:
    """The similarity of a paraphrase to its original, 0 to 1, whatever the case."""
    reference, words = (_WORD.findall(text.lower()) for text in (original, paraphrase))
    if not reference or not words:
        return 0.0
    matches, chunks = _align(reference, words)
    if not matches:
        return 0.0
    precision, recall = matches / len(words), matches / len(reference)
    mean = 10 * precision * recall / (recall + 9 * precision)
    return mean * (1 - 0.5 * (chunks / matches) ** 3)


def _align(reference: list[str], words: list[str]) -> tuple[int, int]:
    """Matches and chunks of the best alignment: the most exact matches, then matches, then the fewest chunks."""
    stems = [stem(word) for word in reference]
    spare = Counter(words) - Counter(reference)  # the others must all be matched for the most exact matches
    # An alignment so far: which words of the reference are taken, and which the word before was aligned with.
    states: dict[_Alignment, _Value] = {(0, _NONE): (0, 0, 0)}
    for word in words:
        same = [place for place, other in enumerate(reference) if other == word]
        alike = [place for place, other in enumerate(stems) if other == stem(word) and place not in same]
        after: dict[_Alignment, _Value] = {}
        for (taken, last), (exact, count, chunks) in states.items():
            free = [place for place in same if not taken >> place & 1]
            for place in free:
                new = (exact + 1, count + 1, chunks - (place != last + 1))
                _keep(after, (taken | 1 << place, place), new)
            if not free or spare[word]:
                _keep(after, (taken, _NONE), (exact, count, chunks))
                for place in alike:
                    if not taken >> place & 1:
                        _keep(
                            after,
                            (taken | 1 << place, place),
                            (exact, count + 1, chunks - (place != last + 1)),
                        )
        best = sorted(after, key=lambda state: after[state], reverse=True)[:_MOST_STATES]
        states = {state: after[state] for state in best}
    _, count, chunks = max(states.values())
    return count, -chunks


def _keep(states: dict[_Alignment, _Value], state: _Alignment, value: _Value) -> None:
    if state not in states or value > states[state]:
        states[state] = value
