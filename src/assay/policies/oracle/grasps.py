"""Where a two-finger hand can take hold of a thing: found from its shape, not from its name.

Every colliding piece that is thin enough across is a candidate: a can's body, a bowl's rim, a pan's handle.
What counts is that fingers and palm have room beside it on the way there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from itertools import product

import numpy as np

from assay.policies.oracle.motion import DOWN, cross, facing
from assay.policies.oracle.sight import Sight
from assay.sim.bare_mujoco import mujoco
from assay.sim.compile import EntityIndex
from assay.support.jit import compiled

WIDEST = 0.074
"""Widest piece that is taken hold of, metres; the hand opens to 0.08."""
TIP = 0.0115
"""How far a finger reaches beyond the grip site, metres."""
DEEP = 0.022
"""How far into a piece the fingers reach at most, metres; the palm begins 0.03 behind the grip site."""
MARGIN = 0.003
"""How much air there must be around the hand, metres."""
TILTS = tuple(np.radians([-50.0, -30.0, 0.0, 30.0, 50.0]))
"""How the hand may come at a thing that has no room above it, radians off the vertical."""
TOUCH = 0.02
"""What each point of the hand that touches something where a thing is taken costs."""
FAR = 0.7
"""How far from the robot's base the arm reaches down with ease, metres."""
SIDEWAYS = 0.012
"""How far to one side of a piece the open hand may be, metres: it pushes it to its middle."""
SOLID = 0.02
"""How wide a piece must be for that, metres: not a rim."""
FLAT = 0.35
"""How far from level an axis may point to be held across from above, as a sine."""
LEANING = 0.8
"""The same if the hand leans with it."""


@dataclass(frozen=True, slots=True, eq=False)
class Grasp:
    """A pose of the hand at which closing it takes hold."""

    position: np.ndarray
    """Of the grip site, (3,)."""
    rotation: np.ndarray
    """Of the grip site, (3, 3): x opens, z points out of the hand."""
    width: float
    """Between the fingers when they close, metres: that of what is held, more if it is nearer to one of them."""
    cost: float
    """The smaller the better."""


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """The box around something to take hold of."""

    middle: np.ndarray
    """(3,)"""
    rotation: np.ndarray
    """(3, 3)"""
    half: np.ndarray
    """Half-lengths, (3,)."""
    round: bool
    """Whether it is as wide whichever way it is held."""


@dataclass(frozen=True, slots=True, eq=False)
class Obstacles:
    """The boxes around colliding geoms, for asking what is free."""

    centres: np.ndarray  # (n, 3)
    rotations: np.ndarray  # (n, 3, 3)
    halves: np.ndarray  # (n, 3)
    _low: np.ndarray = field(init=False)
    _high: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        reach = np.einsum("nij,nj->ni", np.abs(self.rotations), self.halves) + MARGIN
        object.__setattr__(self, "_low", self.centres - reach)
        object.__setattr__(self, "_high", self.centres + reach)

    def contain(self, points: np.ndarray) -> int:
        """How many of the points (p, 3) are inside a box or nearer than the margin to one."""
        return int(
            _count_inside(points, self.centres, self.rotations, self.halves + MARGIN, self._low, self._high)
        )


@compiled
def _count_inside(points, centres, rotations, halves, low, high):  # type: ignore[no-untyped-def]
    """How many points (p, 3) are inside any of n boxes, which lie between low (n, 3) and high (n, 3)."""
    least, most = points[0].copy(), points[0].copy()
    for p in range(1, len(points)):
        for k in range(3):
            least[k] = min(least[k], points[p, k])
            most[k] = max(most[k], points[p, k])
    near = np.empty(len(centres), np.intp)
    boxes = 0
    for n in range(len(centres)):
        apart = False
        for k in range(3):
            if low[n, k] >= most[k] or high[n, k] <= least[k]:
                apart = True
        if not apart:
            near[boxes] = n
            boxes += 1
    count = 0
    for p in range(len(points)):
        for n in near[:boxes]:
            inside = True
            for axis in range(3):
                along = 0.0
                for k in range(3):
                    along += (points[p, k] - centres[n, k]) * rotations[n, k, axis]
                if abs(along) >= halves[n, axis]:
                    inside = False
                    break
            if inside:
                count += 1
                break
    return count


