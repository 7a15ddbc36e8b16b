"""A Gymnasium space of texts of up to 2,000 bytes.

`gymnasium.spaces.Text` cannot be used: AsyncVectorEnv reads it from shared memory once, before anything was written
there, and returns the same wrong text ever after (Gymnasium 1.4). Here the shared memory is decoded on each access.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from typing import Any, overload

import numpy as np
from gymnasium.spaces import Space
from gymnasium.vector.utils import create_shared_memory, read_from_shared_memory, write_to_shared_memory

MAX_TEXT_BYTES = 2_000
"""Maximum size of a text in shared memory, UTF-8; longer texts are truncated."""


class InstructionSpace(Space[str]):
    """The space of all strings; every sample is ``example``."""

    def __init__(self, example: str) -> None:
        super().__init__(dtype=str)
        self.example = example

    @property
    def is_np_flattenable(self) -> bool:
        """Whether values can be flattened to arrays: always False."""
        return False

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """Return the example."""
        return self.example

    def contains(self, x: object) -> bool:
        """Return whether ``x`` is a string."""
        return isinstance(x, str)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, InstructionSpace)

    def __repr__(self) -> str:
        return f"InstructionSpace({self.example!r})"


class SharedTexts(Sequence[str]):
    """Texts of several environments, decoded from shared memory on access; a deep copy is a tuple."""

    def __init__(self, memory: np.ndarray) -> None:
        """``memory``: uint8, (environments, MAX_TEXT_BYTES)."""
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
    return np.frombuffer(shared.get_obj(), np.uint8).reshape(-1, MAX_TEXT_BYTES)


@create_shared_memory.register(InstructionSpace)  # type: ignore[untyped-decorator]
def _create(space: InstructionSpace, n: int = 1, ctx: Any = multiprocessing) -> Any:
    return ctx.Array("c", n * MAX_TEXT_BYTES)


@read_from_shared_memory.register(InstructionSpace)  # type: ignore[untyped-decorator]
def _read(space: InstructionSpace, shared_memory: Any, n: int = 1) -> SharedTexts:
    return SharedTexts(_rows(shared_memory))


@write_to_shared_memory.register(InstructionSpace)  # type: ignore[untyped-decorator]
def _write(space: InstructionSpace, index: int, value: str, shared_memory: Any) -> None:
    text = value.encode()[:MAX_TEXT_BYTES].ljust(MAX_TEXT_BYTES, b"\0")
    _rows(shared_memory)[index] = np.frombuffer(text, np.uint8)
