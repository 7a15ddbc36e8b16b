"""Task files inside tar archives, read in memory: nothing is ever unpacked onto the disk.

An archive may be hostile, so everything is bounded: how much is unpacked in all, how much is read in one
piece, how many members are looked at.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

from assay.errors import TaskError
from assay.tasks.bddl.reader import MAX_BYTES

MAX_UNPACKED = 8_000_000_000
"""How many bytes an archive may unpack to."""
MAX_MEMBERS = 200_000
"""How many members an archive may have: tarfile keeps all of them in memory."""

_ENDINGS = (".tar", ".tgz", ".tbz2", ".txz")


def is_archive(path: Path) -> bool:
    """Whether a file is called like a tar archive: ``.tar``, ``.tar.gz``, ``.tgz``, ..."""
    name = path.name.lower()
    return name.endswith(_ENDINGS) or Path(name).with_suffix("").suffix == ".tar"


def task_files(path: Path) -> Iterator[tuple[str, bytes]]:
    """The ``.bddl`` files in an archive: name and content, cut off just above the allowed size.

    Raises TaskError if it is not an archive that can be read, or too large.
    """
    try:
        with path.open("rb") as raw, _unpacked(raw) as stream:
            yield from _members(cast(IO[bytes], _Bounded(stream)))
    except _OutOfBounds as error:
        raise TaskError(str(error)) from None
    except (tarfile.TarError, EOFError, OSError, zlib.error, lzma.LZMAError, ValueError) as error:
        raise TaskError(f"cannot be read as a tar archive: {' '.join(str(error).split())}") from None


def _unpacked(raw: IO[bytes]) -> IO[bytes]:
    """The stream inside a compressed one, told by its first bytes."""
    start = raw.read(6)
    raw.seek(0)
    if start.startswith(b"\x1f\x8b"):
        return cast(IO[bytes], gzip.GzipFile(fileobj=raw))
    if start.startswith(b"BZh"):
        return bz2.BZ2File(raw)
    if start == b"\xfd7zXZ\0":
        return lzma.LZMAFile(raw)
    if start.startswith(b"\x28\xb5\x2f\xfd"):
        raise TaskError("is packed with zstd, which is not supported: unpack it first")
    return raw


def _members(stream: IO[bytes]) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(fileobj=stream, mode="r:") as archive:
        for count, member in enumerate(archive):
            if count == MAX_MEMBERS:
                raise _OutOfBounds(f"has more than {MAX_MEMBERS:,} members")
            if not member.isreg() or member.issparse() or not member.name.lower().endswith(".bddl"):
                continue
            content = archive.extractfile(member)
            if content is not None:
                yield member.name, content.read(MAX_BYTES + 1)


class _OutOfBounds(Exception):  # noqa: N818
    """An archive asks for more than it may have."""


class _Bounded(io.RawIOBase):
    """A stream that refuses to hand out too much, in one piece or in all."""

    def __init__(self, inner: IO[bytes]) -> None:
        self._inner = inner

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._inner.tell()

    def seek(self, position: int, whence: int = io.SEEK_SET) -> int:
        if whence == io.SEEK_SET and position > MAX_UNPACKED:
            raise _OutOfBounds(f"unpacks to more than {MAX_UNPACKED:,} bytes")
        return self._inner.seek(position, whence)

    def read(self, size: int | None = -1) -> bytes:
        # tarfile reads long names and the like whole: without a bound, one header could fill the memory.
        if size is None or size < 0 or size > 2 * MAX_BYTES:
            raise _OutOfBounds("has a header that is too large")
        return self._inner.read(size)
