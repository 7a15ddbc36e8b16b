"""Ends the processes of a Ray of our own when the driver that started it is killed; on Linux.

Ray's servers end at once with the driver, and the workers and agents that they have started some time after that: ten
seconds and more on a busy machine. A small process of its own notes who they are while the driver lives, and ends them
when it is gone. It knows them by their descent; and those that began after its latest look by a variable that they have
inherited, which the others have written over: a process that names itself does so there. It is a script, with nothing
of Assay's: it starts in a moment.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

SERVERS = ("raylet", "gcs_server")
"""The names of Ray's processes that the driver starts; all others are their descendants."""
OFTEN = 0.5
"""Seconds between two looks."""
VARIABLE = "ASSAY_RAY_OF"
"""The variable by which processes of a Ray are known: whose it is."""

Process = tuple[int, int]
"""Its number, and when it began: numbers are used again."""


class RayGuard:
    """Watches over a Ray that this process starts, from before it starts until `dismiss`."""

    def __init__(self) -> None:
        self._guard: subprocess.Popen[bytes] | None = None
        self._whose = f"{os.getpid()}-{time.time_ns()}"
        if sys.platform == "linux":
            self._guard = subprocess.Popen(
                [sys.executable, "-I", "-S", __file__, str(os.getpid()), self._whose],
                stdin=subprocess.PIPE,
                start_new_session=True,  # Ctrl-C is for the driver, which dismisses it
            )

    @contextmanager
    def starting(self) -> Iterator[None]:
        """While Ray is started: what is started now is known by a variable."""
        os.environ[VARIABLE] = self._whose
        try:
            yield
        finally:
            os.environ.pop(VARIABLE, None)

    def dismiss(self) -> None:
        """Ray was shut down, or there is none."""
        if self._guard is not None and self._guard.stdin is not None:
            with suppress(OSError):  # somebody killed it
                self._guard.stdin.write(b".")
                self._guard.stdin.close()
            self._guard.wait()
            self._guard = None


def watch(driver: int, whose: str) -> None:
    """Note who belongs to the driver's Ray; when the driver is gone and has not said that all is well, end them."""
    known: set[Process] = set()
    while not select.select([sys.stdin], [], [], OFTEN)[0]:
        known = belonging(driver, known)
    if not os.read(sys.stdin.fileno(), 1):
        for number, began in belonging(driver, known) | _inheriting(whose):
            if _began(number) == began:
                with suppress(OSError):
                    os.kill(number, signal.SIGKILL)


def _inheriting(whose: str) -> set[Process]:
    """Who has the variable, with that value."""
    wanted, found = f"{VARIABLE}={whose}".encode(), set()
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            with suppress(OSError):
                if wanted in (folder / "environ").read_bytes().split(b"\0"):
                    found.add((int(folder.name), _began(int(folder.name)) or 0))
    return found


def belonging(driver: int, known: set[Process]) -> set[Process]:
    """Ray's servers that a process started, and all who descend from them or from those who are known to."""
    there: dict[int, tuple[str, int, int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal() and (found := _stat(int(folder.name))):
            there[int(folder.name)] = found
    numbers = {number for number, began in known if number in there and there[number][2] == began}
    numbers |= {number for number, (name, parent, _) in there.items() if parent == driver and name in SERVERS}
    while more := {number for number, (_, parent, _) in there.items() if parent in numbers} - numbers:
        numbers |= more
    return {(number, there[number][2]) for number in numbers}


def _began(number: int) -> int | None:
    return found[2] if (found := _stat(number)) else None


def _stat(number: int) -> tuple[str, int, int] | None:
    """The name of a process, its parent, and when it began, in ticks of the system's clock; None where it is gone."""
    try:
        text = Path(f"/proc/{number}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    name, _, rest = text.partition("(")[2].rpartition(")")
    fields = rest.split()
    return name, int(fields[1]), int(fields[19])


if __name__ == "__main__":
    watch(int(sys.argv[1]), sys.argv[2])
