"""Whether files are the same again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path


def digest_of(files: Iterable[Path], root: Path) -> str:
    """The SHA-256, in hexadecimal, of files: their paths below ``root`` and what is in them, in this order."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.relative_to(root).as_posix()} ".encode() + file.read_bytes())
    return digest.hexdigest()
