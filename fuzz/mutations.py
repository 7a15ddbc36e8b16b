"""Mutations of files, JSON values and texts."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

CORPUS = Path(__file__).parent / "corpus"
Rng = np.random.Generator


def corpus(name: str) -> list[Any]:
    """Dangerous or previously failing inputs for one kind of file."""
    found: list[Any] = json.loads((CORPUS / f"{name}.json").read_text(encoding="utf-8"))
    return found


HOSTILE_TEXTS: tuple[str, ...] = tuple(corpus("texts"))
NUMBERS: tuple[Any, ...] = (
    *(0, -1, 1, 2**31, -(2**31), 2**63 - 1, -(2**63), 2**64, 10**30, 1e308, -1e308, 5e-324),
    *(float("nan"), float("inf"), -float("inf"), True, False, None),
)


def nested(depth: int) -> list[Any]:
    """Return a deeply nested list."""
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def pick(rng: Rng, values: Sequence[Any]) -> Any:
    """Return one of several values."""
    return values[int(rng.integers(len(values)))]


def value(rng: Rng) -> Any:
    """Return an unexpected JSON value."""
    kinds: tuple[Callable[[], Any], ...] = (
        lambda: pick(rng, NUMBERS),
        lambda: pick(rng, HOSTILE_TEXTS),
        lambda: [pick(rng, NUMBERS) for _ in range(int(rng.integers(4)))],
        lambda: {pick(rng, HOSTILE_TEXTS): pick(rng, NUMBERS)},
        lambda: nested(int(rng.integers(1, 60))),
        lambda: [[], {}, "", "x" * 100_000][int(rng.integers(4))],
    )
    return pick(rng, kinds)()


def spoiled_json(rng: Rng, content: Any, times: int | None = None) -> Any:
    """Return a JSON value with some parts replaced, removed, duplicated or renamed."""
    content = json.loads(json.dumps(content))
    for _ in range(times or int(rng.integers(1, 4))):
        places = list(_places(content))
        if not places:
            return value(rng)
        holder, key = pick(rng, places)
        act = int(rng.integers(5))
        if act == 0:
            del holder[key]
        elif act == 1 and isinstance(holder, dict):
            holder[pick(rng, HOSTILE_TEXTS)] = holder.pop(key)
        elif act == 2 and isinstance(holder, list):
            holder.insert(int(rng.integers(len(holder) + 1)), json.loads(json.dumps(holder[key])))
        else:
            holder[key] = value(rng)
    return content


def _places(content: Any) -> Any:
    """Yield every replaceable part of a JSON value: its container and key."""
    pairs = (
        content.items()
        if isinstance(content, dict)
        else enumerate(content)
        if isinstance(content, list)
        else ()
    )
    for key, inner in list(pairs):
        yield content, key
        yield from _places(inner)


def spoiled_bytes(rng: Rng, content: bytes, times: int | None = None) -> bytes:
    """Return bytes with flipped bits, removed, duplicated, overwritten or swapped pieces, or a missing end."""
    spoiled = bytearray(content)
    for _ in range(times or int(rng.integers(1, 6))):
        if not spoiled:
            return bytes(rng.integers(0, 256, 16, dtype=np.uint8))
        start = int(rng.integers(len(spoiled)))
        stop = min(len(spoiled), start + int(2 ** rng.uniform(0, 9)))
        act = int(rng.integers(8))
        if act <= 2:
            spoiled[start] ^= 1 << int(rng.integers(8))
        elif act == 3:
            del spoiled[start:stop]
        elif act == 4:
            spoiled[start:start] = spoiled[start:stop] * int(rng.integers(1, 4))
        elif act == 5:
            spoiled[start:stop] = bytes([int(pick(rng, (0, 255, 127, 128)))]) * (stop - start)
        elif act == 6:
            spoiled[start:start] = pick(rng, HOSTILE_TEXTS).encode("utf-8", "surrogatepass")
        elif rng.random() < 0.3:
            del spoiled[start:]
    return bytes(spoiled)


def spoiled_text(rng: Rng, content: str) -> str:
    """Return a text with words swapped, duplicated or replaced by hostile ones."""
    words = content.split(" ")
    for _ in range(int(rng.integers(1, 5))):
        place = int(rng.integers(len(words)))
        act = int(rng.integers(4))
        if act == 0:
            words[place] = pick(rng, HOSTILE_TEXTS)
        elif act == 1:
            words.insert(place, words[int(rng.integers(len(words)))])
        elif act == 2:
            words[place] = str(pick(rng, NUMBERS))
        elif len(words) > 1:
            del words[place]
    return " ".join(words)
