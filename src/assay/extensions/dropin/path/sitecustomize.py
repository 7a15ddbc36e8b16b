"""Makes `import libero` import Assay's stand-in in every process of `assay libero`, whatever `sys.path` contains."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

HERE = Path(__file__).resolve().parent


class StandInFinder(importlib.abc.MetaPathFinder):
    """Import finder that finds the stand-in before any other `libero`."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of the stand-in for `libero`."""
        if name == "libero":
            file = HERE / "libero" / "__init__.py"
            return importlib.util.spec_from_file_location(
                name, file, submodule_search_locations=[str(file.parent)]
            )
        return None


class MissingFinder(importlib.abc.MetaPathFinder):
    """Last import finder, which reports modules that the stand-in lacks."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Raise ModuleNotFoundError for unsupported modules of LIBERO, and for robosuite if it is not installed."""
        if name.startswith("libero."):
            raise ModuleNotFoundError(
                f"assay libero: LIBERO's module {name} is not supported; choose from libero.libero, .benchmark, "
                ".envs (env_wrapper, venv, bddl_utils, bddl_base_domain) and .utils (docs/libero.md)",
                name=name,
            )
        if name == "robosuite":
            raise ModuleNotFoundError(
                "assay libero: the script imports robosuite, which is not installed and which Assay does not replace: "
                "pip install robosuite==1.4.0",
                name=name,
            )
        return None


sys.meta_path.insert(0, StandInFinder())
sys.meta_path.append(MissingFinder())

# The environment's own sitecustomize, which this one shadows.
_others = [place for place in sys.path if Path(place or ".").resolve() != HERE]
_own = importlib.machinery.PathFinder.find_spec("sitecustomize", _others)
if _own is not None and _own.loader is not None:
    _module = importlib.util.module_from_spec(_own)
    _own.loader.exec_module(_module)
