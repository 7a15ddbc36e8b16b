"""Named components from the core, from extensions, from installed plugins, and from ``python:module:object``.

Each kind of component (experiment, world, asset pack, ...) has one `Registry`. A plugin is a module that registers
components when it is imported, either as objects (`register`) or as addresses that are imported on first use
(`provide`). The folders under ``assay/extensions`` are plugins in this sense; an installed package names its module in
the entry-point group ``assay.plugins``. Wherever the user passes a name, ``python:module:object`` refers to any
importable object; in a file it does so only if the module is trusted (`assay.support.trust`).
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
import uuid
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib.machinery import PathFinder
from importlib.metadata import PackageNotFoundError, entry_points, packages_distributions, version
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, Generic, TypeVar

from assay.errors import AssayError, PluginError, did_you_mean, one_line
from assay.support.trust import PYTHON, check_trusted, find_top_level, is_valid_name, trust

GROUP = "assay.plugins"
"""Entry-point group in which an installed package declares its plugin module."""
SCRIPT = "__main__"
"""Module name of a script or a notebook, whose objects cannot be imported again by name."""
_OWN = "assay"
_EXTENSIONS = "assay.extensions"

T = TypeVar("T")
import_object = pkgutil.resolve_name
"""Function that returns the object at ``module:object``."""

_provided: dict[str, dict[str, str]] = {}
"""Addresses (``module:object``) by kind and name, as collected by `provide`."""
_registries: dict[str, Registry[Any]] = {}
"""Registries by kind, each present once the module that defines it has been imported."""
_pending: dict[str, dict[str, Any]] = {}
"""Components, by kind and name, that were registered before their registry was imported."""
KINDS = (
    "world",
    "experiment",
    "axis",
    "asset pack",
    "measure",
    "paper",
    "question source",
    "policy",
    "policy server",
    "sheet",
    "disturbance",
    "perturbations",
    "command",
    "tracker",
)
"""Kinds of components that plugins can add, with the form of their names:

``policy``          ``world/name``: a class with `reset` and `act`
``policy server``   ``world/scheme``: a client class for policy servers, constructed with the address
``sheet``           ``world``: a function that draws an experiment's conditions into a PNG file
``disturbance``     ``world``: a perturbation under which the demonstrator must also solve a scene
``command``         ``Heading/name``: a command of the command-line interface
``perturbations``   any: a module that defines perturbations
"""


def provide(kind: str, components: Mapping[str, str]) -> None:
    """Register components by address (``module:object``); each is imported when its name is first used.

        provide("experiment", {"shouting": "my_plugin.designs:shouting"})

    Raises PluginError if the kind is unknown or a name is already taken by another component.
    """
    _check_kind(kind)
    addresses = _provided.setdefault(kind, {})
    for name, address in components.items():
        if addresses.setdefault(name, address) != address:
            raise PluginError(f"two plugins provide the {kind} '{name}': {addresses[name]} and {address}")


def registered_addresses(kind: str) -> Mapping[str, str]:
    """Return the components that extensions and plugins provide, as a mapping from name to address."""
    discover_plugins()
    return MappingProxyType(_provided.get(kind, {}))


def register(kind: str, name: str) -> Callable[[T], T]:
    """Return a decorator that registers a component under a name: a world, experiment, asset pack, measure, ...

        @register("experiment", "shouting")
        def shouting(loud: bool = True) -> Experiment: ...

    Perturbations have a separate decorator, `assay.perturbation`, because their name is their kind.
    """
    _check_kind(kind)

    def add(component: T) -> T:
        if kind in _registries:
            _registries[kind].register(name, component)
        else:
            _pending.setdefault(kind, {})[name] = component
        return component

    return add


def _check_kind(kind: str) -> None:
    if kind not in KINDS:
        raise PluginError(f"unknown kind of plugin '{kind}': {did_you_mean(kind, KINDS)}")


class PluginWarning(UserWarning):
    """Warning that a plugin cannot be used; everything else works."""


class Registry(Generic[T]):
    """The components of one kind, by name."""

    def __init__(
        self, noun: str, error: type[AssayError], built_in: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        """Create a registry; ``built_in`` maps names to ``module:object``; ``error`` messages use ``noun``."""
        self.noun = noun
        self._error = error
        self._built_in = dict(built_in)
        self._known: dict[str, T] = {}
        _registries[noun] = self
        for name, component in _pending.pop(noun, {}).items():
            self.register(name, component)

    @property
    def _addresses(self) -> Mapping[str, str]:
        _load_extensions()
        return {**self._built_in, **_provided.get(self.noun, {})}

    def register(self, name: str, thing: T) -> T:
        """Register a component under a name. Raises PluginError if another component has the name."""
        registered = self._known.get(name)
        # A function or class of a reimported module is another object with the same source.
        is_same = registered is thing or (
            hasattr(thing, "__qualname__") and _source(registered) == _source(thing)
        )
        if name in self._addresses or (registered is not None and not is_same):
            raise PluginError(
                f"the {self.noun} '{name}' already exists: choose another name for {_source(thing)}"
            )
        self._known[name] = thing
        return thing

    def __iter__(self) -> Iterator[str]:
        """Iterate over all names: Assay's own, then those of plugins."""
        discover_plugins()
        return iter(dict.fromkeys((*self._addresses, *self._known)))

    def __contains__(self, name: object) -> bool:
        return name in self._addresses or name in self._known or name in tuple(self)

    def load(self, name: str) -> T:
        """Return the component with a name that the user, not a file, passed; an address is then trusted."""
        if name.startswith(PYTHON):
            trust(name)
        return self[name]

    def __getitem__(self, name: str) -> T:
        """Return the component with a name, or at ``python:module:object`` if this address is trusted.

        Raises an error that lists valid names.
        """
        if name.startswith(PYTHON):
            try:
                check_trusted(name, f"the {self.noun} '{name[:100]}', which only a file names,")
            except PluginError as error:
                raise self._error(str(error)) from None
            thing: T = from_python(name, self._error)
            return thing
        if name not in self._known and name not in self._addresses:
            discover_plugins()
        if name not in self._known and name in self._addresses:
            self._known[name] = import_object(self._addresses[name])
        if name not in self._known:
            advice = f"{did_you_mean(name, tuple(self))} (or {PYTHON}module:object)"
            raise self._error(f"there is no {self.noun} '{name}': {advice}")
        return self._known[name]


