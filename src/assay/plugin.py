"""Everything that a plugin needs: ``from assay.plugin import World, Env, Perturbation, Experiment, Measure, ...``.

Worlds             `World`, `Env`, `Traits`, `Record`, `Trajectory`, `Instruction`, `EpisodeSpec`, `check_world`
Perturbations      `perturbation`, `Perturbation`, `Sense`, `Filter`, `Chance`, `Effect`, `Change`, `within`
Experiments        `Experiment`, `Variant`
Asset packs        `AssetPack`
Measures           `Measure`, `Panel`, `Result`, `RunData`, `Table`, `Column`, `Drawing`, `Flaw`, `OwnFlaw`, `FlawTest`
Registration       `register` (an object), `provide` (an address that is imported on first use)
Randomness         `stream`: a generator that depends on its key alone
Errors             `AssayError` and those that plugins raise

Names outside this module and `assay` may change without notice. Experiments and measures are imported on first use,
so that a world's worker processes do not wait for them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from assay.episodes import (
    Chance,
    Change,
    Effect,
    Env,
    EpisodeSpec,
    Filter,
    Instruction,
    Perturbation,
    Policy,
    Record,
    Sense,
    Traits,
    Trajectory,
    World,
    apply_perturbations,
    perturbation,
)
from assay.episodes.check import check_world
from assay.episodes.fields import within
from assay.errors import (
    AssayError,
    AssetError,
    ExperimentError,
    PerturbationError,
    PolicyError,
    TaskError,
    WorldError,
    did_you_mean,
)
from assay.support.plugins import provide, register
from assay.support.streams import stream

if TYPE_CHECKING:
    from assay.experiments import Experiment, Variant
    from assay.measures import Flaw, FlawTest, Measure, MeasureError, OwnFlaw, Panel, Result, RunData
    from assay.measures.views.style import Drawing
    from assay.measures.views.table import Column, Table
    from assay.sim.packs.pack import AssetPack

_NAMES = {
    "assay.experiments": "Experiment Variant",
    "assay.measures": "Flaw FlawTest Measure MeasureError OwnFlaw Panel Result RunData",
    "assay.measures.views.style": "Drawing",
    "assay.measures.views.table": "Column Table",
    "assay.sim.packs.pack": "AssetPack",
}
_LAZY = {name: module for module, names in _NAMES.items() for name in names.split()}
"""Mapping from each name to the module from which it is imported on first use."""

__all__ = [
    "AssayError",
    "AssetError",
    "AssetPack",
    "Chance",
    "Change",
    "Column",
    "Drawing",
    "Effect",
    "Env",
    "EpisodeSpec",
    "Experiment",
    "ExperimentError",
    "Filter",
    "Flaw",
    "FlawTest",
    "Instruction",
    "Measure",
    "MeasureError",
    "OwnFlaw",
    "Panel",
    "Perturbation",
    "PerturbationError",
    "Policy",
    "PolicyError",
    "Record",
    "Result",
    "RunData",
    "Sense",
    "Table",
    "TaskError",
    "Traits",
    "Trajectory",
    "Variant",
    "World",
    "WorldError",
    "apply_perturbations",
    "check_world",
    "did_you_mean",
    "perturbation",
    "provide",
    "register",
    "stream",
    "within",
]


def __getattr__(name: str) -> Any:
    """Import a name from an upper layer on first use."""
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'assay.plugin' has no attribute '{name}'")
