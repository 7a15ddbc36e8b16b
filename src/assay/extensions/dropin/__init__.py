"""A stand-in for the package `libero`: scripts written for LIBERO run unmodified on Assay's engine.

`assay libero -- python main.py` puts the folder `path` first on the script's `sys.path`. Its package `libero`
consists of thin modules with LIBERO's names, which import from this package. An installed `libero` is shadowed inside
that command only.

session        settings from the command, task files and initial states, the plan of an experiment as a LIBERO suite
benchmark      suites and tasks
observations   a dict whose images are rendered on access
simulator      env.sim, env.robots[0], env.objects_dict: MuJoCo's model and data under robosuite's names
domain         env.env: one task that is reset and stepped; task files as LIBERO's dictionaries
env_wrapper    OffScreenRenderEnv and related classes
venv           vectorised environments, in this process or in others
recorder       runs the episodes of the plan and records them
executor       starts the script and collects its episodes

Accessing an attribute that the stand-in lacks raises an error; see `Partial`.
"""

from __future__ import annotations

from typing import Any, NoReturn

from assay.errors import did_you_mean
from assay.support.plugins import provide

provide("command", {"Evaluate a policy/libero": "assay.extensions.dropin.command:libero"})

DOCS = "docs/libero.md"
_PRIVATE = ("_check_success", "_get_observations", "_post_process", "_update_observables", "_eval_predicate")
"""Private attributes that LIBERO scripts use; error messages list them among the valid names."""


class MissingError(AttributeError):
    """Raised on access to an attribute of LIBERO's interface that Assay's stand-in does not have."""


class Partial:
    """Base class of stand-ins that implement only part of an original class of LIBERO or robosuite."""

    original_name = ""
    """Name of the original class in error messages; if empty, the name of this class."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)  # Python's own protocols probe for these
        public = [
            attribute for attribute in dir(self) if not attribute.startswith("_") or attribute in _PRIVATE
        ]
        raise_missing(type(self).original_name or type(self).__name__, name, public)


def raise_missing(owner: str, name: str, valid: list[str]) -> NoReturn:
    """Raise MissingError with the name of the attribute and similar valid names."""
    raise MissingError(
        f"assay libero: LIBERO's {owner}.{name} is not supported: {did_you_mean(name, valid)} ({DOCS})"
    )
