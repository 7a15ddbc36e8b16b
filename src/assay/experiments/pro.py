"""LIBERO-PRO: changed objects, positions, wordings, tasks and rooms, alone and combined, and graded magnitudes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from types import MappingProxyType
from typing import Literal

from assay.episodes import Label
from assay.errors import ExperimentError
from assay.experiments.base import Experiment, LazyVariant, Variant
from assay.experiments.factors import ROOMS, sort_changes
from assay.experiments.labels import nature
from assay.perturb import Perturbation
from assay.perturb.words.rewordings.designs import LADDER, OtherTask, compositions
from assay.perturb.words.rewordings.goals import Alternative, alternatives, new_goals
from assay.perturb.words.rewordings.sentences import Semantic
from assay.perturb.world.exchange import ExchangePlaces, has_partners
from assay.perturb.world.ground import carrier, movable, target
from assay.perturb.world.kinds import Among
from assay.perturb.world.objects import Alter, Recolour, Replace, Resize
from assay.perturb.world.position import (
    MAX_DISTANCE_M,
    SWEEP,
    Displace,
    DisplaceAlong,
    Relocate,
    WorkspaceAxis,
)
from assay.perturb.world.staging import Room
from assay.sim.packs.registry import planning_pack
from assay.support.streams import stream
from assay.tasks import Task
from assay.tasks.files import horizon
from assay.tasks.scene import Pattern

LARGER = 1.1
DIMENSIONS: dict[str, Perturbation] = {
    "object": Alter(),
    "position": ExchangePlaces(),
    "semantic": Semantic(),
    "environment": Room(),
}
"""LIBERO-PRO's dimensions that can be combined."""
DISSIMILARITY: dict[str, Callable[[], Perturbation]] = {
    "colour": Recolour,
    "pattern": lambda: Recolour(pattern=Pattern.STRIPES),
    "size": lambda: Resize(LARGER),
    "same": lambda: Replace(among=Among.SAME),
    "category": lambda: Replace(among=Among.OTHER),
    "shape": lambda: Replace(among=Among.SHAPE),
}
"""Graded changes of an object, in order of decreasing similarity to the original object."""
MILDER: dict[str, Label] = {"milder": True}
"""Label of changes that are weaker than LIBERO-PRO's, so that measures by kind of change exclude them."""


def pro(
    experiments: bool = True,
    distances: tuple[float, ...] = SWEEP,
    axis: Literal["x", "y", "any"] = "any",
) -> Experiment:
    """LIBERO-PRO's five perturbations, also combined; with ``experiments``, also graded and milder changes.

    ``distances`` are the graded displacements in metres, and ``axis`` is their direction.
    """
    if not distances or len(set(distances)) < len(distances):
        raise ExperimentError("pro: distances: expected one or more distinct distances")
    for distance in distances:
        if not 0 < distance <= MAX_DISTANCE_M:
            raise ExperimentError(
                f"pro: distances: {distance:g} m is out of range: expected above 0, up to {MAX_DISTANCE_M:g}"
            )

    def variants(task: Task) -> Iterator[Variant | LazyVariant]:
        yield from _dimensions(task)
        if experiments:
            # A cabinet has no room to be displaced.
            for distance in distances if carrier(task.scene, target(task)) in movable(task) else ():
                labels: dict[str, Label] = {"axis": "world", "plausible": True, "distance": distance}
                change = Displace(distance) if axis == "any" else DisplaceAlong(WorkspaceAxis(axis), distance)
                yield Variant(f"pro/displace={distance:g}", (change,), labels)
            yield from _ladders(task)

    return Experiment(
        name="pro",
        about="LIBERO-PRO: objects, positions, wordings, tasks and rooms, alone and combined.",
        variants=variants,
        seeds=tuple(range(50)),
        certified=True,
    )


