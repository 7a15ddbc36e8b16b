"""A question before its images are written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from typing import NamedTuple, TypeVar

import numpy as np

from assay.extensions.eqa.question import QuestionKind

T = TypeVar("T")

OPTIONS = 4


class Shot(NamedTuple):
    """One frame of a prepared episode."""

    episode: int
    """Index among the prepared episodes."""
    frame: int


@dataclass(frozen=True, slots=True)
class Draft:
    """A question without its images."""

    kind: QuestionKind
    group: str
    """Scene, episode or instruction for which the options were chosen.

    It must not depend on the choice of the correct option: otherwise a probe trained on other groups learns that
    the correct option of this question is wrong in other groups.
    """
    shots: tuple[Shot, ...]
    """Frames shown before the options."""
    right: int
    """Index of the correct option."""
    options: tuple[str, ...] = ()
    """Texts of the options, if the question asks for an action."""
    option_shots: tuple[Shot, ...] = ()
    """Frames of the options, if the question asks for a state."""
    action: str = ""
    """Action whose outcome is the answer."""
    states: tuple[tuple[float, ...], ...] = ()
    actions: tuple[tuple[float, ...], ...] = ()
    achieved: tuple[bool, ...] = ()

    def arrange(self, right: int, rng: np.random.Generator) -> Draft:
        """Move the correct option to index ``right`` and shuffle the other options."""
        others = iter(rng.permutation([place for place in range(OPTIONS) if place != self.right]).tolist())
        order = [self.right if place == right else next(others) for place in range(OPTIONS)]

        def reorder(values: tuple[T, ...]) -> tuple[T, ...]:
            return tuple(values[place] for place in order) if values else ()

        states, actions = self.states, self.actions
        if self.kind.predicts and states:
            states = (states[0], *reorder(states[1:]))
        if not self.kind.predicts and actions:
            actions = reorder(actions)
        return replace(
            self,
            right=right,
            options=reorder(self.options),
            option_shots=reorder(self.option_shots),
            states=states,
            actions=actions,
            achieved=reorder(self.achieved),
        )


def round_values(values: Sequence[float]) -> tuple[float, ...]:
    """Round values to the stored precision of four decimals, without negative zero."""
    return tuple(round(float(value), 4) + 0.0 for value in values)


def stratified_order(patterns: np.ndarray, owners: Sequence[int], rng: np.random.Generator) -> list[int]:
    """Order sign patterns (n, 7) so that questions cover rare dimensions as often as common ones.

    The order cycles through patterns whose rarest dimension is X, Y, ...; within a dimension, through ``owners``
    (n,), the episode of each pattern. It depends only on the anchor around which options are chosen, never on the
    choice of the correct option: otherwise a component that is correct more often than it occurs among the options
    would leak.
    """
    moved = patterns != 0
    frequency = np.where(moved, moved.sum(axis=0), len(patterns) + 1)
    rarest = frequency.argmin(axis=1) if len(patterns) else np.zeros(0, dtype=int)
    order = rng.permutation(len(patterns))
    names = rng.permutation(np.unique(owners)).tolist()
    rank = {name: place for place, name in enumerate(names)}
    strata = []
    for dimension in range(patterns.shape[1]):
        seen: Counter[int] = Counter()
        turns = {}
        shift = dimension * len(names) // patterns.shape[1]  # each dimension starts with another episode
        for place in order[rarest[order] == dimension].tolist():
            turns[place] = seen[owners[place]], (rank[owners[place]] - shift) % len(names)
            seen[owners[place]] += 1
        strata.append(sorted(turns, key=turns.__getitem__))
    return [place for place in chain(*zip_longest(*strata)) if place is not None]