def obstacles(sight: Sight, geoms: Iterable[int]) -> Obstacles:
    """The boxes around some geoms."""
    ids = np.fromiter(geoms, dtype=np.intp)
    rotations = sight.data.geom_xmat[ids].reshape(-1, 3, 3)
    offsets = np.einsum("nij,nj->ni", rotations, sight.model.geom_aabb[ids, :3])
    return Obstacles(sight.data.geom_xpos[ids] + offsets, rotations, sight.model.geom_aabb[ids, 3:])


def ranked_grasps(sight: Sight, entity: EntityIndex) -> Iterator[Grasp]:
    """Grasps from above and aslant, best first; every point of the hand that touches something costs.

    What touches is found out only for grasps that may be the next best.
    """
    around = obstacles(sight, sight.solid_geoms)
    weighed: list[tuple[float, int, Grasp]] = []
    for number, grasp in enumerate(all_grasps(sight, entity, TILTS)):
        while weighed and weighed[0][0] <= grasp.cost:
            yield heappop(weighed)[2]
        cost = grasp.cost + TOUCH * around.contain(_taking_points(grasp))
        heappush(weighed, (cost, number, replace(grasp, cost=cost)))
    while weighed:
        yield heappop(weighed)[2]


def all_grasps(sight: Sight, entity: EntityIndex, tilts: Sequence[float] = (0.0,)) -> list[Grasp]:
    """Every way to hold an entity, whatever is around it, best first.

    ``tilts`` are angles off the vertical at which the hand may come, radians.
    """
    centre = sight.data.xipos[entity.body]
    found = [grasp for piece in pieces(sight, entity) for grasp in of_piece(sight, piece, centre, tilts)]
    return sorted(found, key=lambda grasp: grasp.cost)


def can_be_held(sight: Sight, entity: EntityIndex) -> bool:
    """Whether an entity has any piece that fits between the fingers."""
    return any(True for piece in pieces(sight, entity) for _ in of_piece(sight, piece, np.zeros(3), TILTS))


def piece_of(sight: Sight, geom: int) -> Piece:
    """One colliding geom."""
    rotation = sight.data.geom_xmat[geom].reshape(3, 3)
    middle = sight.data.geom_xpos[geom] + rotation @ sight.model.geom_aabb[geom, :3]
    round_ = sight.model.geom_type[geom] in (mujoco.mjtGeom.mjGEOM_CYLINDER, mujoco.mjtGeom.mjGEOM_CAPSULE)
    return Piece(middle, rotation, sight.model.geom_aabb[geom, 3:], round_)


def pieces(sight: Sight, entity: EntityIndex) -> list[Piece]:
    """What there is to take hold of: every colliding geom, and the whole."""
    found = [piece_of(sight, geom) for geom in entity.geoms]
    origin, frame = sight.pose(entity)
    middles = np.array([(piece.middle - origin) @ frame for piece in found])
    reach = np.array([np.abs(frame.T @ piece.rotation) @ piece.half for piece in found])
    low, high = (middles - reach).min(axis=0), (middles + reach).max(axis=0)
    return [*found, Piece(origin + frame @ (low + high) / 2, frame, (high - low) / 2, False)]


