"""Which action lies between two pictures: four that really happened, at the mid or the low level."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from assay.extensions.eqa.actions import SIZE, described, gaps, is_clear, printed, signs
from assay.extensions.eqa.drafts.draft import OPTIONS, Draft, Shot, numbers
from assay.extensions.eqa.drafts.strata import in_turn
from assay.extensions.eqa.episode import Rules
from assay.extensions.eqa.pairs import Prepared
from assay.extensions.eqa.question import Kind

APART = 1.5
"""Two actions in figures differ by so many thresholds in at least one dimension."""
MOST_PAIRS = 12_000
"""Of larger data sets, so many pairs, drawn at random, are enough to choose from."""

Pattern = tuple[int, ...]


class Pool:
    """All pairs of a data set."""

    def __init__(self, prepared: Sequence[Prepared], rng: np.random.Generator) -> None:
        self._prepared = prepared
        owners = np.repeat(np.arange(len(prepared)), [len(each.pairs) for each in prepared])
        keep = rng.permutation(len(owners))[:MOST_PAIRS]
        self.owners = owners[keep]
        self.pairs = np.concatenate([np.zeros((0, 2), int), *(each.pairs for each in prepared)])[keep]
        self.actions = np.concatenate([np.zeros((0, SIZE)), *(each.actions for each in prepared)])[keep]

    def draft(
        self,
        kind: Kind,
        anchor: int,
        pair: int,
        right: int,
        options: Sequence[str],
        actions: Sequence[Sequence[float]],
    ) -> Draft:
        """A question about a pair, whose options were chosen around an anchor."""
        owner, (first, second) = int(self.owners[pair]), self.pairs[pair].tolist()
        states = self._prepared[owner].episode.states
        return Draft(
            kind,
            group=self._prepared[self.owners[anchor]].group,
            shots=(Shot(owner, first), Shot(owner, second)),
            right=right,
            options=tuple(options),
            states=tuple(numbers(states[frame]) for frame in (first, second)),
            actions=tuple(numbers(action) for action in actions),
        )


def mid_inference(prepared: Sequence[Prepared], rules: Rules, rng: np.random.Generator) -> Iterator[Draft]:
    """Sign combinations of one pair's components, of those that occur; no pair is asked about twice."""
    pool = Pool(prepared, rng)
    moved = signs(pool.actions, rules.thresholds)
    patterns = [tuple(pattern) for pattern in moved.tolist()]
    clear = np.flatnonzero(is_clear(pool.actions, rules.thresholds))
    unused: defaultdict[Pattern, dict[Pattern, list[int]]] = defaultdict(lambda: defaultdict(list))
    for pair in clear.tolist():
        unused[_components(patterns[pair])][patterns[pair]].append(pair)
    for anchor in clear[in_turn(moved[clear], pool.owners[clear].tolist(), rng)].tolist():
        mine = patterns[anchor]
        by_pattern = unused[_components(mine)]
        others = [each for each, pairs in sorted(by_pattern.items()) if pairs and each != mine]
        if not by_pattern[mine] or len(others) < OPTIONS - 1:
            continue
        places = rng.choice(len(others), OPTIONS - 1, replace=False)
        chosen = [mine, *(others[place] for place in places)]
        right = int(rng.integers(OPTIONS))
        pair = by_pattern[chosen[right]].pop()
        yield pool.draft(Kind.M_AI, anchor, pair, right, [described(each) for each in chosen], chosen)


def _components(pattern: Pattern) -> Pattern:
    return tuple(abs(sign) for sign in pattern)


def low_inference(prepared: Sequence[Prepared], rules: Rules, rng: np.random.Generator) -> Iterator[Draft]:
    """An action and what is nearest, of all that occurs, to its relatives; no pair is an option twice."""
    pool = Pool(prepared, rng)
    units = pool.actions / np.asarray(rules.thresholds)
    free = np.ones(len(units), dtype=bool)
    for anchor in in_turn(signs(pool.actions, rules.thresholds), pool.owners.tolist(), rng):
        if not free[anchor]:
            continue
        chosen = [anchor]
        allowed = free.copy()
        for relative in _relatives(units[anchor], rng):
            apart = gaps(pool.actions, pool.actions[chosen[-1]], rules.thresholds)
            allowed &= apart.max(axis=1) >= APART
            if not allowed.any():
                break
            distance = np.where(allowed, ((units - relative) ** 2).sum(axis=1), np.inf)
            chosen.append(int(distance.argmin()))
        if len(chosen) == OPTIONS:
            free[chosen] = False
            right = int(rng.integers(OPTIONS))
            actions = pool.actions[chosen]
            yield pool.draft(
                Kind.L_AI,
                anchor,
                chosen[right],
                right,
                [printed(action) for action in actions],
                actions.tolist(),
            )


def _relatives(action: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
    """An action (7,) in thresholds with its dominant axis turned round, left out, and exchanged."""
    dominant = int(np.abs(action).argmax())
    turned, without, exchanged = action.copy(), action.copy(), action.copy()
    turned[dominant] *= -1.0
    without[dominant] = 0.0
    kin = range(3) if dominant < 3 else range(3, 6)  # metres for metres, degrees for degrees
    other = int(rng.choice([axis for axis in kin if axis != dominant]))
    exchanged[[dominant, other]] = exchanged[[other, dominant]]
    return [turned, without, exchanged]
