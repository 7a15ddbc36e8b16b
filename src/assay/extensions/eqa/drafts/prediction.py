"""Which picture an action leads to: four moments of the same episode, at the mid or the low level."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from assay.extensions.eqa.actions import described, gaps, is_clear, printed, signs
from assay.extensions.eqa.drafts.draft import OPTIONS, Draft, Shot, numbers
from assay.extensions.eqa.drafts.inference import APART
from assay.extensions.eqa.drafts.strata import in_turn
from assay.extensions.eqa.episode import Rules
from assay.extensions.eqa.pairs import Prepared
from assay.extensions.eqa.question import Kind

ORDERS = 12
"""So many times four moments are looked for, in random orders."""
TRIES = 3
"""With so many anchors a beginning is tried."""
PLAINLY = 2.0
"""A dimension that only one of two texts names has changed by so many thresholds there."""


def predictions(
    kind: Kind, prepared: Sequence[Prepared], rules: Rules, rng: np.random.Generator
) -> Iterator[Draft]:
    """From each beginning four later moments, chosen around one of them; each beginning is asked about once."""
    owners = np.repeat(np.arange(len(prepared)), [len(each.pairs) for each in prepared]).tolist()
    if not owners:
        return
    places = [place for each in prepared for place in range(len(each.pairs))]
    patterns = signs(np.concatenate([each.actions for each in prepared]), rules.thresholds)
    tried: Counter[tuple[int, int]] = Counter()
    for anchor in in_turn(patterns, owners, rng):
        owner, place = owners[anchor], places[anchor]
        start = owner, int(prepared[owner].pairs[place, 0])
        if tried[start] < TRIES:
            tried[start] += 1
            draft = _draft(kind, owner, prepared[owner], place, rules, rng)
            if draft is not None:
                tried[start] = TRIES
                yield draft


def _draft(
    kind: Kind, owner: int, each: Prepared, anchor: int, rules: Rules, rng: np.random.Generator
) -> Draft | None:
    start = int(each.pairs[anchor, 0])
    mine = np.flatnonzero(each.pairs[:, 0] == start)
    actions, frames = each.actions[mine], each.pairs[mine, 1].tolist()
    patterns = signs(actions, rules.thresholds)
    first = int(np.flatnonzero(mine == anchor)[0])
    others = [place for place in range(len(mine)) if place != first]
    orders = [[first, *rng.permutation(others).tolist()] for _ in range(ORDERS)]
    apart = gaps(actions[:, None], actions[None], rules.thresholds) >= APART  # (n, n, 7)
    seen = np.array([[(min(one, two), max(one, two)) not in each.alike for two in frames] for one in frames])
    how_far = False
    if kind is Kind.L_SP:
        chosen = _different(orders, apart.any(axis=-1) & seen)
    else:
        clear = is_clear(actions, rules.thresholds)
        plain = _told_apart(actions, patterns, apart, rules, far=False) & clear[:, None] & clear[None]
        chosen = _different(orders, plain & seen) if clear[first] else []
        how_far = len(chosen) < OPTIONS  # labels alone do not tell the pictures apart
        if how_far:
            chosen = _different(orders, _told_apart(actions, patterns, apart, rules, far=True) & seen)
    if len(chosen) < OPTIONS:
        return None
    right = int(rng.integers(OPTIONS))
    action = actions[chosen[right]]
    if kind is Kind.L_SP:
        text = printed(action)
    else:
        text = described(patterns[chosen[right]].tolist(), action if how_far else None)
    states = each.episode.states
    return Draft(
        kind,
        group=each.group,
        shots=(Shot(owner, start),),
        right=right,
        option_shots=tuple(Shot(owner, frames[place]) for place in chosen),
        action=text,
        states=tuple(numbers(states[frame]) for frame in (start, *(frames[place] for place in chosen))),
        actions=(numbers(action),),
    )


def _told_apart(
    actions: np.ndarray, patterns: np.ndarray, apart: np.ndarray, rules: Rules, *, far: bool
) -> np.ndarray:
    """Whether the text of one of two actions does not fit the other, (n, n). ``far``: it says how far."""
    units = np.abs(actions) / np.asarray(rules.thresholds)
    named = patterns != 0
    plain = (named[:, None] ^ named[None]) & (np.maximum(units[:, None], units[None]) >= PLAINLY)
    against = named[:, None] & named[None] & ((patterns[:, None] != patterns[None]) | far)
    return np.asarray(((plain | against) & apart).any(axis=-1))


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
