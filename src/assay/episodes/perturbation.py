"""Base class of perturbations: small immutable values that declare their effects and convert to JSON."""

from __future__ import annotations

import importlib
import inspect
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from enum import Enum, StrEnum
from functools import cache
from numbers import Integral, Real
from types import MappingProxyType
from typing import Any, TypeVar, cast, dataclass_transform, get_args, get_origin, get_type_hints

import numpy as np
from pydantic import TypeAdapter, ValidationError

from assay.errors import PerturbationError, PluginError, did_you_mean
from assay.support.plugins import registered_addresses
from assay.support.streams import stream


def within(low: float, high: float, default: Any = MISSING) -> Any:
    """Return a dataclass field for a number, or a tuple of numbers, from ``low`` to ``high``.

    The numbers must be integers if ``low`` is an integer. None is valid if it is the default.
    """
    return field(default=default, metadata={"valid": (low, high)})


def valid_range(attribute: Field[Any]) -> str:
    """Return a description of the numbers that a field accepts."""
    low, high = attribute.metadata["valid"]
    return f"{'integers ' if isinstance(low, int) else ''}{low:g} to {high:g}"


class Effect(StrEnum):
    """Parts of an episode that a perturbation may affect."""

    WORDS = "words"
    """The instruction given to the policy."""
    LOOKS = "looks"
    """Appearance of the scene; the physics is unchanged."""
    PHYSICS = "physics"
    """Objects, their positions and their dynamics."""
    GOAL = "goal"
    """The success condition."""
    SENSES = "senses"
    """The policy's observations, or the execution of its actions."""


class Change(StrEnum):
    """Kind of change, as named in findings. Plugins may define additional kinds."""

    NAMES = "names"
    """Words of the instruction, including the names of objects."""
    WORDING = "wording"
    """Words of the instruction, but not the names of objects."""
    SURFACE = "surface"
    """Spelling of the instruction: punctuation, capitalisation, spacing, politeness; its words are unchanged."""
    TASK = "task"
    """The instruction and the goal: a different task is requested."""
    POSITION = "position"
    APPEARANCE = "appearance"
    OBJECT = "object"
    """Size or category of the object."""
    CLUTTER = "clutter"
    """Additional objects."""
    ROOM = "room"
    """Floor, walls and light."""
    CAMERA = "camera"
    ROBOT = "robot"
    SENSES = "senses"
    LATENCY = "latency"
    """Inference latency."""
    DIFFICULTY = "difficulty"
    MEANWHILE = "meanwhile"
    """During the episode: the manipulated object moves, falls or closes, so that the policy must look again."""
    REQUEST = "request"
    """During the episode: a different task is requested."""
    CANCEL = "cancel"
    """During the episode: the request is cancelled."""
    INTERRUPTION = "interruption"
    """During the episode: an irrelevant change after which the policy should continue."""
    WORLD = "world"
    """Any other change of the world."""


TOGETHER = "+"
"""Separator between combined changes."""


def changed_by(changes: Iterable[str]) -> str:
    """Join kinds of change into one label, such as ``position`` or ``appearance+object``; empty for no kinds."""
    order = [str(change_kind) for change_kind in Change]
    parts = {part for change in changes for part in str(change).split(TOGETHER)}
    return TOGETHER.join(
        sorted(parts, key=lambda name: (order.index(name) if name in order else len(order), name))
    )


