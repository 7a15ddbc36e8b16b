"""What is fuzzed: each target makes a case from a random stream, and hands it to whatever reads such a thing."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from fuzz.mutations import Rng


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


OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


class ObeyedError(Exception):
    """Text of a file that a terminal would obey."""


def command(*words: object) -> None:
    """Run a command as the command line does; AssayErrors and usage errors are sound."""
    from assay.cli.app import command_line
    from assay.errors import AssayError

    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        try:
            command_line()([str(word) for word in words], standalone_mode=False)
        except (AssayError, SystemExit):
            pass
        except Exception as error:
            if not hasattr(error, "format_message") and type(error).__name__ != "Exit":
                raise
    if match := OBEYED.search(output.getvalue()):
        around = output.getvalue()[max(match.start() - 60, 0) : match.end() + 60]
        raise ObeyedError(f"{words[:2]}: {around!r}")


def entries() -> Mapping[str, Entry]:
    """All targets, by name; what each needs is imported when it is asked for."""
    from fuzz import data_sets, peers, task_files

    found: dict[str, Entry] = {}
    for kind, several in (
        ("files", {**task_files.TARGETS, **data_sets.TARGETS}),
        ("peers", peers.TARGETS),
    ):
        made: dict[str, Any] = dict(several)
        found |= {name: Entry(kind, target) for name, target in made.items()}
    return found
