"""Random streams that depend only on names and numbers, never on global state or the order of execution."""

from __future__ import annotations

import hashlib
import operator

import numpy as np


def stream(*key: str | int) -> np.random.Generator:
    """Return the random stream for a key, e.g. ``stream(7, "layout", "plate_1")``.

    Equal keys give equal streams in any process on any machine; different keys give independent ones.
    """
    texts = [f"s{part}" if isinstance(part, str) else f"i{operator.index(part)}" for part in key]
    digest = hashlib.sha256("".join(f"{len(text)}:{text}" for text in texts).encode()).digest()
    return np.random.Generator(np.random.PCG64(np.frombuffer(digest, dtype="<u4").tolist()))
