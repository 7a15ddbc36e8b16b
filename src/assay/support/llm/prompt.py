"""What a model is told: words and pictures."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Picture:
    """A PNG file."""

    path: Path
    name: str
    """Stands for its content in the cache: a hash of it, or a name that no other content has."""

    def encoded(self) -> str:
        """The file's bytes in base64."""
        return base64.b64encode(self.path.read_bytes()).decode()


Part = str | Picture


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model is told."""

    system: str
    user: str | tuple[Part, ...]
    """A text; or texts and pictures in turn."""

    @property
    def parts(self) -> tuple[Part, ...]:
        """Texts and pictures in turn."""
        return (self.user,) if isinstance(self.user, str) else self.user
