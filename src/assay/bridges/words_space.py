"""A Gymnasium space of texts, of any letters and any length.

Not `gymnasium.spaces.Text`: AsyncVectorEnv reads that from shared memory once, before anything was written there, and
gives the same wrong text ever after (Gymnasium 1.4). This one it refuses with shared memory, and says what to do.
"""

from __future__ import annotations

from typing import Any

from gymnasium.spaces import Space


class WordsSpace(Space[str]):
    """Whatever may be said; samples are ``example``."""

    def __init__(self, example: str) -> None:
        super().__init__(dtype=str)
        self.example = example

    @property
    def is_np_flattenable(self) -> bool:
        """It is not."""
        return False

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """The example."""
        return self.example

    def contains(self, x: object) -> bool:
        """Whether it is a text."""
        return isinstance(x, str)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WordsSpace)

    def __repr__(self) -> str:
        return f"WordsSpace({self.example!r})"
