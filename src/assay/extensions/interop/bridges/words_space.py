"""A Gymnasium space of texts, of any letters and of up to 2,000 bytes.

Not `gymnasium.spaces.Text`: AsyncVectorEnv reads that from shared memory once, before anything was written there, and
gives the same wrong text ever after (Gymnasium 1.4). What is read here are texts as they are when they are looked at.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from typing import Any, overload

import numpy as np
from gymnasium.spaces import Space
from gymnasium.vector.utils import create_shared_memory, read_from_shared_memory, write_to_shared_memory

LONGEST = 2_000
"""Bytes of a text in UTF-8 that is handed over in shared memory; what is longer is cut."""


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


class SharedTexts(Sequence[str]):
    """The texts of several environments, as they are in shared memory when one is looked at; a copy is a tuple."""

    def __init__(self, memory: np.ndarray) -> None:
        """``memory``: bytes, (environments, LONGEST)."""
        self._memory = memory

    def __len__(self) -> int:
        return len(self._memory)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        if isinstance(index, slice):
            return tuple(self)[index]
        return bytes(self._memory[index]).rstrip(b"\0").decode(errors="ignore")

    def __deepcopy__(self, memo: object) -> tuple[str, ...]:
        return tuple(self)


def _rows(shared: Any) -> np.ndarray:
    return np.frombuffer(shared.get_obj(), np.uint8).reshape(-1, LONGEST)


@create_shared_memory.register(WordsSpace)  # type: ignore[untyped-decorator]
def _create(space: WordsSpace, n: int = 1, ctx: Any = multiprocessing) -> Any:
    return ctx.Array("c", n * LONGEST)


@read_from_shared_memory.register(WordsSpace)  # type: ignore[untyped-decorator]
def _read(space: WordsSpace, shared_memory: Any, n: int = 1) -> SharedTexts:
    return SharedTexts(_rows(shared_memory))


@write_to_shared_memory.register(WordsSpace)  # type: ignore[untyped-decorator]
def _write(space: WordsSpace, index: int, value: str, shared_memory: Any) -> None:
    text = value.encode()[:LONGEST].ljust(LONGEST, b"\0")
    _rows(shared_memory)[index] = np.frombuffer(text, np.uint8)
