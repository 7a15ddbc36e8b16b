"""LIBERO-PRO: changed objects, positions, wordings, tasks and rooms, alone and combined; and ladders of magnitude."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Literal

from assay.episodes import Label
from assay.errors import ExperimentError
from assay.experiments.base import Experiment, Variant
from assay.experiments.factors import ROOMS, sort_changes
from assay.experiments.labels import nature
from assay.perturb import Perturbation
from assay.perturb.words.rewordings import (
    LADDER,
    OtherTask,
    Rewording,
    Semantic,
    compositions,
    new_goals,
    other_tasks,
    to_rewordings,
)
from assay.perturb.world import (
    Alter,
    Among,
    Displace,
    DisplaceAlong,
    ExchangePlaces,
    Recolour,
    Relocate,
    Replace,
    Resize,
    Room,
    WorkspaceAxis,
    has_partners,
)
from assay.perturb.world.ground import carrier, movable, target
from assay.perturb.world.position import MAX_DISTANCE_M, SWEEP
from assay.support.streams import stream
from assay.tasks import Task
from assay.tasks.files import horizon
from assay.tasks.scene import Pattern

LARGER = 1.1
DISSIMILARITY: tuple[tuple[str, Perturbation], ...] = (
    ("colour", Recolour()),
    ("pattern", Recolour(pattern=Pattern.STRIPES)),
    ("size", Resize(LARGER)),
    ("same", Replace(among=Among.SAME)),
    ("category", Replace(among=Among.OTHER)),
    ("shape", Replace(among=Among.SHAPE)),
)
"""Object-dissimilarity ladder: decreasing similarity to the original object."""


MILDER: dict[str, Label] = {"milder": True}
"""Label of changes weaker than LIBERO-PRO's own, so that measures by kind exclude them."""


def pro(
    experiments: bool = True,
    distances: tuple[float, ...] = SWEEP,
    axis: Literal["x", "y", "any"] = "any",
) -> Experiment:
    """LIBERO-PRO's five perturbations and their combinations; with ``experiments``, also ladders and milder changes.

    ``distances`` are the steps of the displacement ladder in metres, ``axis`` its direction.
    """
    for distance in distances:
        if not 0 < distance <= MAX_DISTANCE_M:
            raise ExperimentError(
                f"pro: distances: {distance:g} m is not valid: above 0, up to {MAX_DISTANCE_M:g}"
            )
    if not distances:
        raise ExperimentError("pro: distances: at least one is needed; pro?experiments=false has none")
    if not experiments and (distances != SWEEP or axis != "any"):
        raise ExperimentError(
            "pro: distances and axis are those of the displacement ladder, which experiments=false leaves out"
        )
    if len(set(distances)) < len(distances):
        raise ExperimentError("pro: distances: each may be named once")

    def variants(task: Task) -> Iterator[Variant]:
        yield from _dimensions(task)
        if experiments:
            yield from _displacements(task, distances, axis)
            yield from _ladders(task)
            yield from _milder(task)

    return Experiment(
        name="pro",
        about="LIBERO-PRO: objects, positions, wordings, tasks and rooms, alone and together.",
        variants=variants,
        seeds=tuple(range(50)),
        certified=True,
    )


def _dimensions(task: Task) -> Iterator[Variant]:
    """Yield LIBERO-PRO's changes: four dimensions and their combinations; the task dimension is not combined."""
    alone = not has_partners(task)
    changes: dict[str, Perturbation] = {
        "object": Alter(),
        "position": ExchangePlaces(free=alone),
        "semantic": Semantic(),
        "environment": Room(),
    }
    for count in range(1, len(changes) + 1):
        for chosen in combinations(changes, count):
            perturbations = tuple(changes[name] for name in sort_changes(chosen))
            labels: dict[str, Label] = {f"factor:{name}": name in chosen for name in changes}
            if "position" in chosen:
                labels["moved_to"] = "free place" if alone else "another's place"
            yield Variant(f"pro/{'+'.join(chosen)}", perturbations, {**nature(perturbations), **labels})
    yield from _requests(task, "pro/task", to_rewordings(new_goals(task)))


def _requests(
    task: Task, condition: str, found: tuple[Rewording, ...], more: dict[str, Label] | None = None
) -> Iterator[Variant]:
    """Yield one of several alternative goals, varying between tasks of a scene; a longer goal gets twice the time."""
    if found:
        chosen = found[int(stream("pro", "task", task.id).integers(len(found)))]
        labels: dict[str, Label] = {"axis": "words", **chosen.labels, **(more or {})}
        change = chosen.perturbation
        longer = isinstance(change, OtherTask) and len(change.goal) > len(task.goal.atoms)
        yield Variant(condition, (change,), labels, steps=2 * horizon(task.id) if longer else None)


def _displacements(
    task: Task, distances: tuple[float, ...], axis: Literal["x", "y", "any"]
) -> Iterator[Variant]:
    if carrier(task.scene, target(task)) not in movable(task):
        return  # a cabinet has no room
    for distance in distances:
        labels: dict[str, Label] = {"axis": "world", "plausible": True, "distance": distance}
        change = Displace(distance) if axis == "any" else DisplaceAlong(WorkspaceAxis(axis), distance)
        yield Variant(f"pro/displace={distance:g}", (change,), labels)


def _ladders(task: Task) -> Iterator[Variant]:
    """Yield the ladders: decreasing instruction content, decreasing object similarity, and a goal of twice the
    length.
    """
    for rung in LADDER:
        yield Variant(f"pro/words={rung.name}", (rung.perturbation,), {"axis": "words", **rung.labels})
    if target(task) in movable(task):
        for step, (name, change) in enumerate(DISSIMILARITY, start=1):
            if isinstance(change, Recolour) and not change.is_true(task):
                continue  # a purple bowl is not "the black bowl"
            labels = {**nature((change,)), "dissimilarity": step}
            yield Variant(f"pro/object={name}", (change,), labels)
    steps = compositions(task)
    if steps:
        change = steps[int(stream("pro", "compose", task.id).integers(len(steps)))]
        labels = {"axis": "words", "plausible": True}
        yield Variant("pro/task=two", (change,), labels, steps=2 * horizon(task.id))


def _milder(task: Task) -> Iterator[Variant]:
    """Yield changes milder than LIBERO-PRO's: first object only, second-best place, most similar room, a known
    goal.
    """
    looks = Recolour(pattern=Pattern.CHECKER)
    first = (
        *((looks,) if looks.is_true(task) else ()),
        *((Resize(LARGER),) if target(task) in movable(task) else ()),
    )
    if first:
        yield Variant("pro/object=first", first, MILDER)
    for condition, change in (
        ("pro/position=nudge", Relocate(1.0)),
        ("pro/environment=similar", Room(ROOMS[task.scene.arena])),
    ):
        yield Variant(condition, (change,), MILDER)
    milder = tuple(
        other_task for other_task in other_tasks(task) if other_task.labels["asked_from"] is not None
    )
    yield from _requests(task, "pro/task=known", milder, MILDER)