class Perturbation(ABC):
    """Base class of perturbations, which turn one task into another task of the same world.

    Subclasses are decorated with `perturbation`, which makes them frozen dataclasses.
    """

    __slots__ = ()
    kind: str
    """Name in JSON, e.g. ``words/say``; the part before the slash is the axis."""
    effects: frozenset[Effect] = frozenset()
    """Parts of the episode that the perturbation may affect; all other parts are unchanged."""
    change: str = Change.WORLD
    """Kind of change, or several kinds joined by +, used to label conditions."""
    world: str = "libero"
    """Name of the world whose tasks the perturbation modifies; empty for any world."""
    sets_vocabulary: bool = False
    """Whether the perturbation changes objects or the request, which determine suitable words and appearances."""
    neutral: Mapping[str, object] = MappingProxyType({})
    """Field values without effect; a perturbation in which all of these fields have these values is rejected."""
    guessable: bool = False
    """Whether the request can be guessed although the perturbation is not plausible, so that success does not
    indicate memorisation.
    """

    def __post_init__(self) -> None:
        """Raise PerturbationError if a field has an invalid value, or if all neutral fields have their neutral values.

        Fields for numbers are created with `within`. Fields for choices have an Enum as their type, and their values
        are converted to its members.
        """
        choices, lengths = _field_types(type(self))
        for attribute in fields(self):  # type: ignore[arg-type]
            name, content = attribute.name, getattr(self, attribute.name)
            if content is None and attribute.default is None:
                continue
            if name in choices:
                try:
                    object.__setattr__(self, name, choices[name](content))
                except ValueError:
                    advice = did_you_mean(str(content), [str(member.value) for member in choices[name]])
                    raise PerturbationError(f"{self.kind}: {name} is {content!r:.60}: {advice}") from None
            if "valid" in attribute.metadata:
                low, high = attribute.metadata["valid"]
                kind, length = Integral if isinstance(low, int) else Real, lengths.get(name)
                numbers = content if length and isinstance(content, tuple) else (content,)
                if len(numbers) != (length or 1) or not all(
                    isinstance(number, kind) and not isinstance(number, bool) and low <= number <= high
                    for number in numbers
                ):
                    expected = (f"{length} values, " if length else "") + valid_range(attribute)
                    raise PerturbationError(f"{self.kind}: {name} is {content!r:.60}; expected {expected}")
        if self.neutral and all(getattr(self, name) == nothing for name, nothing in self.neutral.items()):
            names = " or ".join(self.neutral)
            raise PerturbationError(f"{self.kind}: nothing is changed; choose another value for {names}")

    @abstractmethod
    def apply(self, task: Any, rng: np.random.Generator) -> Any:
        """Return the perturbed task. Raises PerturbationError if the perturbation is not applicable."""

    @property
    def plausible(self) -> bool:
        """Whether the task can still be done as instructed, so that success is expected."""
        return True

    @property
    def axis(self) -> str:
        """Axis: words, world or senses."""
        return self.kind.partition("/")[0]

    @property
    def rebuilds(self) -> bool:
        """Whether the scene may change, so that its model must be recompiled."""
        return not self.effects.isdisjoint({Effect.LOOKS, Effect.PHYSICS})

    @property
    def decides(self) -> bool:
        """Whether the goal or its solvability may change; instruction, appearance and senses affect neither."""
        return not self.effects.isdisjoint({Effect.PHYSICS, Effect.GOAL})

    @property
    def scene_file(self) -> str | None:
        """Id of the task file whose scene replaces the original scene, if any."""
        return None

    def certified_as(self) -> Perturbation | None:
        """Return the perturbation to certify in place of this one; None if this one cannot affect solvability."""
        return self if self.decides else None

    def hides(self, camera: str) -> bool:
        """Return whether the perturbation completely hides the scene from a camera."""
        return False


@cache
def _field_types(cls: type) -> tuple[dict[str, type[Enum]], dict[str, int]]:
    """Return two mappings by field name of a class: the Enum of each field with an Enum type, and the length of
    each field whose type is a tuple of fixed length.
    """
    choices, lengths = {}, {}
    for name, hint in get_type_hints(cls).items():
        for kind in (hint, *get_args(hint)):
            if inspect.isclass(kind) and issubclass(kind, Enum):
                choices[name] = kind
            elif get_origin(kind) is tuple and ... not in get_args(kind):
                lengths[name] = len(get_args(kind))
    return choices, lengths


P = TypeVar("P", bound=type[Perturbation])
AnyTask = TypeVar("AnyTask")
_KINDS: dict[str, type[Perturbation]] = {}


