"""What a perturbation is: a small frozen value that says of itself what it changes, and how it is written down."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from enum import StrEnum
from functools import cache
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
from pydantic import TypeAdapter, ValidationError

from assay.episodes.fields import check
from assay.errors import PerturbationError, PluginError, did_you_mean
from assay.support.plugins import registered_addresses
from assay.support.streams import stream


class Effect(StrEnum):
    """What of an episode a perturbation may touch."""

    WORDS = "words"
    """The instruction given to the policy."""
    LOOKS = "looks"
    """How the scene looks; the physics stays."""
    PHYSICS = "physics"
    """What stands where, what it is, how it moves."""
    GOAL = "goal"
    """What counts as success."""
    SENSES = "senses"
    """What the policy observes, or how its actions are carried out."""


class Change(StrEnum):
    """What a perturbation changes, as findings name it. Plugins may use words of their own."""

    NAMES = "names"
    """The instruction, and what it calls things."""
    WORDING = "wording"
    """The instruction; things keep their names."""
    SURFACE = "surface"
    """How the instruction is written: punctuation, capitals, blanks, courtesy; its words stay."""
    TASK = "task"
    """The instruction and the goal: something else is asked for."""
    POSITION = "position"
    APPEARANCE = "appearance"
    OBJECT = "object"
    """Size or category of the object."""
    CLUTTER = "clutter"
    """Further objects."""
    ROOM = "room"
    """Floor, walls, light."""
    CAMERA = "camera"
    ROBOT = "robot"
    SENSES = "senses"
    LATENCY = "latency"
    """How late decisions come."""
    DIFFICULTY = "difficulty"
    MEANWHILE = "meanwhile"
    """During the episode: what it is done with moves, falls or closes, so that one must look again."""
    REQUEST = "request"
    """During the episode: something else is asked for."""
    CANCEL = "cancel"
    """During the episode: the request is taken back."""
    INTERRUPTION = "interruption"
    """During the episode: something that calls for nothing but to go on."""
    WORLD = "world"
    """Something else in the world."""


TOGETHER = "+"
"""Between changes that are made together."""


def changed_by(changes: Iterable[str]) -> str:
    """What perturbations change, in one word or several: ``position``, ``appearance+object``; empty for nothing."""
    order = [str(change_kind) for change_kind in Change]
    parts = {part for change in changes for part in str(change).split(TOGETHER)}
    return TOGETHER.join(
        sorted(parts, key=lambda name: (order.index(name) if name in order else len(order), name))
    )


class Perturbation(ABC):
    """A frozen dataclass that turns one task into another of the same world, decorated by `perturbation`."""

    __slots__ = ()
    kind: str
    """Its name in JSON, e.g. ``words/say``; the part before the slash is its axis."""
    effects: frozenset[Effect] = frozenset()
    """What it may touch; everything else stays as it is."""
    change: str = Change.WORLD
    """What it changes, in one word, or several with + between them: a label of the conditions that consist of it."""
    world: str = "libero"
    """The name of the world whose tasks it changes; empty for any."""
    sets_vocabulary: bool = False
    """Whether the words and looks that are possible depend on it: it changes what there is, or what is asked."""
    guessable: bool = False
    """Whether what is asked for may be guessed although it is not plausible: to do it is no sign of memory."""

    def __post_init__(self) -> None:
        """Raise PerturbationError if a field holds what is not valid."""
        check(self)

    @abstractmethod
    def apply(self, task: Any, rng: np.random.Generator) -> Any:
        """The changed task. Raises PerturbationError where it cannot be done."""

    @property
    def plausible(self) -> bool:
        """Whether the task can still be done as instructed, so that success is expected."""
        return True

    @property
    def axis(self) -> str:
        """Words, world or senses."""
        return self.kind.partition("/")[0]

    @property
    def rebuilds(self) -> bool:
        """Whether the scene may change, so that its model must be compiled anew."""
        return not self.effects.isdisjoint({Effect.LOOKS, Effect.PHYSICS})

    @property
    def decides(self) -> bool:
        """Whether what is to be done, or how it can be done, may depend on it: words, looks, senses do not."""
        return not self.effects.isdisjoint({Effect.PHYSICS, Effect.GOAL})

    @property
    def scene_file(self) -> str | None:
        """The id of the task file whose scene takes the place of the task's own, if it brings one."""
        return None

    def certified_as(self) -> Perturbation | None:
        """The perturbation to certify in its place, or None if it cannot affect solvability."""
        return self if self.decides else None

    def hides(self, camera: str) -> bool:
        """Whether nothing is to be seen through a camera."""
        return False


