"""Read zip archives of numeric arrays without trusting the sizes that they declare."""

from __future__ import annotations

import io
import lzma
import math
import zipfile
import zlib
from pathlib import Path
from typing import BinaryIO

import numpy as np

MAX_MEMBER_BYTES = 256 * 2**20
"""Maximum size of an unpacked file."""
MAX_ARCHIVE_BYTES = 4 * MAX_MEMBER_BYTES
"""Maximum total size of the arrays in an archive."""
DAMAGE = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, NotImplementedError, RuntimeError, EOFError)
"""Exceptions other than ValueError and OSError that reading a damaged archive may raise."""

_HEADER_READERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
"""Readers of array headers by version; version 3.0 is only for field names that are not Latin-1."""


def read_member(archive: zipfile.ZipFile, name: str) -> bytes:
    """Unpack a file of an archive. Raises ValueError if it is missing, damaged or above `MAX_MEMBER_BYTES`."""
    try:
        size = archive.getinfo(name).file_size
    except KeyError:
        raise ValueError(f"it refers to '{name}', which is not in the archive") from None
    if size > MAX_MEMBER_BYTES:
        raise ValueError(f"'{name}' unpacks to {size} bytes, more than the {MAX_MEMBER_BYTES} allowed")
    try:
        with archive.open(name) as member:
            content = member.read(size + 1)
    except DAMAGE as error:
        raise ValueError(str(error) or type(error).__name__) from None
    if len(content) != size:
        raise ValueError(f"the size of '{name}' differs from the declared size")
    return content


def read_npy(content: bytes) -> np.ndarray:
    """Decode an array in numpy's own format, without pickled objects.

    Raises ValueError if the array is invalid, or declares more values than the content holds: numpy would allocate
    the declared size.
    """
    file = io.BytesIO(content)
    version = np.lib.format.read_magic(file)
    read_header = _HEADER_READERS.get(version)
    if read_header is None:
        raise ValueError(f"version {version[0]}.{version[1]} of the array format is not supported")
    try:
        shape, _, dtype = read_header(file)
    except Exception as error:  # the header is a Python literal, so there are many kinds
        raise ValueError(f"its header is damaged: {error}") from None
    needed = math.prod(shape) * max(dtype.itemsize, 1)
    held = len(content) - file.tell()
    if min(shape, default=0) < 0 or needed > held:
        raise ValueError(f"it declares {needed} bytes of numbers but contains {held}")
    file.seek(0)
    array: np.ndarray = np.lib.format.read_array(file, allow_pickle=False)
    return array


def read_npz(file: Path | BinaryIO, *names: str) -> dict[str, np.ndarray]:
    """Return the arrays in an ``.npz`` file, given by its path or open, by name, or only those in ``names``.

    Raises ValueError or OSError if the file cannot be read.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            sizes = {member.filename.removesuffix(".npy"): member.file_size for member in archive.infolist()}
            wanted = [name for name in sizes if not names or name in names]
            if sum(sizes[name] for name in wanted) > MAX_ARCHIVE_BYTES:
                raise ValueError(f"it unpacks to more than the {MAX_ARCHIVE_BYTES} bytes allowed")
            return {name: read_npy(read_member(archive, f"{name}.npy")) for name in wanted}
    except DAMAGE as error:
        raise ValueError(str(error) or type(error).__name__) from None