@dataclass(frozen=True, slots=True)
class Plugin:
    """A module outside Assay, as recorded in a run."""

    module: str
    distribution: str
    """Installed distribution that contains the module; empty for a standalone file."""
    version: str
    digest: str
    """Digest of the source of the plugin's top-level package or module, 12 hexadecimal digits."""

    @staticmethod
    @cache
    def from_module(module: str) -> Plugin:
        """Return the plugin for a module name."""
        from assay.support.files import digest_of  # imports locks and SQLite, which only plugins need

        top = module.partition(".")[0]
        names = packages_distributions().get(top, [])
        try:
            distribution, number = names[0], version(names[0])
        except (IndexError, PackageNotFoundError):
            distribution = number = ""
        package = sys.modules.get(top)
        spec = (
            find_top_level(top) if package is None else None
        )  # found, not imported: a file may have named it
        file = getattr(package, "__file__", spec.origin if spec and spec.has_location else None)
        folders = [
            Path(folder)
            for folder in getattr(package, "__path__", spec and spec.submodule_search_locations) or ()
        ]
        files = sorted(file for folder in folders for file in folder.rglob("*.py"))
        files = files or ([Path(file)] if file and Path(file).is_file() else [])
        if files:
            digest = digest_of(files, Path(os.path.commonpath([source.parent for source in files])))[:12]
        else:  # a notebook, or standard input: it can never be recognised again
            digest = f"?{uuid.uuid4().hex[:11]}"
        return Plugin(module, distribution, number, digest)

    def as_json(self) -> dict[str, str]:
        """Return the plugin as a JSON object; a script, whose source may change, is recorded by name only."""
        record = asdict(self)
        return record if self.module != SCRIPT else {**record, "distribution": _script(), "digest": ""}


def plugins_of(things: Iterable[object]) -> tuple[Plugin, ...]:
    """Return the plugins, other than Assay itself, that define the given objects, sorted by module."""
    modules = {getattr(thing, "__module__", None) or type(thing).__module__ for thing in things}
    foreign = (name for name in modules if name.partition(".")[0] not in (_OWN, "builtins", "functools"))
    return tuple(map(Plugin.from_module, sorted(foreign)))


