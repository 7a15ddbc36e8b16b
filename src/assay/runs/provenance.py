"""Provenance of a run, which determines whether runs may be compared or resumed, and its description."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from assay.errors import RunError
from assay.runs.store import Store

DECIDING = ("experiment", "policy", "policy_metadata", "pack", "pack_digest", "mujoco", "settings")
"""Values that must be equal for a run to be resumed."""
IDENTITY = "policy_identity"
"""Metadata key for the digests of a policy's source and of the files passed to it, keyed by name."""
POLICY_FILE = "policy file"
"""Description of the difference between two runs whose policies have different source or checkpoint files."""
ALL = "*"
"""Pattern that selects all conditions."""
CIRCUMSTANCES = ("assay", "numpy", "python", "host", "machine", "commit", "started")
"""Values that may differ when a run is resumed; changes are recorded."""


def first_difference(known: Mapping[str, Any], fresh: Mapping[str, Any]) -> tuple[str, object, object] | None:
    """Return the first required value in which two runs differ; None if all required values are equal.

    The result is (name of the value, value in the first run, value in the second run); mappings are reduced
    to the entries that differ.
    """
    for name in DECIDING:
        was, now = known.get(name), fresh.get(name)
        if was != now:
            if isinstance(was, dict) and isinstance(now, dict):
                was, now = _differing_entries(was, now)
            return name.replace("_", " "), was, now
    was, now = known.get(IDENTITY), fresh.get(IDENTITY)
    if was is not None and now is not None and was != now:
        part = next(name for name in {**was, **now} if was.get(name) != now.get(name))
        return f"{POLICY_FILE} {part}", was.get(part), now.get(part)
    was, now = ({plugin["module"]: plugin for plugin in meta.get("plugins", ())} for meta in (known, fresh))
    for module in was.keys() & now.keys():  # each part of a run may need further plugins
        if was[module] != now[module]:
            return f"plugin {module}", *_differing_entries(was[module], now[module])
    return None


def _differing_entries(was: Mapping[str, object], now: Mapping[str, object]) -> tuple[str, str]:
    """Return the entries in which two mappings differ, as text."""
    names = [name for name in {**was, **now} if was.get(name) != now.get(name)]
    first, second = (", ".join(f"{name}={value.get(name)}" for name in names) for value in (was, now))
    return first, second


def all_plugins(*metas: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the plugins of several parts of a run, without duplicates, sorted by module."""
    plugins = {plugin["module"]: plugin for meta in metas for plugin in meta.get("plugins", ())}
    return [plugins[module] for module in sorted(plugins)]


def check_same_run(store: Store, fresh: dict[str, object], *, empty_is_new: bool = False) -> None:
    """Raise RunError if a file holds a different run from the one described by ``fresh``.

    A policy that was edited after a run with only errors counts as unchanged, because no results are mixed. With
    ``empty_is_new``, a file without episodes may be overwritten, unless other processes may be about to record into
    it.
    """
    known = {} if empty_is_new and not store.done else store.meta
    if known and not _has_outcomes(store):
        known = {**known, IDENTITY: fresh.get(IDENTITY)}
    if known and (difference := first_difference(known, fresh)):
        name, was, now = difference
        if name.startswith(POLICY_FILE):
            raise RunError(
                f"the {name} has been edited since {store.path} was started, and a run holds the episodes of one "
                f"version of a policy: start a new run with --out {store.path.with_stem(f'{store.path.stem}-2')}"
            )
        raise RunError(
            f"{store.path} holds a run with {name} {was}, not {now}; choose another --out, or delete this file"
        )


def _has_outcomes(store: Store) -> bool:
    """Return whether any episode was recorded without an error."""
    counts = store.counts()
    return bool((counts["success"] + counts["failure"]).sum())


def describe(store: Store, fresh: dict[str, object], *, conditions: str | None = None) -> None:
    """Write provenance into a new run; if the run exists, record changed values in ``resumed``.

    ``conditions``: the selection planned now, which is added to the run's selection; None for all.
    """
    if store.meta and not store.done and first_difference(store.meta, fresh):
        store.clear()
    known = store.meta
    selection = [ALL if conditions is None else conditions]
    if not known:
        store.describe(**fresh, conditions=selection)
        return
    if IDENTITY in known and not _has_outcomes(store):
        store.describe(**{IDENTITY: fresh.get(IDENTITY)})
    if (plugins := all_plugins(known, fresh)) != known.get("plugins", []):
        store.describe(plugins=plugins)
    store.describe(conditions=all_conditions(known, {"conditions": selection}))
    before = [known, *known.get("resumed", ())][-1]
    now = {name: fresh[name] for name in CIRCUMSTANCES}
    if any(before.get(name) != value for name, value in now.items() if name != "started"):
        store.describe(resumed=[*known.get("resumed", ()), now])


def all_conditions(*described: Mapping[str, Any]) -> list[str]:
    """Return the union of several runs' selections of conditions."""
    chosen = dict.fromkeys(selection for meta in described for selection in meta.get("conditions", (ALL,)))
    return [ALL] if ALL in chosen else list(chosen)


FIRST = ("experiment", "conditions", "policy", "label", "settings", "world", "pack")
"""Metadata values that are listed first."""
MAX_LISTED = 10
"""Maximum length of a list that is shown in full; for a longer list, only the length is shown."""
MAX_VALUES, MAX_CHARACTERS = 100, 1_000
"""Maximum number of values that are shown, and maximum length of one; Assay itself records about twenty."""
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
    texts = {name.replace("_", " "): _text(values[name]) for name in [*values][:MAX_VALUES]}
    left_out = [("...", f"and {count} more values")] if (count := len(values) - MAX_VALUES) > 0 else []
    return [(name, text) for name, text in texts.items() if text] + left_out


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
    """Format a value without quotes and brackets; shorten digests, and show only the length of long lists."""
    if value is None:
        return ""
    if isinstance(value, Mapping):
        if len(value) > MAX_VALUES:
            return f"{len(value)} values"
        parts = {name: _text(part) for name, part in value.items()}
        return ", ".join(f"{name}={part}" for name, part in parts.items() if part)
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value)) if len(value) <= MAX_LISTED else f"{len(value)} values"
    text = str(value)
    text = text if len(text) <= MAX_CHARACTERS else f"{text[:MAX_CHARACTERS]}..."
    return _DIGEST.sub(lambda match: match[0][:12], text)
