"""What a run says of itself, for people: who, what, where, in the order in which one asks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from assay.support.console import number_of

DIGITS = 12
"""Of a digest that is shown: enough to tell two apart."""
_SETTINGS: Mapping[str, Callable[[Any], str]] = {
    "steps": lambda count: f"at most {count} steps",
    "replan": lambda count: f"{count} actions of each chunk",
    "initial": lambda how: f"{how} initial states",
    "start": lambda number: f"every episode from initial state {number}",
    "states": lambda digest: f"stored states {_digest(digest)}",
    "certificates": lambda digest: f"certified scenes ({_digest(digest)})",
    "reference_times": lambda whose: f"time limits from the {whose}",
}
"""Settings that are told in words."""
_TOLD = {
    *("experiment", "conditions", "policy", "label", "policy_metadata", "policy_identity", "world", "pack"),
    *("pack_digest", "settings", "states_folder", "plugins", "shard", "shards", "merged", "duel", "refused"),
    *("search", "latency"),
    *("started", "host", "machine", "assay", "commit", "mujoco", "numpy", "python", "resumed", "mended"),
}


def describe_meta(meta: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Name and text of whatever a run's meta table tells; nothing of what is empty."""
    return [(name, text) for name, text in _facts(meta) if text]


def in_utc(time: str) -> str:
    """An ISO time for people: ``2026-05-04 09:30 UTC``; what is none stays as it is."""
    try:
        found = datetime.fromisoformat(time)
    except ValueError:
        return time
    aware = found if found.tzinfo else found.replace(tzinfo=UTC)
    return f"{aware.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def lateness(meta: Mapping[str, Any]) -> str:
    """How late decisions come in all episodes of a run, in a few words: ``latency 4``; empty where they do not."""
    settings = meta.get("settings") or {}
    steps, waiting = settings.get("latency"), settings.get("while_waiting", "play")
    if not steps:
        return ""  # the experiment `latency` has one of its own for each condition
    return f"latency {steps}" + ("" if waiting == "play" else f", while waiting {waiting}")


def _facts(meta: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "experiment", _text(meta.get("experiment"))
    chosen = meta.get("conditions") or ()
    yield "conditions", "" if "*" in chosen else ", ".join(_text(each) for each in chosen)
    label, policy = meta.get("label"), _text(meta.get("policy"))
    yield "policy", f"{policy} (called {label})" if label not in (None, "", policy) else policy
    yield "it says", _text(meta.get("policy_metadata"))
    yield (
        "its files",
        ", ".join(
            f"{name} {_digest(digest)}" for name, digest in (meta.get("policy_identity") or {}).items()
        ),
    )
    yield "world", _text((meta.get("world") or {}).get("name"))
    pack, digest = _text(meta.get("pack")), meta.get("pack_digest")
    yield "assets", f"{pack} ({_digest(digest)})" if digest else pack
    yield "settings", ", ".join(_settings(meta.get("settings") or {}))
    yield "states", _text(meta.get("states_folder"))
    yield "plugins", ", ".join(_plugin(each) for each in meta.get("plugins") or ())
    if shard := meta.get("shard"):
        yield "shard", f"{shard['number']} of {shard['of']}"
    if shards := meta.get("shards"):
        yield "shards", f"{', '.join(map(str, shards['there']))} of {shards['of']}"
    yield "merged from", ", ".join(meta.get("merged") or ())
    if isinstance(duel := meta.get("duel"), dict):
        judged = f", compared by {duel['measure']}" if duel.get("measure") else ""
        yield "duel", f"{duel.get('per_start') or 'all'} of each start's episodes{judged}"
    if isinstance(search := meta.get("search"), dict):
        yield from _search(search)
    if isinstance(latency := meta.get("latency"), dict):
        yield "latency", _latency(latency)
    for name, value in meta.items():
        if name not in _TOLD:
            yield name.replace("_", " "), _text(value)
    yield "started", _circumstances(meta)
    again = meta.get("resumed") or ()
    for each in again[-1:]:
        yield (
            "resumed",
            f"{number_of(len(again), 'time')} elsewhere or with other versions; last {_circumstances(each)}",
        )
    if mended := meta.get("mended"):
        names = ", ".join(_text(name).replace("_", " ") for name in mended)
        yield "mended", f"{names}: damaged once, and since as the command said that resumed the run"


def _search(search: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What was searched: tasks by axis, not the magnitudes of every pair."""
    tasks: dict[str, list[Mapping[str, Any]]] = {}
    for pair in search.get("pairs") or ():
        tasks.setdefault(_text(pair.get("axis")), []).append(pair)
    axes = []
    for axis, pairs in tasks.items():
        low = min(pair["magnitudes"][0] for pair in pairs)
        high = max(pair["magnitudes"][-1] for pair in pairs)
        reach = f"{low:g} to {high:g} {pairs[0].get('unit', '')}".rstrip()
        axes.append(f"{axis} ({number_of(len(pairs), 'task')}, {reach})")
    way = "" if search.get("guided", True) else ", magnitudes at random"
    sure = f"below {_percent(search['level'])}, intervals of {_percent(search['confidence'])}{way}"
    yield "search", f"where success falls {sure}, along {', '.join(axes)}"
    yield "not searched", "; ".join(map(_text, search.get("cannot") or ()))


def _latency(latency: Mapping[str, Any]) -> str:
    who = "as the server says" if latency.get("by") == "server" else "by the clock"
    measured = f"median {latency['median_ms']:g} ms {who}" if "median_ms" in latency else "measured"
    return f"{number_of(latency['steps'], 'control step')}: {measured}"


def _percent(share: float) -> str:
    return f"{100 * share:g} %"


def _circumstances(meta: Mapping[str, Any]) -> str:
    """When, where, and with which versions."""
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
    told = [_text(plugin.get("version")), _digest(plugin.get("digest"))]
    return " ".join(filter(None, (_text(plugin.get("module")), *told)))


def _digest(value: object) -> str:
    return _text(value)[:DIGITS]


def _text(value: object) -> str:
    """A value without Python's or JSON's marks around it."""
    if value is None:
        return ""
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={_text(each)}" for name, each in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value))
    return str(value)
