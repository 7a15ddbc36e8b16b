"""Bringing a held thing to its place: carried over what is in the way, let down, and let go of."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from assay.policies.oracle.motion import (
    CLOSED,
    OPEN,
    STALL,
    TURNED,
    Motion,
    action_towards,
    grip,
    move,
    turn,
)
from assay.policies.oracle.sight import Sight
from assay.sim.compile import EntityIndex

CLEARANCE = 0.03
"""How far above what is in the way things are carried, metres."""
ASTRAY = 0.05
"""How far from where it should be a thing is not let down any more, metres."""
SLIPPED = 0.6
"""How far a thing may have turned in the hand for the hand to make up for it, radians."""
HUNG = 0.03
"""How far above its place a thing that rests is on a rim and not in it, metres."""
FALL = 0.12
"""From how high it is let fall into its place if the hand, and not it, is held up, metres."""
NUDGES = 5
"""How often it is lifted off a rim and let down again farther from it."""
NUDGE = 0.007
"""How far it is shifted each time, metres."""
SLOPING = 0.4
"""Sine from which a contact's normal says where a thing can give way."""
OFF = 0.025
"""How far it is lifted off, metres."""
SINKS = 0.002
"""A thing that sinks by less in some steps sinks no more, metres."""
LATE, SOON = 5, 3
"""In how many; and where there is hardly room: what is pressed onto a rim tilts in the hand."""
JOLT = 3
"""For how many steps the fingers may lose touch with a thing there: they close again."""
IN_THE_AIR = 12
"""After how many such steps it is let go of if it rests on nothing: the hand is held up."""
AJAR = 0.012
"""How much wider than what it holds the hand opens where there is hardly room, metres."""
AS_IT_IS = 0.0
"""What the gripper is told to keep its width."""


@dataclass(frozen=True, slots=True, eq=False)
class Spot:
    """A place for a thing."""

    position: np.ndarray
    """Of the thing's origin when it stands there, (3,)."""
    rotation: np.ndarray = field(default_factory=lambda: np.eye(3))
    """How the thing is turned on the way, (3, 3)."""
    cost: float = 0.0
    """How much worse than the best place, metres."""
    outward: np.ndarray | None = None
    """Horizontal direction (3,) from which it must go in; from above if None."""
    threshold: float = 0.0
    """How far outward the thing is out of what it goes into, metres."""
    lift: float = 0.0
    """How far above where it will rest it goes in, metres."""
    tight: bool = False
    """Whether there is hardly room for it."""


def put_back(sight: Sight, entity: EntityIndex, origin: np.ndarray, standing: np.ndarray) -> Motion:
    """Set a held thing down where it was taken (3,), as it stood there (3, 3), or as near as the arm gets."""
    return place(sight, entity, Spot(origin, tight=True), standing, astray=np.inf)


def place(
    sight: Sight, entity: EntityIndex, spot: Spot, standing: np.ndarray, *, astray: float = ASTRAY
) -> Motion:
    """Carry a held thing to a place, lower it or slide it in, let go and draw back.

    ``standing`` (3, 3) is how it was turned before it was taken. False if it was lost, or did not get there and would
    be let down more than ``astray`` from where it should be, metres: then it may still be held.
    """
    outward = np.zeros(3) if spot.outward is None else spot.outward * spot.threshold
    here, rotation = sight.hand()
    rotation = spot.rotation @ rotation
    yield from _carry(sight, entity, spot, outward, rotation, spot.rotation @ standing)
    off = float(np.linalg.norm((spot.position + outward - sight.pose(entity)[0])[:2]))
    if not sight.touched(entity) or (spot.outward is None and off > astray):
        return False
    if spot.outward is not None:
        yield from _slide_in(sight, entity, spot, outward, rotation)
        if not sight.touched(entity):
            here, _ = sight.hand()
            yield from move(sight, here + outward, rotation, OPEN, steps=20, near=0.02)
            return False
    if not (yield from _let_down(sight, entity, spot, rotation, spot.rotation @ standing)):
        return False
    if spot.tight and spot.outward is None:
        yield from _let_go(sight)
        return True
    yield from grip(sight, OPEN, steps=8)
    here, rotation = sight.hand()
    if spot.outward is None:
        yield from move(sight, here + (0.0, 0.0, 0.1), rotation, OPEN, steps=20, near=0.02)
    else:
        yield from move(sight, here - rotation[:, 2] * 0.05 + outward, rotation, OPEN, steps=20, near=0.02)
    return True


def _carry(
    sight: Sight,
    entity: EntityIndex,
    spot: Spot,
    outward: np.ndarray,
    rotation: np.ndarray,
    wanted: np.ndarray,
) -> Motion:
    """Lift a held thing over everything and bring it above its place, or before it; False if it was lost."""
    here, _ = sight.hand()
    before = spot.position + outward
    highest = max(before[2], sight.highest_between(here[:2], before[:2], entity))
    origin, _ = sight.pose(entity)
    deepest = min(sight.box(entity).low[2] - origin[2], sight.turned_box(entity, spot.rotation).low[2])
    height = max(origin[2], highest + CLEARANCE - deepest)
    lift = height - origin[2]
    yield from move(sight, here + (0.0, 0.0, lift), None, CLOSED, steps=40, near=0.02)
    past: list[float] = []
    for _ in range(70):
        if not sight.touched(entity):
            return False
        goal = _carrying(sight, entity, np.array([before[0], before[1], height]))
        aim = _squared(sight, entity, rotation, wanted) if spot.tight and spot.outward is None else rotation
        here, now = sight.hand()
        left, twist = float(np.linalg.norm(goal - here)), float(np.linalg.norm(turn(now, aim)))
        past.append(left + 0.1 * twist)
        stalled = len(past) > STALL and past[-STALL] - past[-1] < 0.001
        if stalled or (left < (0.003 if spot.tight else 0.01) and twist < TURNED):
            break
        yield action_towards(sight, goal, aim, CLOSED)
    return True


