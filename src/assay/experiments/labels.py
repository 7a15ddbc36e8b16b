"""What kind of task a task is, derived from its goal, scene and instruction; and what a change changes."""

from __future__ import annotations

from collections.abc import Sequence

from assay.episodes import Label, Perturbation
from assay.episodes.perturbation import changed_by
from assay.language.attributes import COLOURS, DISTANCES, IDIOMS, ORDINALS, PATTERNS, SIDES, SIZES
from assay.perturb.world.ground import owner
from assay.sim.categories import OPENING
from assay.sim.render import CAMERAS
from assay.tasks import Predicate, Scene, Task
from assay.tasks.names import words

AXES = ("words", "world", "senses", "release")
STATES = (Predicate.OPEN, Predicate.CLOSE, Predicate.TURN_ON, Predicate.TURN_OFF)
VISUAL = (("colour", frozenset({*COLOURS, "wooden"})), ("size", SIZES), ("pattern", PATTERNS))


def nature(perturbations: tuple[Perturbation, ...], cameras: Sequence[str] = CAMERAS) -> dict[str, Label]:
    """What is changed, and whether the task can still be done as told: axis, change, plausible.

    ``cameras`` are those that policies of the world see through; LIBERO's by default.
    Where several things are changed together, ``change`` has all of them: ``appearance+object``.
    """
    if not perturbations:
        return {}
    axes = sorted({each.axis for each in perturbations}, key=lambda axis: (_place(axis), axis))
    blind = bool(cameras) and all(any(each.hides(camera) for each in perturbations) for camera in cameras)
    return {
        "axis": "+".join(axes),
        "change": changed_by(each.change for each in perturbations),
        "plausible": all(each.plausible for each in perturbations) and not blind,
    }


def _place(axis: str) -> int:
    return AXES.index(axis) if axis in AXES else len(AXES)


def families(task: Task) -> dict[str, str]:
    """Four label families: interaction, subtasks, relation, attribute."""
    return {
        "interaction": _interaction(task),
        "subtasks": _subtasks(task),
        "relation": _relation(task),
        "attribute": _attribute(task),
    }


def _interaction(task: Task) -> str:
    """Placement, state change, or both."""
    states = {atom.predicate in STATES for atom in task.goal.atoms}
    if states == {True, False} or _needs_opening(task):
        return "composite"
    return "state change" if states == {True} else "placement"


def _subtasks(task: Task) -> str:
    """How many things there are to do, one that must be opened first included."""
    count = len(task.goal.atoms) + _needs_opening(task)
    return str(count) if count < 3 else "3+"


def _relation(task: Task) -> str:
    """How the instruction says where: by a side, an order, a distance, a container or a surface."""
    said = _said(task)
    for name, vocabulary in (("left-right", SIDES), ("ordinal", ORDINALS), ("relative distance", DISTANCES)):
        if said & vocabulary:
            return name
    inside = any(atom.predicate in (Predicate.IN, Predicate.EXACT_IN) for atom in task.goal.atoms)
    return "container" if inside else "surface"


def _attribute(task: Task) -> str:
    """What the instruction tells things by, besides their category."""
    said = _said(task)
    for name, vocabulary in VISUAL:
        if said & vocabulary:
            return name
    return "category"


def _said(task: Task) -> set[str]:
    text = task.instruction.text.lower()
    for idiom in IDIOMS:
        text = text.replace(idiom, "")
    return set(words(text))


def _needs_opening(task: Task) -> bool:
    """Whether something goes into what is closed at the start."""
    return any(
        atom.predicate is Predicate.IN and _is_closed(task.scene, atom.arguments[1])
        for atom in task.goal.atoms
    )


def _is_closed(scene: Scene, place: str) -> bool:
    """Whether a place is inside of what opens and closes, and is not open at the start."""
    inside = {entity.name for entity in scene.entities if entity.category in OPENING}
    open_now = {atom.arguments[0] for atom in scene.initial if atom.predicate is Predicate.OPEN}
    return owner(scene, place) in inside and not {place, owner(scene, place)} & open_now
