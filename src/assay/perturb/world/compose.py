"""Two things to do in one scene, each of which is known alone."""

from __future__ import annotations

from assay.perturb.words.rewordings.goals import Alternative, alternatives
from assay.perturb.words.rewordings.other_task import OtherTask
from assay.perturb.world.ground import owner
from assay.tasks import Atom, Predicate, Scene, Task

_OPPOSITES = (
    {Predicate.OPEN, Predicate.CLOSE},
    {Predicate.TURN_ON, Predicate.TURN_OFF},
)
_PLACING = frozenset(
    {Predicate.ON, Predicate.IN, Predicate.EXACT_IN, Predicate.STACK, Predicate.UPRIGHT_ON, Predicate.SIDE_ON}
)


def compositions(task: Task) -> tuple[OtherTask, ...]:
    """A task and each known one that its scene allows together with it, as one: do this and that."""
    return tuple(
        OtherTask(
            f"{task.instruction.text} and {other.text}",
            tuple(str(atom) for atom in dict.fromkeys((*task.goal.atoms, *other.goal.atoms))),
        )
        for other in companions(task)
    )


def companions(task: Task) -> tuple[Alternative, ...]:
    """The known goals that can hold together with a task's own, as far as their atoms tell."""
    return tuple(
        alternative
        for alternative in alternatives(task)
        if alternative.known_from is not None
        and not any(
            _collide(atom, other, task.scene) for atom in task.goal.atoms for other in alternative.goal.atoms
        )
    )


def _collide(one: Atom, other: Atom, scene: Scene) -> bool:
    """Whether two atoms cannot hold together, or one is in the way of the other."""
    if one == other:
        return False
    placing = one.predicate in _PLACING and other.predicate in _PLACING
    if placing and one.arguments[0] == other.arguments[0]:
        return True
    # Two things in one place, and what is carried while something stands on it, are left to those who know.
    if placing and owner(scene, one.arguments[1]) == owner(scene, other.arguments[1]):
        return one.arguments[1] == other.arguments[1] and owner(scene, one.arguments[1]) not in _wide(scene)
    if placing and {one.arguments[0], other.arguments[0]} & {
        owner(scene, one.arguments[1]),
        owner(scene, other.arguments[1]),
    }:
        return True
    same = one.arguments == other.arguments
    return same and {one.predicate, other.predicate} in _OPPOSITES


def _wide(scene: Scene) -> set[str]:
    """What holds several things."""
    return {entity.name for entity in scene.entities if entity.category in ("basket", "wooden_tray")}
