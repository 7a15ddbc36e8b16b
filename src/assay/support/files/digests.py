"""Whether files are the same again."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable
from pathlib import Path

from assay.support.files.key_values import KeyValues
from assay.support.files.places import cache_folder

LARGE = 64 * 2**20
"""Bytes from which on the digest of a file is remembered, by its size and the time of its last change."""


def digest_of(files: Iterable[Path], root: Path) -> str:
    """The SHA-256, in hexadecimal, of files: their paths below ``root`` and what is in them, in this order."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.relative_to(root).as_posix()} ".encode() + file.read_bytes())
    return digest.hexdigest()


def digest_of_file(file: Path) -> str:
    """The SHA-256, in hexadecimal, of what is in a file; that of a large one is remembered until it changes."""
    about = file.stat()
    if about.st_size < LARGE:
        return hashlib.sha256(file.read_bytes()).hexdigest()
    key = (str(file.resolve()), str(about.st_size), str(about.st_mtime_ns))
    try:
        known = KeyValues(
            cache_folder() / "digests.sqlite", "digests", ("file", "size", "changed"), ("digest",)
        )
    except (OSError, sqlite3.Error):  # what cannot be remembered is read again
        return _read(file)
    try:
        if (row := known.get(*key)) is not None:
            return str(row[0])
        found = _read(file)
        known.put(*key, found)
        return found
    finally:
        known.close()


def _read(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
