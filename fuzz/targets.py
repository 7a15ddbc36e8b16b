"""What is fuzzed: each target makes a case from a random stream, and hands it to whatever reads such a thing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from fuzz.mutations import Rng

SHARES = {"run-files": 5}
"""Targets that get more time than others: each of their files is read in several ways, most of them whole commands."""


class Target(Protocol):
    """Makes cases in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        """Make what the cases begin with."""

    def known(self) -> int:
        """How many cases of the corpus there are: the first ones."""
        ...

    def case(self, number: int, rng: Rng) -> int:
        """Make and read one case; returns how many files were spoiled, or peers were hostile.

        Raises AssayError where it is refused, and whatever else is a defect.
        """
        ...


@dataclass(frozen=True, slots=True)
class Entry:
    """A target by its name."""

    kind: str
    """``files`` or ``peers``."""
    make: Callable[[Path], Target]
    share: int = 1
    """How many parts of the time it gets."""


def entries() -> Mapping[str, Entry]:
    """All targets, by name; what each needs is imported when it is asked for."""
    from fuzz import data_sets, peers, run_files, task_files

    found: dict[str, Entry] = {}
    for kind, several in (
        ("files", {"run-files": run_files.RunFiles, **task_files.TARGETS, **data_sets.TARGETS}),
        ("peers", peers.TARGETS),
    ):
        made: dict[str, Any] = dict(several)
        found |= {name: Entry(kind, target, SHARES.get(name, 1)) for name, target in made.items()}
    return found
