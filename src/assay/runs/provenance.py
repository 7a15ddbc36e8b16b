"""Where a run comes from: whatever is needed to know whether two runs may be compared, or one resumed."""

from __future__ import annotations

import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from assay import __version__
from assay.errors import RunError
from assay.experiments.tabletop import PACK
from assay.runs.store import Store
from assay.sim import load_pack, mujoco_version

DECIDING = ("experiment", "policy", "policy_metadata", "pack", "pack_digest", "mujoco", "settings")
"""What must be the same for a run to be resumed."""
CIRCUMSTANCES = ("assay", "numpy", "python", "host", "machine", "commit", "started")
"""What may be another when it is resumed, and is written down."""


def provenance(
    experiment: str,
    policy: str,
    pack: str,
    *,
    policy_metadata: dict[str, str] | None = None,
    settings: dict[str, object] | None = None,
) -> dict[str, object]:
    """Everything about the run but its episodes; ``settings`` are those that hold for all of them."""
    return {
        "experiment": experiment,
        "policy": policy,
        "policy_metadata": policy_metadata or {},
        "settings": settings or {},
        "pack": pack,
        "pack_digest": "" if pack == PACK else load_pack(pack).digest(),
        "assay": __version__,
        "mujoco": mujoco_version(),
        "numpy": version("numpy"),
        "python": platform.python_version(),
        "host": platform.node(),
        "machine": platform.platform(),
        "commit": _commit(),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def describe(store: Store, fresh: dict[str, object]) -> None:
    """Write provenance into a new run; of one that is resumed, check that it is the same experiment.

    Circumstances that changed since are added to the run's ``resumed``.
    """
    known = store.meta
    if not known:
        store.describe(**fresh)
        return
    for name in DECIDING:
        if known.get(name) != fresh[name]:
            raise RunError(
                f"{store.path} holds a run with {name.replace('_', ' ')} {known.get(name)}, "
                f"not {fresh[name]}: choose another --out, or delete it"
            )
    before = [known, *known.get("resumed", ())][-1]
    now = {name: fresh[name] for name in CIRCUMSTANCES}
    if any(before.get(name) != value for name, value in now.items() if name != "started"):
        store.describe(resumed=[*known.get("resumed", ()), now])


def _commit() -> str | None:
    """The commit of the checkout that Assay runs from, if it is one."""
    try:
        done = subprocess.run(
            ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty", "--abbrev=12"],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
