"""Provenance of a run, which determines whether runs may be compared or resumed."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from assay import __version__
from assay.episodes import LIBERO, WORLDS
from assay.errors import RunError
from assay.runs.store import Store
from assay.sim.bare_mujoco import mujoco_version
from assay.support.extras import DISTRIBUTION
from assay.support.files import digest_of
from assay.support.plugins import Plugin

DECIDING = ("experiment", "policy", "policy_metadata", "pack", "pack_digest", "mujoco", "settings")
"""Values that must be equal for a run to be resumed."""
IDENTITY = "policy_identity"
"""Key of the digests of a policy's source and of the files given to it: name -> digest."""
ALL = "*"
"""Selection of all conditions."""
CIRCUMSTANCES = ("assay", "numpy", "python", "host", "machine", "commit", "started")
"""Values that may differ when a run is resumed, and are then recorded."""


def provenance(
    experiment: str,
    policy: str,
    pack: str,
    *,
    world: str = LIBERO,
    plugins: Iterable[Plugin] = (),
    policy_metadata: dict[str, str] | None = None,
    identity: dict[str, str] | None = None,
    settings: dict[str, object] | None = None,
) -> dict[str, object]:
    """Return everything about a run except its episodes; ``settings`` apply to all of them.

    ``identity``: digests of the policy's files by name, see `assay.policies.identity`.
    """
    return {
        "experiment": experiment,
        "policy": policy,
        "policy_metadata": policy_metadata or {},
        IDENTITY: identity or {},
        "settings": settings or {},
        "pack": pack,
        "pack_digest": WORLDS[world].digest(pack),
        "world": WORLDS[world].traits.as_json(),
        "plugins": [plugin.as_json() for plugin in plugins],
        "assay": __version__,
        "mujoco": mujoco_version(),
        "numpy": version("numpy"),
        "python": platform.python_version(),
        "host": platform.node(),
        "machine": platform.platform(),
        "commit": commit_of(Path(__file__)),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
    }


@dataclass(frozen=True, slots=True)
class ProvenanceDifference:
    """A value that differs between two runs although it must be equal for runs of one experiment."""

    field: str
    """Name of the value in ``meta``."""
    parts: tuple[str, ...]
    """Differing entries of a mapping: settings, a plugin's module, files of the policy."""
    was: object
    now: object

    @property
    def name(self) -> str:
        """A readable name of the field."""
        if self.field == IDENTITY:
            return f"the policy's {self.parts[0]}"
        return f"plugin {self.parts[0]}" if self.field == "plugins" else self.field.replace("_", " ")


def first_difference(known: Mapping[str, Any], fresh: Mapping[str, Any]) -> ProvenanceDifference | None:
    """Return the first value that differs although it must be equal for runs of one experiment; None if all agree."""
    for name in DECIDING:
        was, now = known.get(name), fresh.get(name)
        if was != now:
            return ProvenanceDifference(name, _parts(was, now), *_values(was, now))
    was, now = known.get(IDENTITY), fresh.get(IDENTITY)
    if was is not None and now is not None and was != now:
        part = _parts(was, now)[0]
        return ProvenanceDifference(IDENTITY, (part,), was.get(part), now.get(part))
    was, now = ({plugin["module"]: plugin for plugin in meta.get("plugins", ())} for meta in (known, fresh))
    for module in was.keys() & now.keys():  # parts of a run may need others, each its own
        if was[module] != now[module]:
            return ProvenanceDifference("plugins", (module,), *_values(was[module], now[module]))
    return None


def all_plugins(*metas: Mapping[str, Any]) -> list[dict[str, str]]:
    """The plugins of several parts of a run, each once, sorted by module."""
    plugins = {plugin["module"]: plugin for meta in metas for plugin in meta.get("plugins", ())}
    return [plugins[module] for module in sorted(plugins)]


def check_same_run(store: Store, fresh: dict[str, object], *, empty_is_new: bool = False) -> None:
    """Raise RunError if a file holds another run than the one described by ``fresh``.

    A policy that was changed after a run with errors only counts as the same, since no results are mixed. With
    ``empty_is_new`` a file without episodes may be overwritten, unless other processes may be about to record into
    it.
    """
    known = {} if empty_is_new and not store.done else store.meta
    if known and not _has_outcomes(store):
        known = {**known, IDENTITY: fresh.get(IDENTITY)}
    if known and (difference := first_difference(known, fresh)):
        described = _describe(difference, str(fresh["pack"]))
        raise RunError(f"{store.path} {described}: choose another --out, or delete it")


def _has_outcomes(store: Store) -> bool:
    """Return whether an episode without an error was recorded."""
    counts = store.counts()
    return bool((counts["success"] + counts["failure"]).sum())


def _describe(difference: ProvenanceDifference, pack: str) -> str:
    """Describe how a file differs from the run to be recorded."""
    changed = f"has changed since ({difference.was} then, {difference.now} now)"
    if difference.field == IDENTITY:
        return f"holds episodes of another policy: {difference.name} {changed}"
    if difference.field == "pack_digest":
        return f"holds episodes with other assets: {pack} {changed}"
    if difference.field == "settings" and difference.parts[:1] == ("states",):
        return f"holds episodes from other stored states: --states {changed}"
    return f"holds a run with {difference.name} {difference.was}, not {difference.now}"


def describe(store: Store, fresh: dict[str, object], *, conditions: str | None = None) -> None:
    """Write provenance into a new run; circumstances that have changed since are added to ``resumed``.

    ``conditions``: the selection that is planned now, which is added to those of the run; None for all.
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
    """Return the union of the selections of conditions of several runs."""
    chosen = dict.fromkeys(selection for meta in described for selection in meta.get("conditions", (ALL,)))
    return [ALL] if ALL in chosen else list(chosen)


def _parts(was: object, now: object) -> tuple[str, ...]:
    """The names under which two mappings have different values."""
    if not isinstance(was, dict) or not isinstance(now, dict):
        return ()
    return tuple(name for name in {**was, **now} if was.get(name) != now.get(name))


def _values(was: object, now: object) -> tuple[object, object]:
    """Two values, or the differing parts of two mappings."""
    if not isinstance(was, dict) or not isinstance(now, dict):
        return was, now
    parts = _parts(was, now)
    first, second = (", ".join(f"{name}={value.get(name)}" for name in parts) for value in (was, now))
    return first, second


def states_digest(folder: Path) -> str:
    """Digest of a folder of stored initial states, 12 hex digits."""
    return digest_of(sorted(file for file in folder.rglob("*") if file.is_file()), folder)[:12]


def commit_of(module: Path) -> str | None:
    """The commit of the checkout of Assay that contains a module; None outside of one.

    Any other repository around it is not Assay's: Assay may be installed in its `.venv`, or copied into it.
    """
    package = next(parent for parent in module.resolve().parents if parent.name == "assay")
    root = package.parents[1]
    project = root / "pyproject.toml"
    if package.parent.name != "src" or not (root / ".git").exists() or not project.is_file():
        return None
    if f'name = "{DISTRIBUTION}"' not in project.read_text(encoding="utf-8"):
        return None
    try:
        done = subprocess.run(
            ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12"],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
