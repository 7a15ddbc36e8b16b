"""After LIBERO-PRO: objects, positions, wordings, tasks and rooms changed, alone and together."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from assay.perturb import Perturbation
from assay.perturb.words.rewordings import LADDER, Semantic, other_tasks
from assay.perturb.world import Displace, Recolour, Relocate, Replace, Resize, Room
from assay.suites.base import Suite, Variant
from assay.suites.spec import Label
from assay.tasks import Arena, Task
from assay.tasks.staging import Pattern

AXES = {"object": "world", "position": "world", "semantic": "words", "environment": "world"}
"""What may be combined; each is a change of the words or of the world."""
SWEEP = tuple(round(0.05 * step, 2) for step in range(1, 9))
"""Distances of the displacement sweep, metres; its zero is the control."""
ROOMS = {
    Arena.TABLE: Arena.KITCHEN,
    Arena.KITCHEN: Arena.TABLE,
    Arena.LIVING_ROOM: Arena.COFFEE_TABLE,
    Arena.COFFEE_TABLE: Arena.LIVING_ROOM,
    Arena.STUDY: Arena.TABLE,
    Arena.FLOOR: Arena.TABLE,
}
"""The room a task is moved to."""


def pro(experiments: bool = True) -> Suite:
    """The five perturbations and their combinations; with ``experiments``, the three first ones too.

    Those are the displacement sweep, the corruption ladder and the object-dissimilarity ladder.
    """
    return Suite(
        name="pro",
        about="Objects, positions, wordings, tasks and rooms, alone and together (after LIBERO-PRO).",
        variants=lambda task: _variants(task, experiments),
        seeds=tuple(range(50)),
    )


def _variants(task: Task, experiments: bool) -> Iterator[Variant]:
    changes = _changes(task)
    for count in range(1, len(changes) + 1):
        for chosen in combinations(changes, count):
            axes = "+".join(dict.fromkeys(AXES[name] for name in chosen))
            flags: dict[str, Label] = {f"factor:{name}": name in chosen for name in changes}
            yield Variant(
                f"pro/{'+'.join(chosen)}",
                tuple(each for name in chosen for each in changes[name]),
                {"axis": axes, "plausible": True, **flags},
            )
    for each in other_tasks(task)[:1]:
        yield Variant("pro/task", (each.perturbation,), {"axis": "words", **each.labels})
    if experiments:
        yield from _experiments(task)


def _changes(task: Task) -> dict[str, tuple[Perturbation, ...]]:
    return {
        "object": (Recolour(pattern=Pattern.CHECKER),),
        "position": (Relocate(1.0),),
        "semantic": (Semantic(),),
        "environment": (Room(ROOMS[task.scene.arena]),),
    }


def _experiments(task: Task) -> Iterator[Variant]:
    for distance in SWEEP:
        labels: dict[str, Label] = {"axis": "world", "plausible": True, "distance": distance}
        yield Variant(f"pro/displace={distance:g}", (Displace(distance),), labels)
    for rung in LADDER:
        yield Variant(f"pro/words={rung.name}", (rung.perturbation,), {"axis": "words", **rung.labels})
    movable = {entity.name for entity in task.scene.objects}
    if task.goal.atoms[0].arguments[0] not in movable:
        return
    ladder: tuple[tuple[str, Perturbation], ...] = (
        ("colour", Recolour()),
        ("pattern", Recolour(pattern=Pattern.STRIPES)),
        ("size", Resize(1.15)),
        ("category", Replace("ketchup")),
    )
    for step, (name, change) in enumerate(ladder, start=1):
        yield Variant(
            f"pro/object={name}", (change,), {"axis": "world", "plausible": True, "dissimilarity": step}
        )
