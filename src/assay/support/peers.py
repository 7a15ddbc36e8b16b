"""Precautions with servers that others operate: language models and policies."""

from __future__ import annotations

from typing import Any

KEY_MASK = "[key]"
"""Text that replaces a key which a server repeats."""


def mask_key(value: Any, key: str | None) -> Any:
    """Return a value in which all texts contain ``[key]`` in place of a key, also those in maps and lists."""
    if not key:
        return value
    match value:
        case str():
            return value.replace(key, KEY_MASK)
        case bytes():
            return value.replace(key.encode(), KEY_MASK.encode())
        case dict():
            return {mask_key(name, key): mask_key(item, key) for name, item in value.items()}
        case list():
            return [mask_key(item, key) for item in value]
    return value


def describe_redirect(place: str) -> str:
    """Return the reason why a server is not used that redirects to another address, the ``Location`` of its reply.

    No redirect is followed: requests contain keys, images and instructions, and the user chose only the first address.
    """
    return f"redirects to {place}; redirects are not followed, so use that address if you trust it"
