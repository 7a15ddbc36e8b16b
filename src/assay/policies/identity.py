"""Which policy it is: digests of its source and of the files it is given, and what it says of itself.

A run keeps them, so that one file never holds the episodes of two policies.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from assay.episodes import LIBERO, Policy
from assay.errors import PolicyError, one_line
from assay.policies.registry import maker
from assay.support.addresses import arguments
from assay.support.files import digest_of_file
from assay.support.plugins import PYTHON, SCRIPT

FINGERPRINT = "fingerprint"
"""The class method, of objects the method, with which a policy says what else it hangs on."""
_INSTALLED = ("site-packages", "dist-packages")
_OWN = "assay"


def identity(address: str, world: str = LIBERO) -> dict[str, str]:
    """What the policy of an address hangs on: name -> digest. Servers, which tell of themselves, have none.

    The source of somebody's class (its module, and the modules beside it that it imports), files that
    the fields name, and what its class method ``fingerprint``, called with the fields, returns. Raises PolicyError.
    """
    if "://" in address:
        return {}
    made, query = maker(address, world)
    fields = arguments(made, query, address, PolicyError)
    found = _files(made, fields)
    if address.startswith(PYTHON):
        found |= source(made.__module__)
        found |= _fingerprint(made, fields, address)
    return found


def identity_of(policy: Policy) -> dict[str, str]:
    """The same of an object that acts in this process; a script that may go on changing is left out.

    Only a method of the object itself says what it is made of; a class method, which is given fields, is not asked.
    """
    kind = type(policy)
    found = {} if kind.__module__ == SCRIPT else source(kind.__module__)
    if isinstance(inspect.getattr_static(policy, FINGERPRINT, None), classmethod | staticmethod):
        return found  # knows nothing of this object: two with other fields would be taken for one
    says = getattr(policy, FINGERPRINT, None)
    return found | ({FINGERPRINT: _said(says, {}, kind.__name__)} if callable(says) else {})


def source(module: str) -> dict[str, str]:
    """Digests of a module and of all modules beside it that it imports, those that they import too, by file.

    Beside it is what lies below the folder that its top-level package or module lies in; of an installed package,
    its own modules alone. Assay's own are left out: a run has its version.
    """
    file = Path(getattr(sys.modules.get(module), "__file__", None) or "")
    if module.partition(".")[0] == _OWN or file.suffix != ".py" or not file.is_file():
        return {}
    file = file.resolve()
    root = file.parents[module.count(".") + (file.name == "__init__.py")]
    only = module.partition(".")[0] if any(part in _INSTALLED for part in root.parts) else None
    waiting, seen = [(file, module)], {file}
    found = {}
    while waiting:
        file, name = waiting.pop()
        found[file.relative_to(root).as_posix()] = digest_of_file(file)[:12]
        for wanted in _imported(file, name):
            if wanted.partition(".")[0] == _OWN or only not in (None, wanted.partition(".")[0]):
                continue
            for beside, its_name in _located(root, wanted):
                if beside not in seen:
                    seen.add(beside)
                    waiting.append((beside, its_name))
    return dict(sorted(found.items()))


def _imported(file: Path, module: str) -> Iterator[str]:
    """The full names of whatever a module's source imports, wherever it does; names of things in modules too."""
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError):
        return
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".") if package else []
            above = parts[: len(parts) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            if base:
                yield base
            yield from (f"{base}.{name.name}".lstrip(".") for name in node.names)


def _located(root: Path, name: str) -> Iterator[tuple[Path, str]]:
    """The files below a folder of a module of that name and of the packages that it is in, with their names."""
    parts = name.split(".")
    for end in range(1, len(parts) + 1):
        place = root.joinpath(*parts[:end])
        for file in (place.with_suffix(".py"), place / "__init__.py"):
            if file.is_file():
                yield file, ".".join(parts[:end])


def _files(made: Callable[..., Any], fields: Mapping[str, object]) -> dict[str, str]:
    """Digests of the files that fields name, those that are not set included: checkpoints, say.

    A folder may be one that the policy writes to, which would make it another policy each time: it is left out.
    """
    usual = {}
    with suppress(TypeError, ValueError):  # a class written in C
        usual = {name: each.default for name, each in inspect.signature(made).parameters.items()}
    found = {}
    for name, value in {**usual, **fields}.items():
        if not isinstance(value, str | Path) or not str(value):
            continue
        place = Path(value)
        try:
            if place.is_file():
                found[f"{name} {place.name}"] = digest_of_file(place)[:12]
        except OSError as error:
            raise PolicyError(f"{name}={value}: cannot be read: {error.strerror or error}") from None
    return found


def _fingerprint(made: Callable[..., Any], fields: Mapping[str, object], address: str) -> dict[str, str]:
    """What a class says of itself, if it does."""
    static = inspect.getattr_static(made, FINGERPRINT, None)
    if static is None:
        return {}
    if not isinstance(static, classmethod | staticmethod):
        raise PolicyError(
            f"'{address}': {FINGERPRINT} must be a class method: it is called before a policy is made"
        )
    return {FINGERPRINT: _said(getattr(made, FINGERPRINT), fields, f"'{address}'")}


def _said(says: Callable[..., object], fields: Mapping[str, object], name: str) -> str:
    try:
        return str(says(**fields))[:200]
    except Exception as error:  # whatever somebody's method raises
        raise PolicyError(f"{name}: {FINGERPRINT}() failed: {one_line(error)}") from error
