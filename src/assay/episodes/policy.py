"""The interface of policies.

A `Policy` has two methods. It may have the methods of `Listening`, `Informed` and `Privileged` besides, and say of
itself, in attributes that are read where they are there:

    note: str                    why the episode failed, in a sentence
    metadata: dict[str, str]     kept with the run: a checkpoint's hash, ...
    inference_ms: list[float]    how long each decision of the episode took, milliseconds; otherwise it is timed
    waiting: int                 steps at the start for which it waits until things have settled; they do not count
    absolute: bool               whether its actions are places to go to, not differences
    close()                      is called when no more episodes come
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np

from assay.episodes.instruction import Instruction
from assay.episodes.spec import EpisodeSpec


class Policy(Protocol):
    """Acts on observations."""

    def reset(self, instruction: Any, spec: EpisodeSpec) -> None:
        """Begin an episode; ``instruction`` is an `Instruction`, ``spec`` tells the task and the seed.

        Called again during an episode where the instruction changes and there is no method `Listening.instruct`.
        What a policy draws, it draws by ``spec.seed``: where a start is held, that alone varies.
        """
        ...

    def act(self, observation: Any) -> np.ndarray:
        """The next k actions, (k, action size), k >= 1; the world says what its observations and actions are.

        In LIBERO's world an action is (7,): translation, rotation, gripper (above 0 closes), in [-1, 1].
        """
        ...


class Listening(Protocol):
    """A policy that need not begin anew when an event changes its instruction during an episode."""

    def instruct(self, instruction: Any) -> bool | None:
        """Go on with another instruction.

        True drops what is left of the chunk that is being executed, and `act` is asked at once; otherwise the
        chunk is executed to its end, and the next request has the new instruction.
        """
        ...


class Informed(Protocol):
    """A policy that wants to know how its episodes end."""

    def episode_ended(self, episode: Any) -> None:
        """Called with the finished `Episode`; exceptions are ignored."""
        ...


@runtime_checkable
class Privileged(Protocol):
    """A policy that may see the simulator's state; it is attached before it is reset."""

    def attach(self, env: Any) -> None:
        """Take the environment of the episode to come: its task, its simulation."""
        ...


__all__ = ["EpisodeSpec", "Informed", "Instruction", "Listening", "Policy", "Privileged"]
