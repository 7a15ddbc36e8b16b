"""Fuzz targets: each derives a case from a random stream and passes it to the code that reads such data."""

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
    """A target, which creates its cases in its own folder."""

    def __init__(self, folder: Path) -> None:
        """Create the material for the cases."""

    def known(self) -> int:
        """Number of corpus cases, which run first."""
        ...

    def case(self, number: int, rng: Rng) -> int:
        """Create and read one case; return the number of damaged files or hostile peers.

        Raises AssayError if the case is rejected; any other exception is a defect.
        """
        ...


@dataclass(frozen=True, slots=True)
class Entry:
    """A named target."""

    kind: str
    """``files`` or ``peers``."""
    make: Callable[[Path], Target]
    share: int = 1
    """Weight by which the time is divided among targets."""


OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


class ObeyedError(Exception):
    """A file's text reached the terminal as control characters."""


def command(*words: object) -> None:
    """Run a command as from the command line; AssayErrors and usage errors are allowed."""
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
    """Return all targets by name; their requirements are imported on demand."""
    from fuzz import addresses, data_sets, peers, task_files

    found: dict[str, Entry] = {}
    for kind, several in (
        ("files", {**task_files.TARGETS, **data_sets.TARGETS, "addresses": addresses.Addresses}),
        ("peers", peers.TARGETS),
    ):
        made: dict[str, Any] = dict(several)
        found |= {name: Entry(kind, target) for name, target in made.items()}
    return found
