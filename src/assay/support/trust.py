"""Trust in modules that a file names: the one place that decides whether such a module may be imported.

Runs, specs, plans and certificates are data: what they name is never imported or called because they name it. A
module is trusted if the user named it in this process (in an option or a call), or registered its file with
``assay plugins trust``. Installed plugins and Assay's own modules need no trust: they register their components
themselves, under names.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
from collections.abc import Iterable
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

from assay.errors import PluginError

_MODULE_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)
_named_by_user: set[str] = set()


def trust(module: str) -> None:
    """Trust a module for the rest of this process, because the user named it, not a file."""
    _named_by_user.add(module)


def is_trusted(module: str) -> bool:
    """Return whether a module that a file names may be imported."""
    if module in _named_by_user:
        return True
    file = read_trusted().get(module)
    return file is not None and file == locate(module)


def check_trusted(module: str, subject: str) -> None:
    """Raise PluginError, which says how to trust a module, unless a file may cause its import.

    ``subject`` begins the message: "the plugin mine 1.2, which the run used,".
    """
    if not is_trusted(module):
        advice = (
            f"to load it, run 'assay plugins trust {module}'"
            if is_valid_name(module)
            else "no module has this name"
        )
        raise PluginError(f"{subject} is not trusted here and was not loaded; {advice}")


def is_valid_name(module: str) -> bool:
    """Return whether a text is the dotted name of a module."""
    return _MODULE_NAME.fullmatch(module) is not None


def find_top_level(module: str) -> ModuleSpec | None:
    """Find the top-level package or module that contains a module, in the current folder first, importing nothing."""
    top = module.partition(".")[0]
    try:
        return PathFinder.find_spec(top, [str(Path.cwd())]) or importlib.util.find_spec(top)
    except ValueError:  # a module without a spec, such as a running script
        return None


def locate(module: str) -> str | None:
    """Return the file or folder of the top-level package or module that contains a module; None if there is none."""
    if (spec := find_top_level(module)) is None:
        return None
    folders = tuple(spec.submodule_search_locations or ())
    return (
        str(Path(spec.origin).resolve()) if spec.has_location and spec.origin else next(iter(folders), None)
    )


def read_trusted() -> dict[str, str]:
    """Return the modules that the user trusts permanently, each with the file that it must be loaded from."""
    file = _settings_file()
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        return {str(module): str(place) for module, place in content["trusted"].items()}
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise PluginError(f"{file} cannot be read: {error.strerror or error}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise PluginError(f"{file} is damaged; delete it and run 'assay plugins trust' again") from None


def change_trusted(add: Iterable[str] = (), remove: Iterable[str] = ()) -> dict[str, str]:
    """Add and remove permanently trusted modules, and return all of them. Raises PluginError for unknown modules."""
    modules = read_trusted()
    for module in add:
        place = locate(module) if is_valid_name(module) else None
        if place is None:
            raise PluginError(
                f"there is no module '{module}' in the current folder, in PYTHONPATH or among the installed packages"
            )
        modules[module] = place
    for module in remove:
        if modules.pop(module, None) is None:
            trusted = ", ".join(sorted(modules)) or "none"
            raise PluginError(f"the module '{module}' is not trusted; trusted modules: {trusted}")
    file = _settings_file()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        part = file.with_name(f".{file.name}.{os.getpid()}.part")
        part.write_text(
            json.dumps({"trusted": dict(sorted(modules.items()))}, indent=2) + "\n", encoding="utf-8"
        )
        part.replace(file)
    except OSError as error:
        raise PluginError(f"{file} cannot be written: {error.strerror or error}") from None
    return modules


def _settings_file() -> Path:
    from assay.support.files import config_folder  # imports locks and SQLite, which only settings need

    return config_folder() / "plugins.json"
