"""Random streams that depend on names and numbers only, never on global state or the order of execution."""

from __future__ import annotations

import hashlib

import numpy as np


def stream(*key: str | int) -> np.random.Generator:
    """The random stream of a key, e.g. ``stream(7, "layout", "plate_1")``.

    Equal keys give equal streams in any process on any machine; different keys give independent ones.
    """
    digest = hashlib.sha256("\x1f".join(f"{type(part).__name__}:{part}" for part in key).encode()).digest()
    return np.random.Generator(np.random.PCG64(np.frombuffer(digest, dtype=np.uint32).tolist()))
