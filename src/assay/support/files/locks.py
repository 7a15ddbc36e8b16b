"""Locks for one process at a time. The system lets go of one when its process ends, however that happens.

A file stands for each lock. It may be left over by a process that was killed: what counts is whether somebody
holds it, not whether it is there.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout, lock_descriptor

PATIENCE = 0.3
"""Seconds after which a lock counts as held: longer than ``is_locked`` takes, which holds it for a moment."""


@contextmanager
def locked(file: Path, patience: float = PATIENCE) -> Iterator[None]:
    """Hold a lock. Raises BlockingIOError where another process, or another place in this one, does so for long.

    Raises another OSError where there can be no such file.

    ``patience``: for how many seconds.
    """
    lock = FileLock(
        file, patience, thread_local=False, poll_interval=PATIENCE / 10, fallback_to_soft=False
    )  # not a soft lock: that outlives a process that is killed
    try:
        lock.acquire()
    except Timeout:
        if not file.exists():  # it was tried again and again
            raise PermissionError(errno.EACCES, "no file can be made there", str(file)) from None
        raise BlockingIOError(f"{file} is held by another process") from None
    try:
        yield
    finally:
        with suppress(OSError):  # while it is held: who opened it meanwhile sees that it is gone
            file.unlink()
        lock.release()


def is_locked(file: Path) -> bool:
    """Whether somebody holds a lock. Nothing is written; a file that cannot be opened counts as held."""
    try:
        with file.open("rb") as opened:
            return not lock_descriptor(opened.fileno(), blocking=False)
    except FileNotFoundError:
        return False
    except OSError:
        return True
