"""Everything that a plugin needs: ``from assay.plugin import World, Env, Perturbation, Experiment, Measure, ...``.

Worlds             `World`, `Env`, `Traits`, `Record`, `Trajectory`, `Instruction`, `EpisodeSpec`, `check_world`
Perturbations      `perturbation`, `Perturbation`, `Sense`, `Filter`, `Chance`, `Effect`, `Change`, `within`
Experiments        `Experiment`, `Variant`
Asset packs        `AssetPack`
Measures           `Measure`, `Panel`, `Result`, `RunData`, `Table`, `Column`, `Drawing`, `Flaw`, `OwnFlaw`, `FlawTest`
Registration       `register` (an object), `provide` (an address that is imported on first use)
Randomness         `stream`: a generator that depends on its key alone
Errors             `AssayError` and those that plugins raise

Names outside this module and `assay` may change without notice. Experiments and measures are imported on first
use, which makes the worker processes of a world start faster.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from assay.episodes import Change as Change
from assay.episodes import Effect as Effect
from assay.episodes import Env as Env
from assay.episodes import EpisodeSpec as EpisodeSpec
from assay.episodes import Instruction as Instruction
from assay.episodes import Perturbation as Perturbation
from assay.episodes import Policy as Policy
from assay.episodes import Record as Record
from assay.episodes import Sense as Sense
from assay.episodes import Traits as Traits
from assay.episodes import Trajectory as Trajectory
from assay.episodes import World as World
from assay.episodes import apply_perturbations as apply_perturbations
from assay.episodes import perturbation as perturbation
from assay.episodes import within as within
from assay.episodes.check import check_world as check_world
from assay.episodes.senses import Chance as Chance
from assay.episodes.senses import Filter as Filter
from assay.errors import AssayError as AssayError
from assay.errors import AssetError as AssetError
from assay.errors import ExperimentError as ExperimentError
from assay.errors import PerturbationError as PerturbationError
from assay.errors import PolicyError as PolicyError
from assay.errors import TaskError as TaskError
from assay.errors import WorldError as WorldError
from assay.errors import did_you_mean as did_you_mean
from assay.support.plugins import provide as provide
from assay.support.plugins import register as register
from assay.support.streams import stream as stream

if TYPE_CHECKING:
    from assay.experiments import Experiment as Experiment
    from assay.experiments import Variant as Variant
    from assay.measures.findings import FlawTest as FlawTest
    from assay.measures.flaws import Flaw as Flaw
    from assay.measures.flaws import OwnFlaw as OwnFlaw
    from assay.measures.measure import Measure as Measure
    from assay.measures.measure import Panel as Panel
    from assay.measures.measure import RunData as RunData
    from assay.measures.result import MeasureError as MeasureError
    from assay.measures.result import Result as Result
    from assay.measures.views.style import Drawing as Drawing
    from assay.measures.views.table import Column as Column
    from assay.measures.views.table import Table as Table
    from assay.sim.packs.pack import AssetPack as AssetPack

_NAMES = {
    "assay.experiments": "Experiment Variant",
    "assay.measures.findings": "FlawTest",
    "assay.measures.flaws": "Flaw OwnFlaw",
    "assay.measures.measure": "Measure Panel RunData",
    "assay.measures.result": "MeasureError Result",
    "assay.measures.views.style": "Drawing",
    "assay.measures.views.table": "Column Table",
    "assay.sim.packs.pack": "AssetPack",
}
_LAZY = {name: module for module, names in _NAMES.items() for name in names.split()}
"""Mapping from each name to the module from which it is imported on first use."""


def __getattr__(name: str) -> Any:
    """Import a name from an upper layer on first use."""
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'assay.plugin' has no attribute '{name}'")
