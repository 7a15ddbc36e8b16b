"""A question before its pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import numpy as np

from assay.extensions.eqa.question import Kind

T = TypeVar("T")

OPTIONS = 4


class Shot(NamedTuple):
    """A moment of a prepared episode."""

    episode: int
    """Its place among the prepared ones."""
    frame: int


@dataclass(frozen=True, slots=True)
class Draft:
    """Everything but the pictures and the place of the right option."""

    kind: Kind
    group: str
    """What the options were chosen around. It must not hang on which of them is right: else a probe that
    learns from other groups learns that what is right here is wrong elsewhere."""
    shots: tuple[Shot, ...]
    """What is shown before the options."""
    right: int
    """The place of the right option, from 0."""
    options: tuple[str, ...] = ()
    """Texts, where an action is asked for."""
    option_shots: tuple[Shot, ...] = ()
    """Moments, where a state is asked for."""
    action: str = ""
    """What a state is to be predicted from."""
    states: tuple[tuple[float, ...], ...] = ()
    actions: tuple[tuple[float, ...], ...] = ()
    achieved: tuple[bool, ...] = ()

    def arranged(self, right: int, rng: np.random.Generator) -> Draft:
        """The same with the right option at a given place and the others in any order."""
        others = iter(rng.permutation([place for place in range(OPTIONS) if place != self.right]).tolist())
        order = [self.right if place == right else next(others) for place in range(OPTIONS)]
        states, actions = self.states, self.actions
        if self.kind.predicts and states:
            states = (states[0], *_in_order(states[1:], order))
        if not self.kind.predicts and actions:
            actions = _in_order(actions, order)
        return replace(
            self,
            right=right,
            options=_in_order(self.options, order),
            option_shots=_in_order(self.option_shots, order),
            states=states,
            actions=actions,
            achieved=_in_order(self.achieved, order),
        )


def numbers(values: Sequence[float]) -> tuple[float, ...]:
    """Figures as they are stored: a tenth of a millimetre, a ten-thousandth of a degree."""
    return tuple(round(float(value), 4) + 0.0 for value in values)


def _in_order(values: tuple[T, ...], order: list[int]) -> tuple[T, ...]:
    return tuple(values[place] for place in order) if values else ()
