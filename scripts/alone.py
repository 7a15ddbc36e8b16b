"""Run a command while nobody else runs one with the same lock: ``alone.py LOCK COMMAND...``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows has none; there it is not alone
    fcntl = None  # type: ignore[assignment]

with Path(sys.argv[1]).open("a") as lock:
    if fcntl is not None:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("another set-up is under way: waiting for it", file=sys.stderr, flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
    sys.exit(subprocess.run(sys.argv[2:]).returncode)
