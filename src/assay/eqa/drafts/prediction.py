"""Which picture an action leads to: four moments of the same episode, at the mid or the low level."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from assay.eqa.actions import described, gaps, is_clear, printed, signs
from assay.eqa.drafts.draft import OPTIONS, Draft, Shot, numbers
from assay.eqa.drafts.inference import APART
from assay.eqa.episode import Rules
from assay.eqa.pairs import Prepared
from assay.eqa.question import Kind

ORDERS = 12
"""So many times four moments are looked for, in random orders."""
PLAINLY = 2.0
"""A dimension that only one of two texts names has changed by so many thresholds there."""


def predictions(
    kind: Kind, prepared: Sequence[Prepared], rules: Rules, rng: np.random.Generator
) -> Iterator[Draft]:
    """From each beginning four later moments; episodes in turn, each beginning once."""
    waiting = [(owner, _beginnings(each, rng)) for owner, each in enumerate(prepared)]
    waiting = [waiting[place] for place in rng.permutation(len(waiting))]
    while waiting:
        for owner, beginnings in waiting:
            while beginnings:
                draft = _draft(kind, owner, prepared[owner], beginnings.pop(), rules, rng)
                if draft is not None:
                    yield draft
                    break
        waiting = [each for each in waiting if each[1]]


def _beginnings(each: Prepared, rng: np.random.Generator) -> list[int]:
    return rng.permutation(np.unique(each.pairs[:, 0])).tolist() if len(each.pairs) else []


def _draft(
    kind: Kind, owner: int, each: Prepared, start: int, rules: Rules, rng: np.random.Generator
) -> Draft | None:
    mine = np.flatnonzero(each.pairs[:, 0] == start)
    if kind is Kind.M_SP:
        mine = mine[is_clear(each.actions[mine], rules.thresholds)]
    actions = each.actions[mine]
    patterns = signs(actions, rules.thresholds)
    orders = [rng.permutation(len(mine)).tolist() for _ in range(ORDERS)]
    apart = gaps(actions[:, None], actions[None], rules.thresholds) >= APART  # (n, n, 7)
    how_far = False
    if kind is Kind.L_SP:
        chosen = _different(orders, np.asarray(apart.any(axis=-1)))
    else:
        chosen = _different(orders, _told_apart(actions, patterns, apart, rules, far=False))
        how_far = len(chosen) < OPTIONS  # labels alone do not tell the pictures apart
        if how_far:
            chosen = _different(orders, _told_apart(actions, patterns, apart, rules, far=True))
    if len(chosen) < OPTIONS:
        return None
    right = int(rng.integers(OPTIONS))
    frames = each.pairs[mine[chosen], 1].tolist()
    action = actions[chosen[right]]
    if kind is Kind.L_SP:
        text = printed(action)
    else:
        text = described(patterns[chosen[right]].tolist(), action if how_far else None)
    episode = each.episode
    return Draft(
        kind,
        group=each.group,
        shots=(Shot(owner, start),),
        right=right,
        option_shots=tuple(Shot(owner, frame) for frame in frames),
        action=text,
        states=tuple(numbers(episode.states[frame]) for frame in (start, *frames)),
        actions=(numbers(action),),
    )


def _told_apart(
    actions: np.ndarray, patterns: np.ndarray, apart: np.ndarray, rules: Rules, *, far: bool
) -> np.ndarray:
    """Whether the text of one of two actions does not fit the other, (n, n). ``far``: it says how far."""
    units = np.abs(actions) / np.asarray(rules.thresholds)
    named = patterns != 0
    plain = (named[:, None] ^ named[None]) & (np.maximum(units[:, None], units[None]) >= PLAINLY)
    against = named[:, None] & named[None] & ((patterns[:, None] != patterns[None]) | far) & apart
    return np.asarray((plain | against).any(axis=-1))


def _different(orders: Sequence[Sequence[int]], differ: np.ndarray) -> list[int]:
    """Four places of which any two differ (n, n), taken in the first order that has them; else fewer."""
    chosen: list[int] = []
    for order in orders:
        chosen = []
        for place in order:
            if len(chosen) < OPTIONS and all(differ[place, other] for other in chosen):
                chosen.append(place)
        if len(chosen) == OPTIONS:
            break
    return chosen
