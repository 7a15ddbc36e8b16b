"""Labels of a task, derived from its goal, scene and instruction; and labels of a change."""

from __future__ import annotations

import re
from collections.abc import Sequence

from assay.episodes import Label, Perturbation
from assay.episodes.perturbation import changed_by
from assay.sim.categories import OPENING
from assay.sim.render import CAMERAS
from assay.tasks import Predicate, Scene, Task
from assay.tasks.labels import FAMILIES, SEPARATOR
from assay.tasks.language.lexicon import COLOURS, DISTANCES, NO_COLOUR, PATTERNS, SIDES, SIZES, words

AXES = ("words", "world", "senses", "release")
STATES = (Predicate.OPEN, Predicate.CLOSE, Predicate.TURN_ON, Predicate.TURN_OFF)
SURFACES = (Predicate.ON, Predicate.UPRIGHT_ON, Predicate.SIDE_ON)
CONTAINERS = (Predicate.IN, Predicate.EXACT_IN)
_RANK = "top|middle|bottom|upper|lower|first|second|third|fourth|last"
_PART = "drawer|region|layer|shelf|level|row|compartment"
_RANKED = re.compile(rf"\b(?:{_RANK}) (?:and (?:{_RANK}) )?(?:{_PART})\b|\b(?:{_RANK}) (?:\w+ ){{0,3}}from\b")
_SURFACE = re.compile(r"\btop layer\b")
"""Phrase that looks like a rank but means the upper surface of an object; LIBERO-X does not count it as a rank."""


def nature(perturbations: tuple[Perturbation, ...], cameras: Sequence[str] = CAMERAS) -> dict[str, Label]:
    """Return the labels of a change: axis, change, and plausible (the task can still be done as instructed).

    ``guessable`` is included if the instruction no longer states the task but a reader may guess it. ``cameras`` are
    the cameras that policies of the world use; LIBERO's by default. For combined changes, ``change`` joins them:
    ``appearance+object``.
    """
    if not perturbations:
        return {}
    axes = sorted(
        {perturbation.axis for perturbation in perturbations}, key=lambda axis: (_place(axis), axis)
    )
    blind = bool(cameras) and all(
        any(perturbation.hides(camera) for perturbation in perturbations) for camera in cameras
    )
    implausible = [perturbation for perturbation in perturbations if not perturbation.plausible]
    guessable = (
        bool(implausible) and all(perturbation.guessable for perturbation in implausible) and not blind
    )
    return {
        "axis": "+".join(axes),
        "change": changed_by(perturbation.change for perturbation in perturbations),
        "plausible": not implausible and not blind,
        **({"guessable": True} if guessable else {}),
    }


def _place(axis: str) -> int:
    return AXES.index(axis) if axis in AXES else len(AXES)


def families(task: Task) -> dict[str, Label]:
    """Return the labels of a task in each family, as one text: ``container, left-right``; None without labels."""
    return {family: SEPARATOR.join(labels) or None for family, labels in label_sets(task).items()}


def label_sets(task: Task) -> dict[str, tuple[str, ...]]:
    """Return the labels of a task in each of LIBERO-X's four families: interaction, subtasks, relation, attribute."""
    carried = _interactions(task) | {_subtasks(task)} | _relations(task) | _attributes(task)
    return {family: tuple(label for label in names if label in carried) for family, names in FAMILIES.items()}


def _interactions(task: Task) -> set[str]:
    """Return the labels placement and state change; a task with both has all three labels."""
    states = {atom.predicate in STATES for atom in task.goal.atoms} | (
        {True} if _opened_first(task) else set()
    )
    interactions = {"state change" if state else "placement" for state in states}
    return interactions | ({"composite"} if len(interactions) > 1 else set())


def _subtasks(task: Task) -> str:
    """Return the number of subtasks: the goal's atoms, and fixtures that must be opened without the goal stating
    it.
    """
    count = len(task.goal.atoms) + len(_opened_first(task))
    return str(count) if count < 3 else "3+"


def _relations(task: Task) -> set[str]:
    """Return the relations: surface or container, from the goal; side, rank or distance, from the instruction."""
    predicates = {atom.predicate for atom in task.goal.atoms}
    text = task.instruction.text
    spoken = set(words(text))
    holds = {
        "surface": not predicates.isdisjoint(SURFACES),
        "container": not predicates.isdisjoint(CONTAINERS),
        "left-right": not spoken.isdisjoint(SIDES),
        "ordinal": bool(_RANKED.search(_SURFACE.sub("", " ".join(words(text))))),
        "relative distance": not spoken.isdisjoint(DISTANCES),
    }
    return {name for name, holding in holds.items() if holding}


def _attributes(task: Task) -> set[str]:
    """Return the visual attributes by which the instruction distinguishes objects; the category if none exist."""
    spoken = set(words(" ".join(words(task.instruction.text)).replace(*NO_COLOUR)))
    vocabularies = {"colour": COLOURS.keys(), "size": SIZES, "pattern": PATTERNS}
    return {look for look, vocabulary in vocabularies.items() if spoken & vocabulary} or {"category"}


def _opened_first(task: Task) -> set[str]:
    """Return the receptacles that are closed at the start and must be opened without the goal stating it."""
    opened = {
        task.scene.owner(atom.arguments[0]) for atom in task.goal.atoms if atom.predicate is Predicate.OPEN
    }
    needed = {
        atom.arguments[1]
        for atom in task.goal.atoms
        if atom.predicate is Predicate.IN and _is_closed(task.scene, atom.arguments[1])
    }
    return {place for place in needed if task.scene.owner(place) not in opened}


def _is_closed(scene: Scene, place: str) -> bool:
    """Return whether a place is inside a fixture that can be opened and is closed at the start."""
    inside = {entity.name for entity in scene.entities if entity.category in OPENING}
    open_now = {atom.arguments[0] for atom in scene.initial if atom.predicate is Predicate.OPEN}
    return scene.owner(place) in inside and not {place, scene.owner(place)} & open_now
