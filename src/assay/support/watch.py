"""Kills all processes with an entry in their environment, and their descendants, when standard input is closed.

A separate program that needs only the standard library, so that it starts in milliseconds. Its argument is the entry;
standard input is a pipe from the process that starts it, and is also closed when that process is killed. A message in
the pipe means that nothing is to be killed.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

POLL_S = 0.1
"""Interval between searches for processes, in seconds."""
EMPTY_SEARCHES = 2
"""Number of consecutive searches without a result that end the program: a process in exec has no environment."""


def processes_with(entry: bytes) -> set[int]:
    """Return the ids of the processes with an entry in their environment, and of their descendants; Linux only."""
    ids, parents = set(), {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # the process has ended, or belongs to another user
            parents[int(folder.name)] = int((folder / "stat").read_bytes().rpartition(b")")[2].split()[1])
            if entry in (folder / "environ").read_bytes().split(b"\0"):
                ids.add(int(folder.name))
    # A process may have replaced its environment, so its descent counts as well.
    while more := {child for child, parent in parents.items() if parent in ids} - ids:
        ids |= more
    return ids


if __name__ == "__main__" and not sys.stdin.buffer.read():
    searches = 0
    while searches < EMPTY_SEARCHES:
        processes = processes_with(os.fsencode(sys.argv[1]))
        searches = 0 if processes else searches + 1
        for process in processes:
            with suppress(OSError):
                os.kill(process, signal.SIGKILL)
        time.sleep(POLL_S)