def of_piece(
    sight: Sight, piece: Piece, centre: np.ndarray, tilts: Iterable[float] = (0.0,)
) -> Iterator[Grasp]:
    """The ways to hold one piece: across each of its axes that lies flat and is short enough."""
    middle, rotation, half = piece.middle, piece.rotation, piece.half
    _, hand = sight.hand()
    level = [k for k in range(3) if abs(rotation[2, k]) < LEANING]
    axes, widths = [rotation[:, k] for k in level], [2 * half[k] for k in level]
    if piece.round:
        axes = [np.array([np.cos(a), np.sin(a), 0.0]) for a in np.arange(0, np.pi, np.pi / 8)]
        widths = [2 * float(np.sort(half)[0])] * len(axes)
    for axis, width in zip(axes, widths, strict=True):
        if width > WIDEST:
            continue
        leans = abs(axis[2]) >= FLAT
        across = axis if leans else np.array([axis[0], axis[1], 0.0]) / np.hypot(axis[0], axis[1])
        straight = facing(DOWN - across * (DOWN @ across), across)[:, 2]
        along = cross(straight, across)
        spare = max(0.0, float(np.abs(along @ rotation) @ half) - 0.012)
        offsets = (-0.6 * spare, 0.0, 0.6 * spare) if spare > 0.01 else (0.0,)
        for tilt, offset in product((0.0,) if leans else tilts, offsets):
            approach = straight * np.cos(tilt) + along * np.sin(tilt)
            if tilt:
                slant = np.abs(approach @ rotation)
                depth = float((half / np.maximum(slant, 1e-6)).min())
            else:
                depth = float(np.abs(approach @ rotation) @ half)
            turned = facing(approach, across)
            twist = np.arccos(np.clip(abs(hand[:, 0] @ turned[:, 0]), 0.0, 1.0))
            shallow = max(0.0, 0.01 - depth) * 4
            deep = min(DEEP - depth, 0.3 * depth)
            room = min(SIDEWAYS, WIDEST / 2 - width / 2)
            asides = (
                (0.0, room, -room) if not tilt and not offset and width > SOLID and room > MARGIN else (0.0,)
            )
            for back, aside in product({deep, min(deep, depth - TIP - MARGIN - 0.001)}, asides):
                position = middle + along * offset + approach * back + across * aside
                away = float(np.linalg.norm(position[:2] - centre[:2]))
                far = max(0.0, float(np.linalg.norm(position[:2] - sight.base())) - FAR)
                cost = 2 * far + 1.5 * away + 0.02 * twist + shallow + 0.02 * abs(tilt) + 0.3 * (deep - back)
                cost += 3 * abs(aside) + (0.02 * float(np.arcsin(abs(axis[2]))) if leans else 0.0)
                yield Grasp(position, turned, float(width + 2 * abs(aside)), cost)


def _taking_points(grasp: Grasp) -> np.ndarray:
    """Points (p, 3) that must be free to take hold: the open hand's, and those the fingers close through."""
    inner = np.arange(grasp.width / 2 + MARGIN + 0.004, 0.04, 0.006)
    closing = _grid(np.concatenate([inner, -inner]), (-0.006, 0.006), (TIP, TIP - 0.008, TIP - 0.016))
    return np.concatenate(
        [hand_points(grasp.position, grasp.rotation), closing @ grasp.rotation.T + grasp.position]
    )


def hand_points(position: np.ndarray, rotation: np.ndarray) -> np.ndarray:
    """Points (p, 3) in the room that the open hand takes up at a pose, and on the straight way back."""
    return np.asarray(_HAND @ rotation.T + position)


def palm_points(position: np.ndarray, rotation: np.ndarray) -> np.ndarray:
    """The same without the fingers."""
    return np.asarray(_PALM @ rotation.T + position)


def hand_itself(position: np.ndarray, rotation: np.ndarray) -> np.ndarray:
    """Points (p, 3) in the room that the open hand and the wrist take up at a pose."""
    return np.asarray(_ITSELF @ rotation.T + position)


def _grid(*axes: Iterable[float]) -> np.ndarray:
    return np.stack(np.meshgrid(*map(np.array, axes), indexing="ij"), axis=-1).reshape(-1, 3)


_FINGER = _grid((0.041, 0.049, 0.056), (-0.011, 0.0, 0.011), np.arange(TIP, -0.05, -0.008))
_PALM = _grid(np.linspace(-0.1, 0.1, 13), (-0.034, 0.0, 0.034), np.arange(-0.033, -0.19, -0.012))
_HAND = np.concatenate([_FINGER, _FINGER * (-1.0, 1.0, 1.0), _PALM])
_WRIST = _grid(np.linspace(-0.045, 0.045, 5), np.linspace(-0.045, 0.045, 5), np.arange(-0.105, -0.19, -0.012))
_ITSELF = np.concatenate([_HAND[_HAND[:, 2] > -0.1], _WRIST])
"""In the hand's frame, (p, 3)."""
