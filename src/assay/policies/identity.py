"""The identity of a policy: digests of its source and of the files named in its fields, and its fingerprint.

A run stores the identity, so that one run file never contains episodes of two policies.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from assay.episodes import LIBERO, Policy
from assay.errors import PolicyError, one_line
from assay.policies.registry import find_factory
from assay.support.addresses import arguments
from assay.support.files import digest_of_file
from assay.support.plugins import SCRIPT
from assay.support.trust import PYTHON

FINGERPRINT = "fingerprint"
"""Name of the class method (for policy objects: the method) that describes further dependencies of a policy."""
_INSTALLED = ("site-packages", "dist-packages")
_OWN = "assay"


def identity(policy: str | Policy, world: str = LIBERO) -> dict[str, str]:
    """Return the identity of a policy, given as an address or an object: a map from the name of a dependency to its
    digest.

    Dependencies are the source of a user's class (its module, and the modules next to it that it imports), the files
    named in its fields, and the result of its class method ``fingerprint``, called with the fields. The map is empty
    for servers, which report their own identity. Raises PolicyError.
    """
    if not isinstance(policy, str):
        # The source of a script is left out, because it may still change, and so is a class method `fingerprint`,
        # which does not know the object's fields: two objects with different fields would have the same identity.
        kind = type(policy)
        sources = {} if kind.__module__ == SCRIPT else source_digests(kind.__module__)
        method, static = getattr(policy, FINGERPRINT, None), inspect.getattr_static(policy, FINGERPRINT, None)
        if callable(method) and not isinstance(static, classmethod | staticmethod):
            sources[FINGERPRINT] = _call_fingerprint(method, {}, kind.__name__)
        return sources
    address = policy
    if "://" in address:
        return {}
    factory, query = find_factory(address, world)
    fields = arguments(factory, query, address, PolicyError)
    defaults = {}
    with suppress(TypeError, ValueError):  # a class written in C
        parameters = inspect.signature(factory).parameters
        defaults = {name: parameter.default for name, parameter in parameters.items()}
    digests = {}
    for name, value in {**defaults, **fields}.items():
        # Checkpoints and other files. A policy may write to folders, which would change its identity.
        if not isinstance(value, str | Path) or not str(value):
            continue
        path = Path(value)
        try:
            if path.is_file():
                digests[f"{name} {path.name}"] = digest_of_file(path)[:12]
        except OSError as error:
            raise PolicyError(
                f"the file given as {name}={value} cannot be read: {error.strerror or error}"
            ) from None
    if address.startswith(PYTHON):
        digests |= source_digests(factory.__module__)
        static = inspect.getattr_static(factory, FINGERPRINT, None)
        if static is not None and not isinstance(static, classmethod | staticmethod):
            raise PolicyError(
                f"'{address}': {FINGERPRINT} must be a class method, because it is called before the policy is created"
            )
        if static is not None:
            digests[FINGERPRINT] = _call_fingerprint(getattr(factory, FINGERPRINT), fields, f"'{address}'")
    return digests


def source_digests(module: str) -> dict[str, str]:
    """Return digests by file, for a module and, recursively, the modules next to it that it imports.

    Modules are next to it if they are in the folder that contains its top-level package; for an installed package,
    only its own modules count. Assay's modules are excluded, because a run stores Assay's version.
    """
    file = Path(getattr(sys.modules.get(module), "__file__", None) or "")
    top = module.partition(".")[0]
    if top == _OWN or file.suffix != ".py" or not file.is_file():
        return {}
    file = file.resolve()
    root = file.parents[module.count(".") + (file.name == "__init__.py")]
    is_installed = any(part in _INSTALLED for part in root.parts)
    waiting, seen = [(file, module)], {file}
    digests = {}
    while waiting:
        file, name = waiting.pop()
        digests[file.relative_to(root).as_posix()] = digest_of_file(file)[:12]
        for import_name in _imports(file, name):
            other = import_name.partition(".")[0]
            if other == _OWN or (is_installed and other != top):
                continue
            for path, path_name in _find_files(root, import_name):
                if path not in seen:
                    seen.add(path)
                    waiting.append((path, path_name))
    return dict(sorted(digests.items()))


def _imports(file: Path, module: str) -> Iterator[str]:
    """Yield the fully qualified names of what a source file imports: modules, and names in modules."""
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


def _find_files(root: Path, name: str) -> Iterator[tuple[Path, str]]:
    """Yield the files in a folder that define a module and its parent packages, with their names."""
    parts = name.split(".")
    for end in range(1, len(parts) + 1):
        place = root.joinpath(*parts[:end])
        for file in (place.with_suffix(".py"), place / "__init__.py"):
            if file.is_file():
                yield file, ".".join(parts[:end])


def _call_fingerprint(method: Callable[..., object], fields: Mapping[str, object], name: str) -> str:
    try:
        return str(method(**fields))[:200]
    except Exception as error:  # anything that a user's method raises
        raise PolicyError(f"{name}: {FINGERPRINT}() failed: {one_line(error)}") from error
