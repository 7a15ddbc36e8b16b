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
    from assay.api import Audit as Audit
    from assay.api import Evaluated as Evaluated
    from assay.api import Run as Run
    from assay.api import RunOptions as RunOptions
    from assay.api import TaskEnv as TaskEnv
    from assay.api import audit as audit
    from assay.api import compare as compare
    from assay.api import duel as duel
    from assay.api import evaluate as evaluate
    from assay.api import gate as gate
    from assay.api import load_run as load_run
    from assay.api import load_task as load_task
    from assay.api import make_env as make_env
    from assay.api import run as run
    from assay.api import search as search
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
    from assay.support.plugins import register as register

__version__ = "0.2.0.dev0"

_NAMES = {
    "assay.api": "Audit Evaluated Run RunOptions TaskEnv audit compare duel evaluate gate load_run load_task make_env "
    "run search",
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