def _dimensions(task: Task) -> Iterator[LazyVariant]:
    """Yield LIBERO-PRO's changes: four dimensions and their combinations, and the task dimension alone."""

    def combine(chosen: tuple[str, ...]) -> Variant:
        labels: dict[str, Label] = {f"factor:{name}": name in chosen for name in DIMENSIONS}
        alone = "position" in chosen and not has_partners(task, planning_pack())
        if "position" in chosen:
            labels["moved_to"] = "free place" if alone else "another's place"
        changes = DIMENSIONS | {"position": ExchangePlaces(free=alone)}
        perturbations = tuple(changes[name] for name in sort_changes(chosen))
        return Variant(f"pro/{'+'.join(chosen)}", perturbations, {**nature(perturbations), **labels})

    for count in range(1, len(DIMENSIONS) + 1):
        for chosen in combinations(DIMENSIONS, count):
            yield LazyVariant(f"pro/{'+'.join(chosen)}", partial(combine, chosen))
    yield LazyVariant("pro/task", lambda: _request(task, "pro/task", new_goals(task)))


def _request(
    task: Task,
    condition: str,
    others: Sequence[Alternative],
    more: Mapping[str, Label] = MappingProxyType({}),
) -> Variant | None:
    """Return a variant with an alternative goal, sampled for each task; a longer goal gets twice the time."""
    if not others:
        return None
    other = others[int(stream("pro", "task", task.id).integers(len(others)))]
    labels: dict[str, Label] = {"axis": "words", "plausible": True, **other.labels, **more}
    longer = len(other.goal.atoms) > len(task.goal.atoms)
    steps = 2 * horizon(task.id) if longer else None
    return Variant(condition, (OtherTask(other.text, other.atoms),), labels, steps=steps)


def _ladders(task: Task) -> Iterator[Variant | LazyVariant]:
    """Yield graded and milder changes.

    Graded: decreasing instruction content, decreasing object similarity, and a goal of twice the length.
    Milder than LIBERO-PRO's: one object changed, objects shifted instead of exchanged, the most similar room,
    a known goal.
    """
    for rung, (name, rewording) in enumerate(LADDER.items(), start=1):
        labels: dict[str, Label] = {"axis": "words", "plausible": rewording.plausible, "rung": rung}
        yield Variant(f"pro/words={name}", (rewording,), labels)

    def dissimilar(name: str, step: int) -> Variant | None:
        change = DISSIMILARITY[name]()
        if isinstance(change, Recolour) and not change.finishes(task):
            return None  # a purple bowl is not "the black bowl"
        return Variant(f"pro/object={name}", (change,), {**nature((change,)), "dissimilarity": step})

    if target(task) in movable(task):
        for step, name in enumerate(DISSIMILARITY, start=1):
            yield LazyVariant(f"pro/object={name}", partial(dissimilar, name, step))

    def compose() -> Variant | None:
        goals = compositions(task)
        if not goals:
            return None
        change = goals[int(stream("pro", "compose", task.id).integers(len(goals)))]
        labels: dict[str, Label] = {"axis": "words", "plausible": True}
        return Variant("pro/task=two", (change,), labels, steps=2 * horizon(task.id))

    yield LazyVariant("pro/task=two", compose)

    def change_first() -> Variant | None:
        pattern = Recolour(pattern=Pattern.CHECKER)
        changes: list[Perturbation] = [pattern] if pattern.finishes(task) else []
        if target(task) in movable(task):
            changes.append(Resize(LARGER))
        return Variant("pro/object=first", tuple(changes), MILDER) if changes else None

    yield LazyVariant("pro/object=first", change_first)
    yield Variant("pro/position=nudge", (Relocate(1.0),), MILDER)
    yield Variant("pro/environment=similar", (Room(ROOMS[task.scene.arena]),), MILDER)

    def request_known() -> Variant | None:
        goals = [other for other in alternatives(task) if other.known_from is not None]
        return _request(task, "pro/task=known", goals, MILDER)

    yield LazyVariant("pro/task=known", request_known)