def load_plugins(records: Iterable[Mapping[str, Any]]) -> list[str]:
    """Import the trusted plugins that a run used; return one line for each that is untrusted, missing or changed."""
    problems = []
    for record in records:
        module = str(record.get("module"))
        if module == SCRIPT:
            if record.get("distribution") != _script():
                problems.append(
                    f"the run used objects defined in {record.get('distribution')}, which cannot be imported, so its "
                    "episodes cannot be replayed"
                )
            continue
        try:
            _load_plugin(module, str(record.get("version") or ""))
        except PluginError as error:
            problems.append(str(error))
            continue
        if (now := Plugin.from_module(module)).digest != record.get("digest"):
            problems.append(
                f"the plugin {module} has changed since the run: {record.get('version') or 'unversioned'} "
                f"({record.get('digest')}) then, {now.version or 'unversioned'} ({now.digest}) now"
            )
    return problems


def _load_plugin(module: str, version_used: str) -> None:
    """Import a plugin that a run names, unless it is loaded or installed. Raises PluginError."""
    discover_plugins()
    installed = {point.module.partition(".")[0] for point in entry_points(group=GROUP)}
    if module in sys.modules or (is_valid_name(module) and module.partition(".")[0] in installed):
        return  # an installed plugin registers its components itself
    if is_valid_name(module) and find_top_level(module) is None:
        raise _missing(module)
    plugin = f"{module[:100]} {version_used[:20]}".strip()
    check_trusted(module, f"the plugin {plugin}, which the run used,")
    import_module(module)


@cache
def discover_plugins() -> tuple[str, ...]:
    """Import the modules that register components, in the core, the extensions and installed packages, once.

    Return one line for each plugin that cannot be imported; it is also issued as a warning.
    """
    _load_extensions()
    problems = []
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        try:
            point.load()
        except (Exception, SystemExit) as error:  # a plugin may raise anything; the others still work
            problems.append(f"the plugin '{point.name}' ({point.value}) cannot be loaded: {one_line(error)}")
            warnings.warn(problems[-1], PluginWarning, stacklevel=2)
    return tuple(problems)


@cache
def _load_extensions() -> None:
    """Import the modules that register built-in components; this is fast, because they register only addresses."""
    importlib.import_module("assay.policies")
    for extension in pkgutil.iter_modules(importlib.import_module(_EXTENSIONS).__path__):
        importlib.import_module(f"{_EXTENSIONS}.{extension.name}")


def from_python(address: str, error: type[AssayError] = PluginError) -> Any:
    """Return the object at ``python:module:object``, an address that the user passed; it is then trusted.

    Raises ``error`` with a one-line message.
    """
    module, _, name = address.removeprefix(PYTHON).partition(":")
    if not module or not name:
        raise error(f"'{address}' should be {PYTHON}module:object")
    trust(address)
    try:
        offered = vars(import_module(module))
    except PluginError as wrong:
        raise error(f"'{address}': {wrong}") from wrong
    if name not in offered:
        public = [
            key
            for key, value in offered.items()
            if not key.startswith("_") and not isinstance(value, ModuleType) and value is not annotations
        ]
        raise error(f"'{address}': {module} has no {name}: {did_you_mean(name, public)}")
    return offered[name]


def import_module(module: str) -> ModuleType:
    """Import a user's module, from the current folder if it is there. Raises PluginError with the module's name."""
    folder = str(Path.cwd())
    if (
        not {"", folder} & {*sys.path}
        and PathFinder.find_spec(module.partition(".")[0], [folder]) is not None
    ):
        sys.path.insert(0, folder)  # as Python does for a script
    try:
        return importlib.import_module(module)
    except (Exception, SystemExit) as error:  # a user's module may raise anything
        if isinstance(error, ModuleNotFoundError) and f"{module}.".startswith(f"{error.name}."):
            raise _missing(str(error.name)) from error
        raise PluginError(f"{module} cannot be imported: {one_line(error)}") from error


def _missing(module: str) -> PluginError:
    return PluginError(
        f"there is no module '{module}' in the current folder ({Path.cwd()}), in PYTHONPATH "
        f"({os.environ.get('PYTHONPATH') or 'not set'}) or among the installed packages"
    )


def _script() -> str:
    """Return the name of the running script."""
    file = getattr(sys.modules.get(SCRIPT), "__file__", None)
    return Path(file).name if file else "a notebook"


def _source(thing: object) -> str:
    return f"{getattr(thing, '__module__', type(thing).__module__)}.{getattr(thing, '__qualname__', '')}"
