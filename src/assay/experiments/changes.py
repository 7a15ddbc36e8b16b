"""Changes by name: one of each kind of perturbation, of a middling size, for designs that combine them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from assay.perturb import Mask, Perturbation
from assay.perturb.senses import others_at, pictures_at
from assay.perturb.senses.images import BlankPictures, DroppedCamera, PictureSense
from assay.perturb.words import rewordings as words
from assay.perturb.world import (
    Among,
    Confound,
    Displace,
    Distractors,
    Jitter,
    MoveCamera,
    MoveFixture,
    Obstacle,
    Orbit,
    Recolour,
    Relight,
    Relocate,
    Remove,
    Repaint,
    Replace,
    Resize,
    Room,
    StartPose,
    Swap,
)
from assay.tasks import Arena, Task
from assay.tasks.scene import Pattern, Surface

MIDDLING = 5
"""Severity of 1 to 10."""
ROOMS = {
    Arena.TABLE: Arena.KITCHEN,
    Arena.KITCHEN: Arena.TABLE,
    Arena.LIVING_ROOM: Arena.TABLE,
    Arena.COFFEE_TABLE: Arena.LIVING_ROOM,
    Arena.STUDY: Arena.TABLE,
    Arena.FLOOR: Arena.TABLE,
}
"""The room a task is moved to: one whose camera is about as far off."""

_WORDS: dict[str, Perturbation] = {
    "semantic": words.Semantic(),
    "synonyms": words.Synonyms(),
    "concise": words.Concise(),
    "reorder": words.Reorder(),
    "passive": words.Passive(),
    "verbose": words.Verbose(),
    "telegraphic": words.Telegraphic(),
    "typos": words.Typos(),
    "substitute": words.Substitute(),
    "shuffle": words.Shuffle(),
    "mask": Mask(),
}
_WORLD: dict[str, Perturbation] = {
    "jitter": Jitter(0.05),
    "displace": Displace(0.15),
    "relocate": Relocate(0.5),
    "swap": Swap(),
    "move_fixture": MoveFixture(0.1),
    "recolour": Recolour(),
    "pattern": Recolour(pattern=Pattern.CHECKER),
    "resize": Resize(0.9),
    "replace": Replace(),
    "unseen": Replace(among=Among.UNSEEN),
    "shape": Replace(among=Among.SHAPE),
    "remove": Remove(),
    "distractors": Distractors(3),
    "confound": Confound((0.75, 0.3, 0.2)),
    "obstacle": Obstacle(),
    "table": Repaint(Surface.TABLE),
    "walls": Repaint(Surface.WALLS),
    "floor": Repaint(Surface.FLOOR),
    "light": Relight(0.5, tilt=(0.6, 0.0)),
    "camera": MoveCamera(shift=(0.0, 0.15, 0.1), turn=(0.0, 0.1, 0.0)),
    "orbit": Orbit(azimuth=0.4),
    "robot": StartPose(joints=0.2),
    "base": StartPose(base=(0.0, 0.08)),
}
_SENSES: dict[str, Perturbation] = {
    name.replace(" ", "_").lower(): sense
    for name, sense in {**pictures_at(MIDDLING), **others_at(MIDDLING)}.items()
}
_AXES: dict[str, Perturbation] = {
    "words": words.Synonyms(),
    "world": Relocate(0.5),
    "senses": pictures_at(MIDDLING)["Gaussian noise"],
}
_SINGLE = {**_AXES, **_WORDS, **_WORLD, **_SENSES}


def _always(change: Perturbation) -> Callable[[Task], tuple[Perturbation, ...]]:
    return lambda task: (change,)


CHANGES: Mapping[str, Callable[[Task], tuple[Perturbation, ...]]] = MappingProxyType(
    {name: _always(change) for name, change in _SINGLE.items()}
    | {"room": lambda task: (Room(ROOMS[task.scene.arena]),)}
)
"""What a task is changed by, by name: an axis stands for one typical change of it."""

_IN_WORDS = frozenset({"words", *_WORDS})
_ROOMS = frozenset({"room", "environment"})
_POSITIONS = frozenset({"world", "position", "jitter", "displace", "relocate", "swap", "move_fixture"})
_ABOUT_THE_THING = frozenset(
    {
        "recolour",
        "pattern",
        "resize",
        "replace",
        "unseen",
        "shape",
        "displace",
        "swap",
        "confound",
        "obstacle",
    }
)
_EXCLUSIVE = (
    (frozenset({"replace", "unseen", "shape"}), "the later takes the place of the earlier"),
    (frozenset({"recolour", "pattern"}), "the later covers the earlier"),
    (frozenset({"displace", "swap", "relocate", "world"}), "each decides where the same thing stands"),
    (frozenset({"darker", "lighter"}), "they undo each other"),
    (frozenset({"flatter", "harsher"}), "they undo each other"),
)


def ordered(names: Iterable[str]) -> list[str]:
    """Changes in the order in which they are made.

    The room first, on which it hangs what is within reach and where a camera is led to; then positions, which
    are drawn with an eye on sizes and should be the same whatever else is changed. Words come last: colours
    are chosen with an eye on the task's own.
    """
    return sorted(names, key=lambda name: (name not in _ROOMS, name not in _POSITIONS, name in _IN_WORDS))


def contradiction(one: str, other: str) -> str:
    """Why two changes make no sense together; empty if they do."""
    pair = {one, other}
    if one in _SINGLE and _SINGLE[one] == _SINGLE.get(other):
        return "they are the same"
    for names, reason in _EXCLUSIVE:
        if pair <= names:
            return reason
    for name, rest in ((one, other), (other, one)):
        if name == "mask" and rest in _IN_WORDS:
            return "no words are left to be reworded"
        if name == "remove" and rest in _ABOUT_THE_THING:
            return "the thing it changes is gone"
        hidden = isinstance(_SINGLE.get(name), (BlankPictures, DroppedCamera))
        if hidden and isinstance(_SINGLE.get(rest), PictureSense):
            return "no picture is left to be changed"
    return ""
