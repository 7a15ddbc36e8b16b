"""Instructions: which was carried out, and what it led to.

Where several instructions were carried out from the same beginning, the options are four of them, or the four
ends they led to. Where that is not known, the options are an instruction and the likest ones of the data set;
and the end of an episode stands among other moments of it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from assay.eqa.actions import difference
from assay.eqa.drafts.draft import OPTIONS, Draft, Shot
from assay.eqa.drafts.inference import APART
from assay.eqa.episode import Rules
from assay.eqa.pairs import Prepared
from assay.eqa.question import Kind

_PLAIN = frozenset(
    [
        "a",
        "an",
        "the",
        "to",
        "of",
        "and",
        "it",
        "its",
        "into",
        "onto",
        "in",
        "on",
        "from",
        "with",
        "up",
        "down",
        "put",
        "place",
        "pick",
        "move",
        "take",
        "set",
    ]
)
"""Words that do not tell one task from another."""


def high(kind: Kind, prepared: Sequence[Prepared], rules: Rules, rng: np.random.Generator) -> Iterator[Draft]:
    """Questions about instructions, the scenes in turn; none twice."""
    whole = {owner: each for owner, each in enumerate(prepared) if each.whole and each.episode.instruction}
    scenes: defaultdict[str, list[int]] = defaultdict(list)
    for owner, each in whole.items():
        scenes[each.episode.scene].append(owner)
    alone = scenes.pop("", [])
    sources = [_of_scene(kind, whole, owners, rng) for owners in scenes.values()]
    if alone:
        sources.append(_moments(whole, alone, rules, rng) if kind.predicts else _like(whole, alone, rng))
    while sources:
        for source in list(sources):
            draft = next(source, None)
            if draft is None:
                sources.remove(source)
            else:
                yield draft


def _of_scene(
    kind: Kind, whole: dict[int, Prepared], owners: list[int], rng: np.random.Generator
) -> Iterator[Draft]:
    asked = set()
    tries = 0
    while tries < 50:
        tries += 1
        chosen: list[int] = []
        for owner in rng.permutation(owners).tolist():
            if len(chosen) < OPTIONS and all(_exclusive(whole[owner], whole[other]) for other in chosen):
                chosen.append(owner)
        if len(chosen) < OPTIONS:
            return
        right = int(rng.integers(OPTIONS))
        key = (frozenset(chosen), chosen[right])
        if key not in asked:
            asked.add(key)
            tries = 0
            yield _draft(kind, whole[chosen[0]].group, whole, chosen, right)


def _draft(kind: Kind, group: str, whole: dict[int, Prepared], chosen: list[int], right: int) -> Draft:
    texts = [whole[owner].episode.instruction for owner in chosen]
    ends = [Shot(owner, int(whole[owner].frames[-1])) for owner in chosen]
    truth = chosen[right]
    start = Shot(truth, int(whole[truth].frames[0]))
    episode = whole[truth].episode
    if kind.predicts:
        achieved = tuple(episode.instruction in _done(whole[owner]) for owner in chosen)
        return Draft(
            kind,
            group,
            (start,),
            right,
            option_shots=tuple(ends),
            action=texts[right],
            achieved=achieved,
        )
    done = _done(whole[truth])
    return Draft(
        kind,
        group,
        (start, ends[right]),
        right,
        options=tuple(texts),
        achieved=tuple(text in done for text in texts),
    )


def _done(each: Prepared) -> frozenset[str]:
    return each.episode.achieved | {each.episode.instruction}


def _exclusive(one: Prepared, other: Prepared) -> bool:
    """Whether doing the one is not doing the other."""
    return one.episode.instruction not in _done(other) and other.episode.instruction not in _done(one)


def _like(whole: dict[int, Prepared], owners: list[int], rng: np.random.Generator) -> Iterator[Draft]:
    """Every instruction with three that share the most words with it; any of the four may be asked for.

    What was asked for before does not matter: else an answer known would be a hint for another question.
    """
    by_text: defaultdict[str, list[int]] = defaultdict(list)
    for owner in owners:
        by_text[whole[owner].episode.instruction].append(owner)
    words = {text: frozenset(re.findall(r"\w+", text.lower())) - _PLAIN for text in by_text}
    for anchor in rng.permutation(sorted(by_text)).tolist():
        chosen = [anchor]
        for text in sorted(by_text, key=lambda each: (-_likeness(words[each], words[anchor]), rng.random())):
            if len(chosen) < OPTIONS and all(_other(words[text], words[each]) for each in chosen):
                chosen.append(text)
        if len(chosen) == OPTIONS:
            right = int(rng.integers(OPTIONS))
            yield _draft(Kind.H_AI, anchor, whole, [int(rng.choice(by_text[text])) for text in chosen], right)


def _likeness(one: frozenset[str], two: frozenset[str]) -> float:
    return len(one & two) / max(len(one | two), 1)


def _other(one: frozenset[str], two: frozenset[str]) -> bool:
    """Whether each names something the other does not: not one instruction said in two ways."""
    return bool(one - two) and bool(two - one)


def _moments(
    whole: dict[int, Prepared], owners: list[int], rules: Rules, rng: np.random.Generator
) -> Iterator[Draft]:
    """The end of an episode among three other moments of it."""
    for owner in rng.permutation(owners).tolist():
        each = whole[owner]
        end = int(each.frames[-1])
        chosen = [end]
        for frame in rng.permutation(each.frames[1:-1]).tolist():
            units = difference(each.episode.states[frame], each.episode.states[chosen]) / np.asarray(
                rules.thresholds
            )
            if len(chosen) < OPTIONS and (np.abs(units).max(axis=1) >= APART).all():
                chosen.append(frame)
        if len(chosen) == OPTIONS:
            yield Draft(
                Kind.H_SP,
                each.episode.id,
                (Shot(owner, int(each.frames[0])),),
                0,
                option_shots=tuple(Shot(owner, frame) for frame in chosen),
                action=each.episode.instruction,
                achieved=(True, False, False, False),
            )
