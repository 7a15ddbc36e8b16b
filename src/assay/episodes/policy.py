"""The interface of policies.

A `Policy` has two methods. It may also have ``attach`` (see `Privileged`) and these optional members:

    note: str                    reason why the episode failed, as a sentence
    metadata: dict[str, str]     stored with the run: a checkpoint's hash, ...
    inference_ms: list[float]    duration of each decision of the episode, milliseconds; measured if missing
    waiting: int                 initial steps to wait until objects have settled; not counted
    absolute: bool               whether its actions are absolute poses, not differences
    instruct(instruction)        called instead of `reset` if the instruction changes during an episode; return True to
                                 drop the rest of the current chunk and be queried at once
    episode_ended(episode)       called with the finished `Episode`; exceptions are ignored
    close()                      called after the last episode
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np

from assay.episodes.spec import EpisodeSpec


class Policy(Protocol):
    """Interface of a policy, which maps observations to actions."""

    def reset(self, instruction: Any, spec: EpisodeSpec) -> None:
        """Start an episode; ``instruction`` is an `Instruction`, and ``spec`` contains the task and the seed.

        Called again during an episode if the instruction changes and the policy has no ``instruct`` method. A policy
        should seed its randomness with ``spec.seed``, the only value that varies if the initial state is fixed.
        """
        ...

    def act(self, observation: Any) -> np.ndarray:
        """Return the next k actions, (k, action size), k >= 1; the world defines observations and actions.

        In LIBERO's world an action has shape (7,): translation, rotation and gripper (above 0 closes), in [-1, 1].
        """
        ...


@runtime_checkable
class Privileged(Protocol):
    """A policy with access to the simulator's state; the environment is attached before each reset."""

    def attach(self, env: Any) -> None:
        """Receive the environment of the next episode, with its task and simulation."""
        ...
