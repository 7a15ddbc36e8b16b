"""Where a run comes from: whatever is needed to know whether two runs may be compared, or one resumed."""

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
"""What must be the same for a run to be resumed."""
IDENTITY = "policy_identity"
"""Digests of a policy's source and of the files it is given: name -> digest. Runs of Assay 0.1.0 have none."""
ALL = "*"
"""The selection of all conditions."""
MENDED = "mended"
"""Names of values that were damaged and are what a command said that resumed the run."""
CIRCUMSTANCES = ("assay", "numpy", "python", "host", "machine", "commit", "started")
"""What may be another when it is resumed, and is written down."""


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
    """Everything about the run but its episodes; ``settings`` are those that hold for all of them.

    ``identity``: what the policy hangs on, name -> digest, as `assay.policies.identity` tells it.
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
class Difference:
    """What decides whether two runs are of one experiment, and is not the same."""

    field: str
    """The name in ``meta``."""
    parts: tuple[str, ...]
    """What differs within it, where it is a mapping: settings, a plugin's module, files of the policy."""
    was: object
    now: object

    @property
    def name(self) -> str:
        """For people."""
        if self.field == IDENTITY:
            return f"the policy's {self.parts[0]}"
        return f"plugin {self.parts[0]}" if self.field == "plugins" else self.field.replace("_", " ")


def differing(known: Mapping[str, Any], fresh: Mapping[str, Any]) -> Difference | None:
    """The first that decides whether two runs are of one experiment and is not the same."""
    for name in DECIDING:
        was, now = known.get(name), fresh.get(name)
        if was != now:
            return Difference(name, _parts(was, now), *_values(was, now))
    was, now = known.get(IDENTITY), fresh.get(IDENTITY)
    if was is not None and now is not None and was != now:
        part = _parts(was, now)[0]
        return Difference(IDENTITY, (part,), was.get(part), now.get(part))
    was, now = ({each["module"]: each for each in meta.get("plugins", ())} for meta in (known, fresh))
    for module in was.keys() & now.keys():  # parts of a run may need others, each its own
        if was[module] != now[module]:
            return Difference("plugins", (module,), *_values(was[module], now[module]))
    return None


def all_plugins(*metas: Mapping[str, Any]) -> list[dict[str, str]]:
    """The plugins of several parts of a run, each once, sorted by module."""
    every = {each["module"]: each for meta in metas for each in meta.get("plugins", ())}
    return [every[module] for module in sorted(every)]


def check(path: Path, fresh: dict[str, object], *, empty_is_new: bool = False) -> None:
    """Raise RunError where a file holds a run of another experiment; leaves it as it is.

    A policy that was mended after nothing but errors is no other one: there is nothing to be mixed. With
    ``empty_is_new`` a run without an episode is in nobody's way; not so where its file is not kept open, as others may
    be about to record into it.
    """
    if not path.is_file():
        return
    with Store.reading(path) as store:
        lost = store.lost_meta(fresh)
        known = {} if empty_is_new and not store.held else store.meta | lost
        if known and {"experiment", "policy"} <= lost.keys():
            raise RunError(
                f"{path}: what it says of its experiment and of its policy is damaged, so whose episodes it holds "
                "cannot be told: choose another --out, or delete it"
            )
        if known and not store.judged:
            known = {**known, IDENTITY: fresh.get(IDENTITY)}
    if known and (found := differing(known, fresh)):
        raise RunError(f"{path} {_said(found, str(fresh['pack']))}: choose another --out, or delete it")


def _said(found: Difference, pack: str) -> str:
    """What a run holds that is not what is asked for."""
    changed = f"has changed since ({found.was} then, {found.now} now)"
    if found.field == IDENTITY:
        return f"holds episodes of another policy: {found.name} {changed}"
    if found.field == "pack_digest":
        return f"holds episodes with other assets: {pack} {changed}"
    if found.field == "settings" and found.parts[:1] == ("states",):
        return f"holds episodes from other stored states: --states {changed}"
    return f"holds a run with {found.name} {found.was}, not {found.now}"


def describe(store: Store, fresh: dict[str, object], *, conditions: str | None = None) -> None:
    """Write provenance into a new run, or one without an episode that was for something else; circumstances that
    changed since are added to a run's ``resumed``.

    ``conditions``: the selection that is planned now, which is added to those of the run; None for all.
    """
    if store.meta and not store.held and differing(store.meta, fresh):
        store.clear()
    if mended := store.mend_meta(fresh):
        store.describe(**{MENDED: sorted({*store.meta.get(MENDED, ()), *mended})})
    known = store.meta
    chosen = [ALL if conditions is None else conditions]
    if not known:
        store.describe(**fresh, conditions=chosen)
        return
    if IDENTITY in known and not store.judged:
        store.describe(**{IDENTITY: fresh.get(IDENTITY)})
    if (plugins := all_plugins(known, fresh)) != known.get("plugins", []):
        store.describe(plugins=plugins)
    store.describe(conditions=all_conditions(known, {"conditions": chosen}))
    before = [known, *known.get("resumed", ())][-1]
    now = {name: fresh[name] for name in CIRCUMSTANCES}
    if any(before.get(name) != value for name, value in now.items() if name != "started"):
        store.describe(resumed=[*known.get("resumed", ()), now])


def all_conditions(*described: Mapping[str, Any]) -> list[str]:
    """The selections of conditions of several runs' plans together."""
    chosen = dict.fromkeys(selection for each in described for selection in each.get("conditions", (ALL,)))
    return [ALL] if ALL in chosen else list(chosen)


def _parts(was: object, now: object) -> tuple[str, ...]:
    """The names under which two mappings have different values."""
    if not isinstance(was, dict) or not isinstance(now, dict):
        return ()
    return tuple(name for name in {**was, **now} if was.get(name) != now.get(name))


def _values(was: object, now: object) -> tuple[object, object]:
    """Two values, or what of two mappings differs."""
    if not isinstance(was, dict) or not isinstance(now, dict):
        return was, now
    parts = _parts(was, now)
    said = [", ".join(f"{name}={each.get(name)}" for name in parts) for each in (was, now)]
    return said[0], said[1]


def states_digest(folder: Path) -> str:
    """12 hex digits that stand for the files of a folder of stored initial states."""
    return digest_of(sorted(each for each in folder.rglob("*") if each.is_file()), folder)[:12]


def commit_of(module: Path) -> str | None:
    """The commit of the checkout of Assay that this module of ours is in; None where it is in none.

    A repository around it is somebody else's: one whose `.venv` we are installed in, or that has a copy of us.
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
