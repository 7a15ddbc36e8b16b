"""From a goal's atoms to skills in an order that works."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from assay.errors import TaskError
from assay.policies.oracle.grasps import can_be_held
from assay.policies.oracle.mechanisms import set_joint
from assay.policies.oracle.motion import Motion
from assay.policies.oracle.placing import Spot
from assay.policies.oracle.sight import Sight
from assay.policies.oracle.skills import Failures, drag, put, raise_up
from assay.policies.oracle.spots import on_top_of, sidewise, spots, upright
from assay.sim.categories import OPENING, SWITCHING, Mechanism
from assay.sim.compile import EntityIndex
from assay.sim.predicates import UP_HEIGHT
from assay.tasks import Atom, Goal, Predicate

ROUNDS = 3
"""How often the whole goal is gone through."""
ATTEMPTS = 2
"""How often an atom is tried before the next one."""

_ACTIVE = {Predicate.OPEN: True, Predicate.CLOSE: False, Predicate.TURN_ON: True, Predicate.TURN_OFF: False}
_TABLES = {
    Predicate.OPEN: OPENING,
    Predicate.CLOSE: OPENING,
    Predicate.TURN_ON: SWITCHING,
    Predicate.TURN_OFF: SWITCHING,
}
_INSIDE = (Predicate.IN, Predicate.EXACT_IN)
_ORDER = {Predicate.TURN_ON: 0, Predicate.TURN_OFF: 0, Predicate.OPEN: 1, Predicate.CLOSE: 3}
"""Switches first, then what opens, then what is put somewhere (2), and closing last."""


class ImpossibleError(TaskError):
    """An atom that the oracle cannot make true, and why."""


def pursue(sight: Sight, goal: Goal) -> Motion:
    """Make a goal true, atom by atom; what was undone on the way is done again.

    Raises ImpossibleError before the first action if an atom can never become true. Gives up, and returns
    False, when nothing it can do makes all of them true.
    """
    for atom in goal.atoms:
        _check(sight, atom)
    failures = Failures()
    for _ in range(ROUNDS):
        for atom in sorted(
            goal.atoms, key=lambda atom: (_ORDER.get(atom.predicate, 2), _height(sight, goal, atom))
        ):
            for _ in range(ATTEMPTS):  # what comes later may make it harder, as a closed door does
                if sight.holds(atom):
                    break
                for motion in _steps(sight, goal, atom, failures):
                    if not (yield from motion):
                        break
        if sight.world.satisfied(goal):
            return True
    return False


def _steps(sight: Sight, goal: Goal, atom: Atom, failures: Failures) -> Iterator[Motion]:
    """The motions that make one atom true."""
    if atom.predicate in _TABLES:
        entity, joints, mechanism = _mechanism(sight, atom)
        yield _to_range(sight, entity, joints, mechanism, active=_ACTIVE[atom.predicate])
        return
    thing = sight.entity(atom.arguments[0])
    assert thing is not None
    if atom.predicate is Predicate.UP:
        yield raise_up(sight, thing, UP_HEIGHT)
        return
    region = sight.region(atom.arguments[1])
    support = sight.entity(region.parent or "") if region is not None else sight.entity(atom.arguments[1])
    if atom.predicate in _INSIDE and region is not None and support is not None and region.joints:
        opens = OPENING.get(support.category)
        if opens is not None and not any(opens.active.holds(sight.joint(j)) for j in region.joints):
            yield _to_range(sight, support, region.joints, opens, active=True)
    if region is not None and _is_slid(sight, atom, thing):
        room = sight.region_box(region)
        inset = np.minimum(0.015, room.size[:2] / 2)
        origin = sight.pose(thing)[0][:2]
        yield drag(sight, thing, np.clip(origin, room.low[:2] + inset, room.high[:2] - inset))
        return
    more = _to_come(sight, goal, atom)

    def places() -> list[Spot]:
        rotations = None
        if atom.predicate is Predicate.SIDE_ON:
            rotations = sidewise(sight, thing)
        elif atom.predicate is Predicate.UPRIGHT_ON:
            rotations = upright(sight, thing)
        if region is not None:
            return spots(sight, thing, region, rotations, inside=atom.predicate in _INSIDE, more=more)
        assert support is not None
        return on_top_of(sight, thing, support, rotations)

    yield put(sight, thing, places, failures)


def _height(sight: Sight, goal: Goal, atom: Atom) -> int:
    """On how many things that are put somewhere, too, an atom's thing goes: the lowest first."""
    below: Atom | None = atom
    found = -1
    while found < len(goal.atoms) and below is not None:  # a circle ends, too
        found += 1
        region = sight.region(below.arguments[-1])
        support = below.arguments[-1] if region is None else region.parent
        below = next(
            (each for each in goal.atoms if len(each.arguments) > 1 and each.arguments[0] == support), None
        )
    return found