@dataclass_transform(frozen_default=True, field_specifiers=(field, within))
def perturbation(cls: P) -> P:
    """Turn a perturbation class into a frozen dataclass and register it under its kind (class decorator)."""
    if not issubclass(cls, Perturbation) or not hasattr(cls, "kind"):
        raise PluginError(f"{cls.__module__}.{cls.__name__} must derive from Perturbation and define a kind")
    if "__dataclass_fields__" not in vars(cls):
        cls = cast(P, dataclass(frozen=True, slots=True)(cls))
    registered = _KINDS.get(cls.kind)
    if registered is not None and (registered.__module__, registered.__qualname__) != (
        cls.__module__,
        cls.__qualname__,
    ):
        raise PluginError(
            f"two perturbations are registered as '{cls.kind}': {registered.__module__} and {cls.__module__}"
        )
    _KINDS[cls.kind] = cls
    return cls


def kinds() -> Mapping[str, type[Perturbation]]:
    """Return all perturbation classes by kind, including those from plugins."""
    for module in registered_addresses("perturbations").values():
        importlib.import_module(module)
    return MappingProxyType(_KINDS)


def to_json(value: Perturbation) -> dict[str, Any]:
    """Return a perturbation as a JSON object (kind and fields), the same for equal values (0, 0.0 and -0.0)."""
    adapter = _adapter(type(value))
    raw = {field.name: getattr(value, field.name) for field in fields(value)}  # type: ignore[arg-type]
    plain: dict[str, Any] = adapter.dump_python(adapter.validate_python(raw), mode="json")
    return {"kind": value.kind} | {
        name: _drop_sign_of_zero(plain_value) for name, plain_value in plain.items()
    }


def from_json(value: Mapping[str, Any]) -> Perturbation:
    """Create a perturbation from a JSON object. Raises PerturbationError, listing the valid values."""
    kind = str(value.get("kind"))
    cls = _KINDS.get(kind) or kinds().get(kind)  # plugins are imported only for an unknown kind
    if cls is None:
        raise PerturbationError(f"there is no perturbation '{kind}': {did_you_mean(kind, _KINDS)}")
    content = {name: field_value for name, field_value in value.items() if name != "kind"}
    names = [field.name for field in fields(cls)]  # type: ignore[arg-type]
    for name in content:
        if name not in names:
            raise PerturbationError(f"{kind} has no field '{name}': {did_you_mean(name, names)}")
    try:
        parsed: Perturbation = _adapter(cls).validate_python(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise PerturbationError(f"{kind}: {place}: {first['msg'].lower()}") from None
    return parsed


def apply_perturbations(
    task: AnyTask, perturbations: Perturbation | Iterable[Perturbation], *, seed: int
) -> AnyTask:
    """Apply perturbations to a task in order, those that affect solvability first, each with a separate random stream.

    Streams are keyed by kind and occurrence, so adding instruction or appearance changes does not alter the sampled
    scene. Raises PerturbationError for a perturbation that is not applicable or belongs to another world.
    """
    from assay.episodes.world import world_name

    before: Counter[str] = Counter()
    several = (perturbations,) if isinstance(perturbations, Perturbation) else tuple(perturbations)
    name = str(getattr(task, "id", ""))
    world = world_name(name)
    for change in sorted(several, key=lambda change: not change.decides):
        if change.world not in ("", world):
            raise PerturbationError(
                f"{change.kind} applies to tasks of the world '{change.world}'; {name} belongs to '{world}'"
            )
        task = change.apply(task, stream(seed, "perturbation", name, change.kind, before[change.kind]))
        before[change.kind] += 1
    return task


_adapter = cache(TypeAdapter)
"""Function that returns the converter between the perturbations of a class and JSON; converters are cached."""


def _drop_sign_of_zero(value: Any) -> Any:
    """Return a JSON value with every -0.0 replaced by 0.0."""
    if isinstance(value, list):
        return [_drop_sign_of_zero(item) for item in value]
    return value + 0.0 if isinstance(value, float) else value
