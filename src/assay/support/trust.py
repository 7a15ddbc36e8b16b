"""Trust in modules and objects that a file names: the one place that decides whether they may be loaded.

Runs, specs, plans and certificates are data: what they name is never imported or called because they name it. A
module, or the object at an address ``python:module:object``, is trusted if the user named it in this process (in an
option or a call), or registered it with ``assay plugins trust``. Trust in a module allows its import, but none of its
other functions to be called; trust in an object includes its module. Installed plugins and Assay's own modules need no
trust: they register their components themselves, under names.
"""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Iterable
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

from assay.errors import PluginError

PYTHON = "python:"
"""Start of the address of an object in a module: ``python:module:object``."""
_MODULE_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)
SETTINGS = "plugins.json"
"""Name of the file of permanent trust, in the user's folder of settings."""
_named_by_user: set[str] = set()


def trust(name: str) -> None:
    """Trust a module or the object at an address for the rest of this process: the user named it, not a file."""
    _named_by_user.update((name, module_of(name)))


def is_trusted(name: str) -> bool:
    """Return whether a module that a file names may be imported, or the object at an address used."""
    if name in _named_by_user:
        return True
    file = read_trusted().get(name)
    return file is not None and file == locate(name)


def check_trusted(name: str, subject: str) -> None:
    """Raise PluginError, which says how to trust a module or address, unless a file may cause it to be loaded.

    ``subject`` begins the message: "the plugin mine 1.2, which the run used,".
    """
    if not is_trusted(name):
        module, place = module_of(name), None
        if is_valid_name(module):
            place = locate(module)
        advice = (
            f"to run its code ({place}), use 'assay plugins trust {name}'"
            if place
            else f"there is no module '{module[:100]}' here"
        )
        raise PluginError(f"{subject} is not trusted here and was not loaded; {advice}")


def module_of(name: str) -> str:
    """Return the module of an address; the name of a module is returned unchanged."""
    return name.removeprefix(PYTHON).partition(":")[0] if name.startswith(PYTHON) else name


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


def locate(name: str) -> str | None:
    """Return the file or folder of a module or of an address's module, importing nothing; None without one."""
    spec, path = find_top_level(name := module_of(name)), ""
    for part in name.split(".")[1:]:
        if spec is None:
            return None
        path = f"{path or spec.name}.{part}"
        spec = PathFinder.find_spec(path, spec.submodule_search_locations or [])
    if spec is None:
        return None
    folders = tuple(spec.submodule_search_locations or ())
    return (
        str(Path(spec.origin).resolve()) if spec.has_location and spec.origin else next(iter(folders), None)
    )


def read_trusted() -> dict[str, str]:
    """Return the modules and addresses that the user trusts permanently, and the file each must be loaded from."""
    from assay.support.files import config_folder

    file = config_folder() / SETTINGS
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        return {str(name): str(place) for name, place in content["trusted"].items()}
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise PluginError(f"{file} cannot be read: {error.strerror or error}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise PluginError(f"{file} is damaged; delete it and run 'assay plugins trust' again") from None


def change_trusted(add: Iterable[str] = (), remove: Iterable[str] = ()) -> dict[str, str]:
    """Add and remove permanently trusted modules and addresses, and return all. Raises PluginError for unknown ones."""
    trusted = read_trusted()
    for name in add:
        module = module_of(name)
        place = locate(module) if is_valid_name(module) else None
        if place is None:
            raise PluginError(
                f"there is no module '{module}' in the current folder, in PYTHONPATH or among the installed packages"
                + ("; name it without '.py'" if module.endswith(".py") else "")
            )
        trusted |= {name: place, module: place}
    for name in remove:
        if trusted.pop(name, None) is None:
            raise PluginError(f"'{name}' is not trusted; trusted: {', '.join(sorted(trusted)) or 'none'}")
        for address in [other for other in trusted if module_of(other) == name]:
            del trusted[address]
    from assay.support.files import (  # imports locks and SQLite, which only settings need
        config_folder,
        replacing,
    )

    file = config_folder() / SETTINGS
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PluginError(f"{file} cannot be written: {error.strerror or error}") from None
    with replacing(file) as unfinished:
        content = json.dumps({"trusted": dict(sorted(trusted.items()))}, indent=2)
        unfinished.write_text(f"{content}\n", encoding="utf-8")
    return trusted
