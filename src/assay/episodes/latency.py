"""Decisions that come late: what the robot does while a policy thinks, and of which actions a late chunk consists.

A policy is asked at control step t and thinks for K steps; what it decided takes effect at step t + K. Meanwhile it is
not asked again. Time is counted in control steps, not by a clock, so the same spec gives the same episode.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args, runtime_checkable

import numpy as np

from assay.errors import SpecError

if TYPE_CHECKING:
    from assay.episodes.world import World

WhileWaiting = Literal["play", "hold", "align"]
"""What happens while a policy thinks: the old chunk plays on, as long as it has actions, and then the arm holds; the
arm holds; or the old chunk plays on, and as many actions as it played are skipped of the new one."""
WAYS: tuple[WhileWaiting, ...] = get_args(WhileWaiting)
MOST_LATENCY = 1_000
"""The most control steps that a policy may think."""


@runtime_checkable
class LookaheadPolicy(Protocol):
    """A policy whose chunks are longer than what it wants executed of them: the rest can play on while it thinks."""

    def foresee(self, observation: Any) -> tuple[np.ndarray, int]:
        """All actions of its next chunk, (k, action size), and how many of them it wants executed."""
        ...


class Timeline:
    """The actions of an episode, one for each control step, whose decisions come ``latency`` steps late."""

    def __init__(self, world: World, latency: int, while_waiting: WhileWaiting) -> None:
        """Raises SpecError where the world cannot wait."""
        check_latency(world, latency)
        self._world = world
        self._while_waiting = while_waiting
        self._left: list[tuple[np.ndarray, bool]] = []
        self._last: np.ndarray | None = None

    def actions(
        self, chunk: np.ndarray, executed: int, *, absolute: bool, late: int
    ) -> Iterator[tuple[np.ndarray, bool]]:
        """What is done from a decision until the next, and whether each action is a pose to go to.

        ``chunk`` (k, action size) is what was decided, of which ``executed`` are done, ``late`` steps after it was
        asked for; what the chunk has beyond them may play on while the next decision is made.
        """
        left, self._left = self._left, []  # gone too where whoever steps stops here: a chunk that is dropped
        played = 0
        for _ in range(late):
            if left and self._while_waiting != "hold":
                command = left.pop(0)
                played += 1
            else:
                command = (self._world.holding(self._last), False)
            self._last = command[0]
            yield command
        first = min(played, len(chunk) - 1) if self._while_waiting == "align" else 0
        rest = first + executed
        for action in chunk[first:rest]:
            self._last = action
            yield action, absolute
        self._left = [(action, absolute) for action in chunk[rest:]]


def check_latency(world: World, latency: int) -> None:
    """Raise SpecError if a policy cannot have a latency of ``latency`` control steps in a world."""
    if isinstance(latency, bool) or not isinstance(latency, int) or not 0 <= latency <= MOST_LATENCY:
        raise SpecError(f"latency={latency!r:.40}: valid: 0 to {MOST_LATENCY} control steps")
    if latency and world.step_seconds is None:
        raise SpecError(
            f"latency={latency}: no time passes between the actions of the world '{world.traits.name}'; valid: 0"
        )
