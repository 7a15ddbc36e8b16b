"""After LIBERO-PRO: objects, positions, wordings, tasks and rooms changed, alone and together."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from assay.episodes import Label
from assay.experiments.base import Experiment, Variant
from assay.experiments.changes import ROOMS, ordered
from assay.experiments.labels import nature
from assay.perturb import Perturbation
from assay.perturb.words.rewordings import LADDER, Rewording, Semantic, other_tasks
from assay.perturb.world import Among, Displace, Recolour, Relocate, Replace, Resize, Room, compositions
from assay.perturb.world.ground import carrier, movable, target
from assay.perturb.world.position import SWEEP
from assay.streams import stream
from assay.tasks import Task
from assay.tasks.horizons import horizon
from assay.tasks.staging import Pattern

LARGER = 1.1
DISSIMILARITY: tuple[tuple[str, Perturbation], ...] = (
    ("colour", Recolour()),
    ("pattern", Recolour(pattern=Pattern.STRIPES)),
    ("size", Resize(LARGER)),
    ("same", Replace(among=Among.SAME)),
    ("category", Replace(among=Among.OTHER)),
    ("shape", Replace(among=Among.SHAPE)),
)
"""The object-dissimilarity ladder: less and less like what the task was about."""


def pro(experiments: bool = True) -> Experiment:
    """The five perturbations and their combinations; with ``experiments``, the three first ones too.

    Those are the displacement sweep, the corruption ladder and the object-dissimilarity ladder.
    """
    return Experiment(
        name="pro",
        about="Objects, positions, wordings, tasks and rooms, alone and together (after LIBERO-PRO).",
        variants=lambda task: _variants(task, experiments),
        seeds=tuple(range(50)),
        certified=True,
    )


def _variants(task: Task, experiments: bool) -> Iterator[Variant]:
    changes = _changes(task)
    for count in range(1, len(changes) + 1):
        for chosen in combinations(changes, count):
            perturbations = tuple(each for name in ordered(chosen) for each in changes[name])
            flags: dict[str, Label] = {f"factor:{name}": name in chosen for name in changes}
            yield Variant(f"pro/{'+'.join(chosen)}", perturbations, {**nature(perturbations), **flags})
    for each in _other_task(task):
        yield Variant("pro/task", (each.perturbation,), {"axis": "words", **each.labels})
    if experiments:
        yield from _experiments(task)


def _changes(task: Task) -> dict[str, tuple[Perturbation, ...]]:
    """What may be combined. What a task is about has another look, and if it can be moved, another size."""
    looks = Recolour(pattern=Pattern.CHECKER)
    changes: dict[str, tuple[Perturbation, ...]] = {
        "object": (
            *((looks,) if looks.is_true(task) else ()),
            *((Resize(LARGER),) if target(task) in movable(task) else ()),
        ),
        "position": (Relocate(1.0),),
        "semantic": (Semantic(),),
        "environment": (Room(ROOMS[task.scene.arena]),),
    }
    return {name: each for name, each in changes.items() if each}


def _other_task(task: Task) -> tuple[Rewording, ...]:
    """One other goal, a known one if there is one: not the same for all tasks of a scene."""
    found = other_tasks(task)
    known = [each for each in found if each.labels["asked_from"] is not None] or list(found)
    return (known[int(stream("pro", "task", task.id).integers(len(known)))],) if known else ()


def _experiments(task: Task) -> Iterator[Variant]:
    sweep = SWEEP if carrier(task.scene, target(task)) in movable(task) else ()  # a cabinet has no room
    for distance in sweep:
        labels: dict[str, Label] = {"axis": "world", "plausible": True, "distance": distance}
        yield Variant(f"pro/displace={distance:g}", (Displace(distance),), labels)
    for rung in LADDER:
        yield Variant(f"pro/words={rung.name}", (rung.perturbation,), {"axis": "words", **rung.labels})
    if target(task) in movable(task):
        for step, (name, change) in enumerate(DISSIMILARITY, start=1):
            if isinstance(change, Recolour) and not change.is_true(task):
                continue  # a purple bowl is not "the black bowl"
            labels = {**nature((change,)), "dissimilarity": step}
            yield Variant(f"pro/object={name}", (change,), labels)
    found = compositions(task)
    if found:
        change = found[int(stream("pro", "compose", task.id).integers(len(found)))]
        labels = {"axis": "words", "plausible": True}
        yield Variant("pro/task=two", (change,), labels, steps=2 * horizon(task.id))