P = TypeVar("P", bound=type[Perturbation])
AnyTask = TypeVar("AnyTask")
_KINDS: dict[str, type[Perturbation]] = {}


def perturbation(cls: P) -> P:
    """Make a class known by its kind."""
    registered = _KINDS.get(getattr(cls, "kind", ""))
    if not is_dataclass(cls) or not issubclass(cls, Perturbation) or not hasattr(cls, "kind"):
        raise PluginError(
            f"{cls.__module__}.{cls.__name__} must be a frozen dataclass, a Perturbation with a kind"
        )
    if registered is not None and (registered.__module__, registered.__qualname__) != (
        cls.__module__,
        cls.__qualname__,
    ):
        raise PluginError(
            f"there are two perturbations '{cls.kind}': {registered.__module__} and {cls.__module__}"
        )
    _KINDS[cls.kind] = cls
    return cls


def kinds() -> Mapping[str, type[Perturbation]]:
    """Every perturbation by its kind: Assay's own and those of plugins."""
    for module in registered_addresses("perturbations").values():
        importlib.import_module(module)
    return MappingProxyType(_KINDS)


def known_kind(kind: str) -> type[Perturbation] | None:
    """The class of a kind, or None if it is not registered."""
    return _KINDS.get(kind) or kinds().get(kind)


def to_json(value: Perturbation) -> dict[str, Any]:
    """A perturbation as a JSON object: its kind and its fields, equal ones alike (0 and 0.0 and -0.0)."""
    adapter = _adapter(type(value))
    raw = {field.name: getattr(value, field.name) for field in fields(value)}  # type: ignore[arg-type]
    plain: dict[str, Any] = adapter.dump_python(adapter.validate_python(raw), mode="json")
    return {"kind": value.kind} | {
        name: _drop_sign_of_zero(plain_value) for name, plain_value in plain.items()
    }


def from_json(value: Mapping[str, Any]) -> Perturbation:
    """A perturbation from a JSON object. Raises PerturbationError that says what would be valid."""
    kind = str(value.get("kind"))
    cls = known_kind(kind)
    if cls is None:
        raise PerturbationError(f"there is no perturbation '{kind}': {did_you_mean(kind, _KINDS)}")
    content = {name: field_value for name, field_value in value.items() if name != "kind"}
    names = [field.name for field in fields(cls)]  # type: ignore[arg-type]
    for name in content:
        if name not in names:
            raise PerturbationError(f"{kind} has no field '{name}': {did_you_mean(name, names)}")
    try:
        return _adapter(cls).validate_python(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise PerturbationError(f"{kind}: {place}: {first['msg'].lower()}") from None


def apply_perturbations(
    task: AnyTask, perturbations: Perturbation | Iterable[Perturbation], *, seed: int
) -> AnyTask:
    """Apply perturbations to a task in order, those that affect solvability first, each with its own random stream.

    Streams are keyed by kind and occurrence, so adding instruction or appearance changes does not alter the sampled
    scene. Raises PerturbationError for one that cannot be applied, or belongs to another world.
    """
    from assay.episodes.world import world_name

    before: Counter[str] = Counter()
    several = (perturbations,) if isinstance(perturbations, Perturbation) else tuple(perturbations)
    name = str(getattr(task, "id", ""))
    world = world_name(name)
    for change in sorted(several, key=lambda change: not change.decides):
        if change.world not in ("", world):
            raise PerturbationError(
                f"{change.kind} is for tasks of the world '{change.world}': {name} is of '{world}'"
            )
        task = change.apply(task, stream(seed, "perturbation", name, change.kind, before[change.kind]))
        before[change.kind] += 1
    return task


@cache
def _adapter(kind: type[Perturbation]) -> TypeAdapter[Perturbation]:
    return TypeAdapter(kind)


def _drop_sign_of_zero(value: Any) -> Any:
    """A JSON value with every -0.0 as 0.0."""
    if isinstance(value, list):
        return [_drop_sign_of_zero(item) for item in value]
    return value + 0.0 if isinstance(value, float) else value
