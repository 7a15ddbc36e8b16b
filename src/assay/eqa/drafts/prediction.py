"""Which picture an action leads to: four moments of the same episode, at the mid or the low level."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from assay.eqa.actions import described, is_clear, printed, signs
from assay.eqa.drafts.draft import OPTIONS, Draft, Shot, numbers
from assay.eqa.drafts.inference import APART
from assay.eqa.episode import Rules
from assay.eqa.pairs import Prepared
from assay.eqa.question import Kind

BARELY = 1.0
"""Two moments with different labels differ by so many thresholds in at least one dimension."""


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
    units = actions / np.asarray(rules.thresholds)
    order = rng.permutation(len(mine)).tolist()
    chosen = _different(order, (units, BARELY), (patterns, 1)) if kind is Kind.M_SP else []
    how_far = len(chosen) < OPTIONS  # labels alone do not tell the pictures apart
    if how_far:
        chosen = _different(order, (units, APART))
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


def _different(order: Sequence[int], *bounds: tuple[np.ndarray, float]) -> list[int]:
    """Up to four places, taken in order, at which all values differ by a bound in some dimension."""
    chosen: list[int] = []
    for place in order:
        if len(chosen) < OPTIONS and all(
            np.abs(values[place] - values[other]).max() >= least
            for other in chosen
            for values, least in bounds
        ):
            chosen.append(place)
    return chosen
