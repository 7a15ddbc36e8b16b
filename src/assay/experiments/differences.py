"""What tells a changed task from its original, found by comparing the two: for scenes that come from files.

Things that a file calls differently, as LIBERO-PRO's files of replaced objects do, are matched by their order.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping

from assay.episodes import Change
from assay.tasks import Atom, Entity, Predicate, Scene, Task
from assay.tasks.language.lexicon import words

DIGITS = 6
"""Places of regions that differ by less than a micrometre are the same."""
_PLACING = (Predicate.ON, Predicate.IN)
_WORKSPACE = "workspace"

Same = Mapping[str, str]
"""What a scene calls a thing -> what the original calls it."""


def differences(before: Task, after: Task) -> frozenset[Change]:
    """What was changed; empty if nothing was. The instruction of another goal belongs to the change of the task."""
    old, new = before.scene, after.scene
    pairs = (*_pairs(old.objects, new.objects), *_pairs(old.fixtures, new.fixtures))
    ours = _reader(old, {})
    theirs = _reader(new, {after.name: before.name for before, after in pairs})
    placed, moved = _starts(old, ours), _starts(new, theirs)
    worded = words(before.instruction.text) != words(after.instruction.text)
    other_goal = _read(before.goal.atoms, ours) != _read(after.goal.atoms, theirs)
    found = {
        Change.OBJECT: any((one.category, one.size) != (other.category, other.size) for one, other in pairs),
        Change.APPEARANCE: any(one.finish != other.finish for one, other in pairs),
        Change.CLUTTER: len(pairs) < max(len(old.entities), len(new.entities)),
        Change.POSITION: any(placed.get(one.name) != moved.get(one.name) for one, _ in pairs),
        Change.ROOM: (old.arena, old.style, old.staging) != (new.arena, new.style, new.staging),
        Change.WORLD: _states(old, ours) != _states(new, theirs),
        Change.TASK: other_goal,
        Change.WORDING: worded and not other_goal,
    }
    return frozenset(change for change, holds in found.items() if holds)


def shared_names(before: Task, after: Task) -> int:
    """How many things of a task's scene another scene has under the same name."""
    return len(
        {entity.name for entity in before.scene.entities} & {entity.name for entity in after.scene.entities}
    )


def _pairs(before: tuple[Entity, ...], after: tuple[Entity, ...]) -> list[tuple[Entity, Entity]]:
    """Things of two scenes that are the same: by name, and the others in their order."""
    known = {each.name: each for each in after}
    names = {each.name for each in before}
    same = [(each, known[each.name]) for each in before if each.name in known]
    gone = (each for each in before if each.name not in known)
    come = (each for each in after if each.name not in names)
    return same + list(zip(gone, come, strict=False))


def _reader(scene: Scene, same: Same) -> Callable[[str], Hashable]:
    """What a name in a scene stands for, so that it is equal in both: places by where they are."""

    def read(name: str) -> Hashable:
        region = scene.region(name)
        if region is None:
            return _WORKSPACE if name == scene.arena.workspace else same.get(name, name)
        if region.target != scene.arena.workspace:
            return same.get(region.target, region.target), region.name
        corners = tuple(round(number, DIGITS) for rectangle in region.rectangles for number in rectangle)
        return _WORKSPACE, corners, region.yaw

    return read


def _read(atoms: Iterable[Atom], read: Callable[[str], Hashable]) -> frozenset[Hashable]:
    return frozenset((atom.predicate, *map(read, atom.arguments)) for atom in atoms)


def _starts(scene: Scene, read: Callable[[str], Hashable]) -> dict[Hashable, Hashable]:
    """Where each thing starts."""
    placing = (atom for atom in scene.initial if atom.predicate in _PLACING)
    return {read(atom.arguments[0]): (atom.predicate, read(atom.arguments[1])) for atom in placing}


def _states(scene: Scene, read: Callable[[str], Hashable]) -> frozenset[Hashable]:
    """What else holds at the start: what is open, or turned on."""
    return _read((atom for atom in scene.initial if atom.predicate not in _PLACING), read)
