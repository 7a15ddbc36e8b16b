"""Inference latency: the robot's actions while a policy computes, and alignment of late action chunks.

A policy queried at control step t computes for K steps, and its decision takes effect at step t + K. It is not
queried again in between. Time is counted in control steps rather than measured, so equal specs give equal episodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

import numpy as np

from assay.errors import SpecError

if TYPE_CHECKING:
    from assay.episodes.world import World

WhileWaiting = Literal["play", "hold", "align"]
"""Behaviour during inference. ``play``: continue the old chunk until its actions are used up, then hold the arm.
``hold``: hold the arm. ``align``: continue the old chunk, and skip as many actions of the new chunk as were
executed in the meantime.
"""
MOST_LATENCY = 1_000
"""Maximum latency of a policy, in control steps."""


@runtime_checkable
class LookaheadPolicy(Protocol):
    """A policy whose chunks are longer than the executed part; the remaining actions can be used during inference."""

    def foresee(self, observation: Any) -> tuple[np.ndarray, int]:
        """Return all actions of the next chunk, (k, action size), and the number of actions to execute."""
        ...


class Timeline:
    """The actions of an episode, one per control step, with decisions delayed by ``latency`` steps."""

    def __init__(self, world: World, latency: int, while_waiting: WhileWaiting) -> None:
        """Raise SpecError if the world does not support latency."""
        check_latency(world, latency)
        self._world = world
        self._while_waiting = while_waiting
        self._left: list[tuple[np.ndarray, bool]] = []
        self._last: np.ndarray | None = None

    def actions(
        self, chunk: np.ndarray, executed: int, *, absolute: bool, late: int
    ) -> Iterator[tuple[np.ndarray, bool]]:
        """Yield the actions from one decision to the next, each with a flag that is True for an absolute pose.

        ``chunk`` (k, action size) is the decision, available ``late`` steps after the request. ``executed`` of
        its actions are executed, and the remaining ones may be used during the next inference.
        """
        left, self._left = self._left, []  # also if the caller stops here, because the chunk is dropped
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
    """Raise SpecError if a world does not support a latency of ``latency`` control steps."""
    if isinstance(latency, bool) or not isinstance(latency, int) or not 0 <= latency <= MOST_LATENCY:
        raise SpecError(f"latency={latency!r:.40}: expected 0 to {MOST_LATENCY} control steps")
    if latency and world.step_seconds is None:
        raise SpecError(
            f"latency={latency}: in the world '{world.traits.name}' no time passes between actions; expected 0"
        )
