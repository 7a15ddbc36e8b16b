"""The instruction given to a policy."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Instruction:
    """A text instruction. Worlds whose instructions contain images derive a subclass."""

    text: str

    @property
    def words(self) -> str:
        """Text of the instruction, as recorded and reported."""
        return self.text

    def __str__(self) -> str:
        return self.text
