"""Read Parquet files of others in a child process.

Polars aborts the process if a damaged or malicious file declares more values than fit into memory, and prints panics.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from functools import lru_cache
from multiprocessing.util import Finalize
from pathlib import Path

import polars as pl

from assay.errors import one_line
from assay.support import processes

MAX_TABLE_BYTES = 2**30
"""Maximum size of a table in memory."""
_MAX_PROCESS_BYTES = 6 * MAX_TABLE_BYTES
"""Maximum address space of the child process, including the libraries."""


def read_parquet(path: Path, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """Return the given columns of a file, or of several files if the path is a pattern; by default all.

    Raises ValueError if a file cannot be read.
    """
    try:
        content = _reader(os.getpid()).submit(_read, str(path), columns, MAX_TABLE_BYTES).result()
    except BrokenProcessPool:
        _reader.cache_clear()
        raise ValueError(f"{path} is damaged, or needs too much memory") from None
    return pl.read_ipc(io.BytesIO(content))


@lru_cache(maxsize=1)
def _reader(process: int) -> ProcessPoolExecutor:
    """Return the pool of this process; a forked process needs its own."""
    pool = processes.pool(1, _confine)
    # A child process waits for its own children when it ends, but first closes the queues that would end them.
    Finalize(None, pool.shutdown, exitpriority=100)
    return pool


def _confine() -> None:
    """Limit the memory of this process, and discard what polars prints when it fails."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
    with suppress(ImportError, OSError, ValueError):  # not available on all systems
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MAX_PROCESS_BYTES, _MAX_PROCESS_BYTES))


def _read(path: str, columns: Sequence[str] | None, most: int) -> bytes:
    """Return columns of Parquet files in the IPC format of Arrow."""
    try:
        frame = pl.scan_parquet(path).select(columns or pl.all()).collect()
    except BaseException as error:  # includes panics
        raise ValueError(f"{path}: {one_line(error)}") from None
    if frame.estimated_size() > most:
        raise ValueError(f"{path} needs more than the {most} bytes of memory allowed")
    content = io.BytesIO()
    frame.write_ipc(content)
    return content.getvalue()