def _squared(sight: Sight, entity: EntityIndex, plain: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The hand's rotation (3, 3) at which a thing that may have slipped is turned as ``wanted`` (3, 3).

    ``plain`` (3, 3) is the hand's, had nothing slipped, and is returned where too much did.
    """
    squared = wanted @ sight.pose(entity)[1].T @ sight.hand()[1]
    return squared if np.linalg.norm(turn(plain, squared)) < SLIPPED else plain


def _slide_in(
    sight: Sight, entity: EntityIndex, spot: Spot, outward: np.ndarray, rotation: np.ndarray
) -> Motion:
    """Bring a held thing in from the side."""
    assert spot.outward is not None
    for _ in range(2):
        goal = _carrying(sight, entity, spot.position + outward + (0.0, 0.0, spot.lift))
        yield from move(sight, goal, rotation, CLOSED, steps=50, near=0.008)
    for _ in range(60):
        left = spot.position - sight.pose(entity)[0]
        if -left @ spot.outward < 0.005 or not sight.touched(entity):
            break
        goal = sight.hand()[0] + left + (0.0, 0.0, spot.lift)
        yield from move(sight, goal, rotation, CLOSED, steps=1, near=0.0, speed=0.6)
    return True


def _let_down(
    sight: Sight, entity: EntityIndex, spot: Spot, rotation: np.ndarray, wanted: np.ndarray
) -> Motion:
    """Let a held thing down; from a rim that it comes to rest on it is lifted and shifted. False if it stays there."""
    aimed, plain = spot, rotation
    for nudge in range(NUDGES):
        if spot.tight and spot.outward is None:
            rotation = _squared(sight, entity, plain, wanted)
        yield from _lower(sight, entity, aimed, rotation)
        above = sight.pose(entity)[0][2] - spot.position[2]
        if not spot.tight or above < HUNG or not sight.touched(entity):
            return True
        if sight.is_held_up(entity) or not sight.rests(entity):
            return bool(above < FALL)
        aimed = replace(aimed, position=aimed.position + _off_the_rim(sight, entity, nudge % 2))
        here, _ = sight.hand()
        yield from move(sight, here + (0.0, 0.0, OFF), rotation, CLOSED, steps=8, near=0.005)
        for _ in range(10):
            rotation = _squared(sight, entity, plain, wanted)
            goal = _carrying(sight, entity, np.append(aimed.position[:2], sight.pose(entity)[0][2]))
            yield from move(sight, goal, rotation, CLOSED, steps=1, near=0.003)
    return False


def _off_the_rim(sight: Sight, entity: EntityIndex, axis: int) -> np.ndarray:
    """The level way (3,), metres, from what a thing rests on.

    Where that is beside it the way is across; where it is under an edge the way is along one of the thing's own axes:
    0 for that on which the edge is farther out, 1 for the other.
    """
    point, normal = sight.support(entity)
    slope = float(np.hypot(*normal[:2]))
    if slope > SLOPING:
        return np.array([normal[0], normal[1], 0.0]) * 2 * NUDGE / slope
    frame = sight.pose(entity)[1]
    half = sight.turned_box(entity, frame.T).size / 2
    away = frame.T @ (sight.box(entity).centre - point) / half
    away[int(np.argmax(np.abs(frame[2])))] = 0.0
    chosen = np.argsort(-np.abs(away))[axis]
    way = frame[:, chosen] * np.sign(away[chosen])
    return NUDGE * np.array([way[0], way[1], 0.0])


def _lower(sight: Sight, entity: EntityIndex, spot: Spot, rotation: np.ndarray) -> Motion:
    """Let a held thing down until it rests and sinks no more, or the hand cannot go on."""
    heights: list[float] = []
    stuck = lost = 0
    steps, slack = (SOON, JOLT) if spot.tight else (LATE, 0)
    for _ in range(60):
        origin, _ = sight.pose(entity)
        heights.append(origin[2])
        stuck = stuck + 1 if len(heights) >= steps and heights[-steps] - heights[-1] < SINKS else 0
        lost = 0 if sight.touched(entity) else lost + 1
        if (
            (stuck and sight.rests(entity) and not lost)
            or stuck > IN_THE_AIR
            or lost > slack
            or origin[2] < spot.position[2] - 0.03
        ):
            return True
        left = spot.position - origin
        goal = sight.hand()[0] + (left[0], left[1], -0.02)
        yield from move(sight, goal, rotation, CLOSED, steps=1, near=0.0)
    return False


def _let_go(sight: Sight) -> Motion:
    """Open the hand a little and go up: wide open it may be caught between walls and lift them."""
    enough = sight.opening() + AJAR
    for _ in range(8):
        if sight.opening() > enough:
            break
        yield from grip(sight, OPEN, steps=1)
    here, rotation = sight.hand()
    yield from move(sight, here + (0.0, 0.0, 0.1), rotation, AS_IT_IS, steps=20, near=0.02)
    return True


def _carrying(sight: Sight, entity: EntityIndex, origin: np.ndarray) -> np.ndarray:
    """Where the hand must be (3,) for a held thing's origin to be at ``origin`` (3,)."""
    return np.asarray(origin + sight.hand()[0] - sight.pose(entity)[0])
