"""Readable description of a run's provenance."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

FIRST = ("experiment", "conditions", "policy", "label", "settings", "world", "pack")
"""Metadata values that are listed first."""
MAX_LISTED = 10
"""Maximum number of items in a list that is shown in full; of a longer list, only the length is shown."""
_DIGEST = re.compile(r"\b[0-9a-f]{16,}\b")


def describe_meta(meta: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the name and text of every non-empty value in a run's meta table."""
    values = {name: meta[name] for name in FIRST if name in meta} | dict(meta)
    values.pop("refused", None)  # printed by condition
    if values.get("conditions") == ["*"]:
        del values["conditions"]
    if "world" in values:
        values["world"] = (values["world"] or {}).get("name")
    if "started" in values:
        values["started"] = in_utc(str(values["started"] or ""))
    texts = {name.replace("_", " "): _text(value) for name, value in values.items()}
    return [(name, text) for name, text in texts.items() if text]


def in_utc(time: str) -> str:
    """Format an ISO 8601 time as ``2026-05-04 09:30 UTC``; other text is returned unchanged."""
    try:
        parsed = datetime.fromisoformat(time)
    except ValueError:
        return time
    aware = parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
    return f"{aware.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def lateness(meta: Mapping[str, Any]) -> str:
    """Describe the latency of a run's episodes, e.g. ``latency 4``; empty if there is none."""
    settings = meta.get("settings") or {}
    steps, waiting = settings.get("latency"), settings.get("while_waiting", "play")
    if not steps:
        return ""  # the experiment `latency` sets one per condition
    return f"latency {steps}" + ("" if waiting == "play" else f" with --while-waiting {waiting}")


def _text(value: object) -> str:
    """Format a value without quotes and brackets, shortening digests and giving only the length of long lists."""
    if value is None:
        return ""
    if isinstance(value, Mapping):
        parts = {name: _text(part) for name, part in value.items()}
        return ", ".join(f"{name}={part}" for name, part in parts.items() if part)
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value)) if len(value) <= MAX_LISTED else f"{len(value)} values"
    return _DIGEST.sub(lambda match: match[0][:12], str(value))
