"""LIBERO-PRO: its five tables of alternatives for the objects, places, goals, rooms and words of a task.

The release draws one alternative for each thing and applies them together; here every entry of the tables is
a variant of its own, so that nothing hangs on a draw and every entry is told apart in the results.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from assay.episodes.spec import Label
from assay.experiments.base import Experiment, Variant
from assay.experiments.releases.base import Variants, release
from assay.formats import libero_pro as pro
from assay.formats.libero_pro import OtherGoal
from assay.perturb import Perturbation, Say
from assay.perturb.releases.values import Exchange, Recategorise, Unavailable
from assay.perturb.words.rewordings.other_task import OtherTask
from assay.perturb.world import Room

_Row = tuple[str, str, str, Perturbation, dict[str, Label]]
"""Task, table, axis, change, labels."""


def libero_pro(folder: str = "") -> Experiment:
    """The tables in a checkout, or in its folder ``libero_ood``."""
    return release(
        "libero-pro",
        "LIBERO-PRO as released: every entry of its five tables.",
        folder,
        _read,
        seeds=tuple(range(50)),
    )


def _read(folder: Path) -> Variants:
    variants: dict[str, list[Variant]] = defaultdict(list)
    for task, table, axis, change, more in _rows(folder):
        labels: dict[str, Label] = {"axis": axis, "plausible": True, "table": table, **more}
        variants[task].append(Variant(f"libero-pro/{table}", (change,), labels))
    return variants


def _rows(folder: Path) -> Iterator[_Row]:
    for each in pro.categories(folder):
        change: Perturbation = Recategorise(each.old, each.new)
        yield each.task, "object", "world", change, {"old": each.old, "new": each.new}
    for each in pro.positions(folder):
        change = Exchange(each.old, each.new)
        yield each.task, "position", "world", change, {"first": each.old, "second": each.new}
    for other in pro.goals(folder):
        yield other.task, "task", "words", _goal(other), {"asked": other.text}
    for place in pro.rooms(folder):
        yield place.task, "environment", "world", Room(place.room), {"room": place.room.value}
    for said in pro.wordings(folder):
        yield said.task, "semantic", "words", Say(said.text), dict(said.labels)


def _goal(other: OtherGoal) -> Perturbation:
    if other.goal is None:
        return Unavailable(other.problem)
    return OtherTask(other.text, tuple(str(atom) for atom in other.goal.atoms))
