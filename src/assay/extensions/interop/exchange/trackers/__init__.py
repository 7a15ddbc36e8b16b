"""Dashboards by name; each is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from assay.errors import RunError, did_you_mean
from assay.extensions.interop.exchange.tracker import Tracker
from assay.support.extras import require
from assay.support.plugins import imported

TRACKERS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "wandb": ("wandb", "assay.extensions.interop.exchange.trackers.wandb_runs:Wandb"),
        "trackio": ("trackio", "assay.extensions.interop.exchange.trackers.trackio_runs:Trackio"),
        "tensorboard": (
            "tensorboard",
            "assay.extensions.interop.exchange.trackers.tensorboard_logs:TensorBoard",
        ),
    }
)
"""Name -> the extra that brings it, and the class."""


def tracker(name: str) -> Callable[[], Tracker]:
    """What makes a tracker. Raises RunError where there is none of that name, or its package is not installed."""
    if name not in TRACKERS:
        raise RunError(f"there is no tracker '{name}': {did_you_mean(name, TRACKERS)}")
    extra, address = TRACKERS[name]
    require(extra, f"tracking with {name} needs the package {name}", RunError)
    found: Callable[[], Tracker] = imported(address)
    return found
