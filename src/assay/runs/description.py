"""The provenance of a run in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from assay.support.console import number_of

DIGITS = 12
"""Digits of a digest that are shown."""
_SETTINGS: Mapping[str, Callable[[Any], str]] = {
    "steps": lambda count: f"at most {count} steps",
    "replan": lambda count: f"{count} actions of each chunk",
    "initial": lambda how: f"{how} initial states",
    "start": lambda number: f"every episode from initial state {number}",
    "states": lambda digest: f"stored states {_digest(digest)}",
    "certificates": lambda digest: f"certified scenes ({_digest(digest)})",
    "reference_times": lambda whose: f"time limits from the {whose}",
}
"""Settings with a phrase of their own."""
_PHRASED = {
    *("experiment", "conditions", "policy", "label", "policy_metadata", "policy_identity", "world", "pack"),
    *("pack_digest", "settings", "states_folder", "plugins", "shard", "shards", "merged", "duel", "refused"),
    *("search", "latency"),
    *("started", "host", "machine", "assay", "commit", "mujoco", "numpy", "python", "resumed"),
}


def describe_meta(meta: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Name and text of every value of a run's meta table that is not empty."""
    return [(name, text) for name, text in _facts(meta) if text]


def in_utc(time: str) -> str:
    """An ISO time in words, ``2026-05-04 09:30 UTC``; other text is returned unchanged."""
    try:
        parsed = datetime.fromisoformat(time)
    except ValueError:
        return time
    aware = parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
    return f"{aware.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def lateness(meta: Mapping[str, Any]) -> str:
    """The latency of all episodes of a run in words, ``latency 4``; empty for none."""
    settings = meta.get("settings") or {}
    steps, waiting = settings.get("latency"), settings.get("while_waiting", "play")
    if not steps:
        return ""  # the experiment `latency` has one of its own for each condition
    return f"latency {steps}" + ("" if waiting == "play" else f", while waiting {waiting}")


def _facts(meta: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "experiment", _text(meta.get("experiment"))
    chosen = meta.get("conditions") or ()
    yield "conditions", "" if "*" in chosen else ", ".join(map(_text, chosen))
    label, policy = meta.get("label"), _text(meta.get("policy"))
    yield "policy", f"{policy} ({label})" if label not in (None, "", policy) else policy
    yield "policy metadata", _text(meta.get("policy_metadata"))
    yield (
        "policy files",
        ", ".join(
            f"{name} {_digest(digest)}" for name, digest in (meta.get("policy_identity") or {}).items()
        ),
    )
    yield "world", _text((meta.get("world") or {}).get("name"))
    pack, digest = _text(meta.get("pack")), meta.get("pack_digest")
    yield "assets", f"{pack} ({_digest(digest)})" if digest else pack
    yield "settings", ", ".join(_settings(meta.get("settings") or {}))
    yield "states", _text(meta.get("states_folder"))
    yield "plugins", ", ".join(map(_plugin, meta.get("plugins") or ()))
    if shard := meta.get("shard"):
        yield "shard", f"{shard['number']} of {shard['of']}"
    if shards := meta.get("shards"):
        yield "shards", f"{', '.join(map(str, shards['there']))} of {shards['of']}"
    yield "merged from", ", ".join(meta.get("merged") or ())
    if isinstance(duel := meta.get("duel"), dict):
        measure = f", compared by {duel['measure']}" if duel.get("measure") else ""
        yield "duel", f"{duel.get('per_start') or 'all'} of each start's episodes{measure}"
    if isinstance(search := meta.get("search"), dict):
        yield from _search(search)
    if isinstance(latency := meta.get("latency"), dict):
        yield "latency", _latency(latency)
    for name, value in meta.items():
        if name not in _PHRASED:
            yield name.replace("_", " "), _text(value)
    yield "started", _circumstances(meta)
    if resumed := meta.get("resumed"):
        times = number_of(len(resumed), "time")
        yield "resumed", f"{times} elsewhere or with other versions; last {_circumstances(resumed[-1])}"


def _search(search: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The axes of a search with their tasks and ranges."""
    tasks: dict[str, list[Mapping[str, Any]]] = {}
    for pair in search.get("pairs") or ():
        tasks.setdefault(_text(pair.get("axis")), []).append(pair)
    axes = []
    for axis, pairs in tasks.items():
        low = min(pair["magnitudes"][0] for pair in pairs)
        high = max(pair["magnitudes"][-1] for pair in pairs)
        reach = f"{low:g} to {high:g} {pairs[0].get('unit', '')}".rstrip()
        axes.append(f"{axis} ({number_of(len(pairs), 'task')}, {reach})")
    order = "" if search.get("guided", True) else ", magnitudes at random"
    sure = f"below {_percent(search['level'])}, intervals of {_percent(search['confidence'])}{order}"
    yield "search", f"where success falls {sure}, along {', '.join(axes)}"
    yield "not searched", "; ".join(map(_text, search.get("cannot") or ()))


def _latency(latency: Mapping[str, Any]) -> str:
    source = "as reported by the server" if latency.get("by") == "server" else "by the clock"
    measured = f"median {latency['median_ms']:g} ms {source}" if "median_ms" in latency else "measured"
    return f"{number_of(latency['steps'], 'control step')}: {measured}"


def _percent(share: float) -> str:
    return f"{100 * share:g} %"


def _circumstances(meta: Mapping[str, Any]) -> str:
    """Time, host and versions."""
    place = " on ".join(filter(None, (in_utc(_text(meta.get("started"))), _text(meta.get("host")))))
    versions = [
        f"{name} {meta[key]}"
        for key, name in {"assay": "Assay", "mujoco": "MuJoCo", "numpy": "NumPy", "python": "Python"}.items()
        if meta.get(key)
    ]
    if meta.get("commit") and versions:
        versions[0] += f" ({meta['commit']})"
    return "; ".join(filter(None, (place, ", ".join(versions), _text(meta.get("machine")))))


def _settings(settings: Mapping[str, Any]) -> Iterator[str]:
    for name, value in settings.items():
        if name == "certificates" and value is None:
            yield "uncertified scenes"
        elif value not in (None, ""):
            yield _SETTINGS[name](value) if name in _SETTINGS else f"{name.replace('_', ' ')} {_text(value)}"


def _plugin(plugin: Mapping[str, Any]) -> str:
    parts = (_text(plugin.get("module")), _text(plugin.get("version")), _digest(plugin.get("digest")))
    return " ".join(filter(None, parts))


def _digest(value: object) -> str:
    return _text(value)[:DIGITS]


def _text(value: object) -> str:
    """A value without quotes and brackets."""
    if value is None:
        return ""
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={_text(part)}" for name, part in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value))
    return str(value)
