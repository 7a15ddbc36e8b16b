"""Assay: how much of a robot policy's success is understanding, and how much is memorisation?

    import assay

    run = assay.run("para", policy="oracle", tasks="libero_goal/1", seeds=2)
    run.diagnose()

All names are imported on first use. The documentation site lists every signature.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.api.recorded import Run as Run
    from assay.api.recorded import compare as compare
    from assay.api.recorded import load_run as load_run
    from assay.api.running import Audit as Audit
    from assay.api.running import Evaluated as Evaluated
    from assay.api.running import audit as audit
    from assay.api.running import evaluate as evaluate
    from assay.api.running import gate as gate
    from assay.api.running import run as run
    from assay.api.running import search as search
    from assay.api.stepping import TaskEnv as TaskEnv
    from assay.api.stepping import load_task as load_task
    from assay.api.stepping import make_env as make_env
    from assay.episodes import Episode as Episode
    from assay.episodes import EpisodeSpec as EpisodeSpec
    from assay.episodes import Perturbation as Perturbation
    from assay.episodes import Policy as Policy
    from assay.episodes import Sense as Sense
    from assay.episodes import World as World
    from assay.episodes import perturbation as perturbation
    from assay.episodes.check import check_world as check_world
    from assay.errors import AssayError as AssayError
    from assay.experiments import Experiment as Experiment
    from assay.experiments import Variant as Variant
    from assay.perturb.words.distance import distance as distance
    from assay.runs.options import RunOptions as RunOptions
    from assay.runs.schedulers.duel import duel as duel
    from assay.support.plugins import register as register

__version__ = "0.2.0.dev0"

_NAMES = {
    "assay.api.recorded": "Run compare load_run",
    "assay.api.running": "Audit Evaluated audit evaluate gate run search",
    "assay.api.stepping": "TaskEnv load_task make_env",
    "assay.runs.options": "RunOptions",
    "assay.runs.schedulers.duel": "duel",
    "assay.episodes": "Episode EpisodeSpec Perturbation Policy Sense World perturbation",
    "assay.episodes.check": "check_world",
    "assay.errors": "AssayError",
    "assay.experiments": "Experiment Variant",
    "assay.perturb.words.distance": "distance",
    "assay.support.plugins": "register",
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}
"""Mapping from each public name to the module that defines it."""

__all__ = [*sorted(_HOMES)]


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'assay' has no attribute '{name}'")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
