"""Labels of a task, derived from its goal, scene and instruction, and labels of a change."""

from __future__ import annotations

import re
from collections.abc import Sequence

from assay.episodes import Label, Perturbation
from assay.episodes.perturbation import changed_by
from assay.sim.categories import OPENING
from assay.sim.render import CAMERAS
from assay.tasks import Predicate, Task
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
"""Phrase that resembles an ordinal rank but means the upper surface of an object; LIBERO-X does not count it as a
rank."""


def nature(perturbations: tuple[Perturbation, ...], cameras: Sequence[str] = CAMERAS) -> dict[str, Label]:
    """Return the labels of a change: axis, change, and plausible (the task can still be done as instructed).

    ``guessable`` is included if the instruction no longer states the task but a reader may guess it. ``cameras`` are
    the cameras that policies use in the world; LIBERO's by default. For combined changes, ``change`` joins their
    values: ``appearance+object``.
    """
    if not perturbations:
        return {}
    present = {perturbation.axis for perturbation in perturbations}
    axes = [axis for axis in AXES if axis in present] + sorted(present.difference(AXES))
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


def families(task: Task) -> dict[str, Label]:
    """Return the labels of a task as one text per family: ``container, left-right``; None if there are none."""
    return {family: SEPARATOR.join(labels) or None for family, labels in label_sets(task).items()}


def label_sets(task: Task) -> dict[str, tuple[str, ...]]:
    """Return the labels of a task in each of LIBERO-X's four families: interaction, subtasks, relation, attribute.

    A task with a placement and a state change is also composite. Side, rank, distance and visual attributes are taken
    from the instruction; without an attribute, objects are distinguished by category.
    """
    atoms, opened = task.goal.atoms, _opened_first(task)
    predicates = {atom.predicate for atom in atoms}
    text = " ".join(words(task.instruction.text))
    spoken, coloured = set(words(text)), set(words(text.replace(*NO_COLOUR)))
    count = len(atoms) + len(opened)
    placement = not predicates <= set(STATES)
    state_change = bool(opened or predicates.intersection(STATES))
    holds = {
        "placement": placement,
        "state change": state_change,
        "composite": placement and state_change,
        str(count) if count < 3 else "3+": True,
        "surface": not predicates.isdisjoint(SURFACES),
        "container": not predicates.isdisjoint(CONTAINERS),
        "left-right": not spoken.isdisjoint(SIDES),
        "ordinal": bool(_RANKED.search(_SURFACE.sub("", text))),
        "relative distance": not spoken.isdisjoint(DISTANCES),
        "colour": not coloured.isdisjoint(COLOURS),
        "size": not coloured.isdisjoint(SIZES),
        "pattern": not coloured.isdisjoint(PATTERNS),
    }
    holds["category"] = not (holds["colour"] or holds["size"] or holds["pattern"])
    return {
        family: tuple(label for label in labels if holds.get(label)) for family, labels in FAMILIES.items()
    }


def _opened_first(task: Task) -> set[str]:
    """Return the receptacles that are closed at the start and must be opened although the goal does not say so."""
    scene, atoms = task.scene, task.goal.atoms
    fixtures = {entity.name for entity in scene.entities if entity.category in OPENING}
    open_now = {atom.arguments[0] for atom in scene.initial if atom.predicate is Predicate.OPEN}
    opened = {scene.owner(atom.arguments[0]) for atom in atoms if atom.predicate is Predicate.OPEN}
    return {
        place
        for place in (atom.arguments[1] for atom in atoms if atom.predicate is Predicate.IN)
        if scene.owner(place) in fixtures - opened and open_now.isdisjoint({place, scene.owner(place)})
    }
