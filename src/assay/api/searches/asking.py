"""What a search asks of whoever plays episodes: a procedure knows neither specs nor workers.

A procedure is a generator. It yields what is to be certified or played and is sent what came of it, so that the same
code is driven by a run and by a simulation.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass

Setting = tuple[tuple[str, int], ...]
"""Axes and the rungs of their ladders, from 0; empty for the control."""
Item = tuple[int, Setting]
"""A seed, and what is changed."""
UNCHANGED: Setting = ()


@dataclass(frozen=True, slots=True)
class Certify:
    """Which of these can be solved, and their controls? Answered with the set of those."""

    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Play:
    """What comes of these? Answered with success by item; None where an episode broke."""

    items: tuple[Item, ...]
    fresh: bool = False
    """Whether they are to confirm what was found on other starts."""


Asked = Certify | Play
Answer = frozenset[Item] | dict[Item, bool | None]
Procedure = Generator[Asked, Answer, None]


def certified(items: tuple[Item, ...]) -> Generator[Asked, Answer, frozenset[Item]]:
    """Ask which of some items can be solved."""
    answer = yield Certify(items)
    assert isinstance(answer, frozenset)
    return answer


def played(
    items: tuple[Item, ...], *, fresh: bool = False
) -> Generator[Asked, Answer, dict[Item, bool | None]]:
    """Ask what comes of some items."""
    answer = yield Play(items, fresh)
    assert isinstance(answer, dict)
    return answer


def settle(
    procedure: Procedure,
    succeeds: Callable[[Item], bool | None],
    solvable: Callable[[Item], bool] = lambda item: True,
) -> int:
    """Drive a procedure by rules: what succeeds, what can be solved; returns how many episodes it asked for."""
    seen: set[Item] = set()
    answer: Answer | None = None
    try:
        while True:
            asked = next(procedure) if answer is None else procedure.send(answer)
            if isinstance(asked, Certify):
                answer = frozenset(filter(solvable, asked.items))
            else:
                seen.update(asked.items)
                answer = {item: succeeds(item) for item in asked.items}
    except StopIteration:
        return len(seen)
