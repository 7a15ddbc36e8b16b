"""A Gymnasium space of texts, of any letters and of up to 2,000 bytes.

Not `gymnasium.spaces.Text`: AsyncVectorEnv reads that from shared memory once, before anything was written there, and
gives the same wrong text ever after (Gymnasium 1.4). What is read here are texts as they are when they are looked at.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from multiprocessing.sharedctypes import SynchronizedArray
from typing import Any, overload

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

    def __init__(self, memory: SynchronizedArray[bytes], count: int) -> None:
        self._memory, self._count = memory, count

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        if isinstance(index, slice):
            return tuple(self)[index]
        start = range(self._count)[index] * LONGEST
        return self._memory.get_obj()[start : start + LONGEST].rstrip(b"\0").decode(errors="ignore")

    def __deepcopy__(self, memo: object) -> tuple[str, ...]:
        return tuple(self)


@create_shared_memory.register(WordsSpace)
def _create(space: WordsSpace, n: int = 1, ctx: Any = multiprocessing) -> SynchronizedArray[bytes]:
    made: SynchronizedArray[bytes] = ctx.Array("c", n * LONGEST)
    return made


@read_from_shared_memory.register(WordsSpace)
def _read(space: WordsSpace, shared_memory: SynchronizedArray[bytes], n: int = 1) -> SharedTexts:
    return SharedTexts(shared_memory, n)


@write_to_shared_memory.register(WordsSpace)
def _write(space: WordsSpace, index: int, value: str, shared_memory: SynchronizedArray[bytes]) -> None:
    start = index * LONGEST
    shared_memory.get_obj()[start : start + LONGEST] = value.encode()[:LONGEST].ljust(LONGEST, b"\0")