def _is_slid(sight: Sight, atom: Atom, thing: EntityIndex) -> bool:
    """Whether a thing is pushed rather than carried: flat and wide, to a place on the table."""
    region = sight.region(atom.arguments[-1])
    size = sight.box(thing).size
    return bool(region is not None and region.parent is None and size[2] < 0.03 and size[:2].min() > 0.1)


def _to_come(sight: Sight, goal: Goal, atom: Atom) -> int:
    """How many other things still have to go where an atom's thing goes."""
    return sum(
        other is not atom and other.arguments[1:] == atom.arguments[1:] != () and not sight.holds(other)
        for other in goal.atoms
    )


def _check(sight: Sight, atom: Atom) -> None:
    """Raise ImpossibleError if an atom is false and nothing the oracle does can change that."""
    for name in atom.arguments:
        if sight.region(name) is None and sight.entity(name) is None:
            raise ImpossibleError(f"'{atom}': there is no {name} in the scene")
    if sight.holds(atom):
        return
    if atom.predicate in _TABLES:
        _mechanism(sight, atom)
        return
    entity = sight.entity(atom.arguments[0])
    if entity is None or not entity.movable:
        raise ImpossibleError(f"'{atom}': {atom.arguments[0]} is fixed and cannot be moved")
    if len(set(atom.arguments)) < len(atom.arguments):
        raise ImpossibleError(f"'{atom}': it relates {entity.name} to itself")
    if not _is_slid(sight, atom, entity) and not can_be_held(sight, entity):
        raise ImpossibleError(f"'{atom}': {entity.name} has no piece that the hand can take hold of")


def _mechanism(sight: Sight, atom: Atom) -> tuple[EntityIndex, tuple[int, ...], Mechanism]:
    """What an atom about opening or switching is about: the entity, its joints' ids, and how it works."""
    name = atom.arguments[0]
    region = sight.region(name)
    entity = sight.entity(name if region is None else region.parent or "")
    mechanism = None if entity is None else _TABLES[atom.predicate].get(entity.category)
    joints = () if entity is None else entity.inner_joints if region is None else region.joints
    if entity is None or mechanism is None or not joints:
        raise ImpossibleError(f"'{atom}': {name} has nothing that opens or switches that way")
    return entity, joints, mechanism


def _to_range(
    sight: Sight, entity: EntityIndex, joints: tuple[int, ...], mechanism: Mechanism, *, active: bool
) -> Motion:
    """Bring joints well into the range of a state."""
    low, high = mechanism.active_range if active else mechanism.passive_range
    for joint in joints:
        bound = mechanism.active if active else mechanism.passive
        if bound.holds(sight.joint(joint)):
            continue
        yield from set_joint(sight, entity, joint, low + (high - low) * (0.6 if active else 0.5))
    bound = mechanism.active if active else mechanism.passive
    return all(bound.holds(sight.joint(joint)) for joint in joints)
