"""The instruction given to a policy."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Instruction:
    """A text. Worlds whose instructions contain images derive their own class from this one."""

    text: str

    @property
    def words(self) -> str:
        """The instruction in words alone, as it is recorded and reported."""
        return self.text

    def __str__(self) -> str:
        return self.text
