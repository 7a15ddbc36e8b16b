"""When an atom holds: LIBERO's predicates, and LIBERO-X's stricter ones, on MuJoCo's data.

Positions are those of root bodies. The kinematics and contacts of ``data`` are taken as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import mujoco
import numpy as np

from assay.errors import TaskError, did_you_mean
from assay.sim.categories import OPENING, SWITCHING, Mechanism, resting_pose
from assay.sim.compile import CompiledScene, EntityIndex, RegionIndex, bounding_box
from assay.tasks.scene import Atom, Goal, Predicate

Thing = EntityIndex | RegionIndex

ON_CENTRE = 0.03
"""How far the centre of a thing may be from that of the thing it is on, metres."""
ON_HEIGHT = 0.10
"""How far above a region a thing may be to be on it, metres."""
ON_SINK = 0.005
"""How far below a region's top it may be, metres."""
IN_SINK = 0.01
"""How far below a region's box a thing's origin may be to be in it, metres."""
DEEPER_SINK = 0.02
"""The same in LIBERO-X, whose caddies have a compartment whose region begins 1.1 cm above its floor."""
UP_HEIGHT = 1.0
"""Height that counts as up, metres in the world."""
REST_HEIGHT = 0.04
"""How far above the floor of its container a thing's lowest point may be to rest there, metres."""
UPRIGHT_COSINE = 0.8
"""Cosine between up-vector and surface normal from which a thing is upright (about 37 degrees)."""
SIDE_COSINE = 0.3
"""Cosine up to which it lies on its side (about 17 degrees from perpendicular)."""


class Predicates:
    """Evaluates atoms on a compiled scene."""

    def __init__(self, compiled: CompiledScene) -> None:
        self._model = compiled.model
        self._things: Mapping[str, Thing] = {**compiled.entities, **compiled.regions}
        self._entities = compiled.entities
        gone = compiled.scene.absent
        self._absent = {
            *gone,
            *(region.full_name for region in compiled.scene.regions if region.target in gone),
        }

    def holds(self, atom: Atom, data: mujoco.MjData) -> bool:
        """Whether the atom is true now."""
        if len(atom.arguments) != atom.predicate.arity:
            raise TaskError(f"'{atom}' names {len(atom.arguments)} things; valid: {atom.predicate.arity}")
        if not self._absent.isdisjoint(atom.arguments):
            return False
        things = [self._thing(name, atom) for name in atom.arguments]
        return bool(_RULES[atom.predicate](self, data, atom, *things))

    def satisfied(self, goal: Goal, data: mujoco.MjData) -> bool:
        """Whether every atom of the goal is true now."""
        return all(self.holds(atom, data) for atom in goal.atoms)

    def check(self, goal: Goal) -> None:
        """Raise TaskError if an atom can never become true or false on this scene."""
        data = mujoco.MjData(self._model)
        mujoco.mj_kinematics(self._model, data)  # whether it holds now is not asked, so no contacts
        for atom in goal.atoms:
            self.holds(atom, data)
            if not self._absent.isdisjoint(atom.arguments):
                continue
            if len(set(atom.arguments)) < len(atom.arguments):
                raise TaskError(f"'{atom}' relates a thing to itself")
            table = _MECHANISMS.get(atom.predicate)
            thing = self._things[atom.arguments[0]]
            if table is not None and self._mechanism(table, thing) is None:
                able = [name for name, other in self._things.items() if self._mechanism(table, other)]
                raise TaskError(
                    f"'{atom}' asks of {thing.name} what it cannot do; "
                    f"in this scene able: {', '.join(sorted(able)) or 'nothing'}"
                )

    def pose(self, name: str, data: mujoco.MjData) -> tuple[np.ndarray, np.ndarray]:
        """Position (3,) and rotation (3, 3) of an entity or region in the world."""
        thing = self._things.get(name)
        if thing is None:
            raise TaskError(f"there is no '{name}' in the scene: {did_you_mean(name, self._things)}")
        if isinstance(thing, EntityIndex):
            return data.xpos[thing.body].copy(), data.xmat[thing.body].reshape(3, 3).copy()
        return data.site_xpos[thing.site].copy(), data.site_xmat[thing.site].reshape(3, 3).copy()

    def in_contact(self, data: mujoco.MjData, one: EntityIndex, other: EntityIndex) -> bool:
        """Whether any colliding geoms of the two touch."""
        for first, second in data.contact.geom[: data.ncon]:
            if (first in one.geoms and second in other.geoms) or (
                first in other.geoms and second in one.geoms
            ):
                return True
        return False

    def _thing(self, name: str, atom: Atom) -> Thing:
        thing = self._things.get(name)
        if thing is None:
            raise TaskError(f"'{atom}' names '{name}': {did_you_mean(name, self._things)}")
        return thing

    def _position(self, data: mujoco.MjData, thing: Thing) -> np.ndarray:
        if isinstance(thing, EntityIndex):
            return np.asarray(data.xpos[thing.body])
        return np.asarray(data.site_xpos[thing.site])

    def _joint(self, data: mujoco.MjData, joint: int) -> float:
        return float(data.qpos[self._model.jnt_qposadr[joint]])

    # -- relations between two things

    def _on(self, data: mujoco.MjData, atom: Atom, upper: Thing, lower: Thing) -> bool:
        upper = _entity(upper, atom)
        position = self._position(data, upper)
        support = self._position(data, lower)
        if isinstance(lower, EntityIndex):
            return bool(
                support[2] <= position[2]
                and np.linalg.norm(support[:2] - position[:2]) < ON_CENTRE
                and self.in_contact(data, lower, upper)
            )
        # LIBERO turns the offset by the site's rotation and not by its inverse; a region that is
        # neither level nor turned by half-turns means something else than it seems, and so here.
        offset = data.site_xmat[lower.site].reshape(3, 3) @ (position - support)
        over = (
            lower.half[2] - ON_SINK < offset[2] < lower.half[2] + ON_HEIGHT
            and abs(offset[0]) < lower.half[0]
            and abs(offset[1]) < lower.half[1]
        )
        return bool(over) and (
            lower.parent is None or self.in_contact(data, self._entities[lower.parent], upper)
        )

    def _in(self, data: mujoco.MjData, atom: Atom, inner: Thing, outer: Thing) -> bool:
        return self._is_within(data, atom, inner, outer, self.box_of(data, outer))

    def _is_within(
        self,
        data: mujoco.MjData,
        atom: Atom,
        inner: Thing,
        outer: Thing,
        box: tuple[np.ndarray, np.ndarray],
    ) -> bool:
        inner = _entity(inner, atom)
        if isinstance(outer, EntityIndex) and not self.in_contact(data, outer, inner):
            return False
        low, high = box
        position = self._position(data, inner)
        return bool(np.all(position > low) and np.all(position < high))

    def box_of(self, data: mujoco.MjData, thing: Thing) -> tuple[np.ndarray, np.ndarray]:
        """The axis-aligned box something must be in to be in ``thing``."""
        if isinstance(thing, RegionIndex):
            return self._region_box(data, thing, DEEPER_SINK if self._is_put_at_angles(thing) else IN_SINK)
        return bounding_box(self._model, data, thing.geoms)

    def _region_box(
        self, data: mujoco.MjData, region: RegionIndex, sink: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """The axis-aligned box that a region counts as, and how much below it does, metres."""
        rotation = data.site_xmat[region.site].reshape(3, 3)
        # LIBERO's half-lengths shrink to nothing at 45 degrees, which no container of its own is turned by.
        # LIBERO-X, whose caddies are, has the box that holds the region.
        half = (
            np.abs(rotation) @ region.half
            if self._is_put_at_angles(region)
            else np.abs(rotation @ region.half)
        )
        centre = data.site_xpos[region.site]
        return centre - half - (0.0, 0.0, sink), centre + half

    def _is_put_at_angles(self, region: RegionIndex) -> bool:
        owner = self._entities.get(region.parent or "")
        if owner is None or not owner.movable:
            return False
        least, most = resting_pose(owner.category).yaw
        return least < most

    def _stack(self, data: mujoco.MjData, atom: Atom, upper: Thing, lower: Thing) -> bool:
        return (
            self._in_contact(data, atom, upper, lower)
            and bool(self._position(data, upper)[2] > self._position(data, lower)[2])
            and self._over(data, upper, lower)
        )

    def _over(self, data: mujoco.MjData, upper: Thing, lower: Thing) -> bool:
        low, high = self.box_of(data, lower)
        position = self._position(data, upper)[:2]
        return bool(np.all(position > low[:2]) and np.all(position < high[:2]))

    def _in_contact(self, data: mujoco.MjData, atom: Atom, one: Thing, other: Thing) -> bool:
        return self.in_contact(data, _entity(one, atom), _entity(other, atom))

    # -- LIBERO-X's stricter relations

    def _exact_in(self, data: mujoco.MjData, atom: Atom, inner: Thing, outer: Thing) -> bool:
        sink = DEEPER_SINK if isinstance(outer, RegionIndex) else 0.0
        box = (
            self._region_box(data, outer, sink)
            if isinstance(outer, RegionIndex)
            else self.box_of(data, outer)
        )
        if not self._is_within(data, atom, inner, outer, box):
            return False
        lowest = self.box_of(data, inner)[0][2]
        return bool(lowest - (box[0][2] + sink) <= REST_HEIGHT)

    def _up_cosine(self, data: mujoco.MjData, thing: EntityIndex, surface: Thing) -> float:
        normal = np.array([0.0, 0.0, 1.0])
        if isinstance(surface, RegionIndex):
            axes = data.site_xmat[surface.site].reshape(3, 3).T
            axis = axes[np.argmax(np.abs(axes[:, 2]))]
            normal = axis * np.sign(axis[2])
        return float(data.xmat[thing.body].reshape(3, 3) @ up_axis(thing.category) @ normal)

    def _upright_on(self, data: mujoco.MjData, atom: Atom, upper: Thing, lower: Thing) -> bool:
        return (
            self._on(data, atom, upper, lower)
            and self._up_cosine(data, _entity(upper, atom), lower) >= UPRIGHT_COSINE
        )

    def _side_on(self, data: mujoco.MjData, atom: Atom, upper: Thing, lower: Thing) -> bool:
        return (
            self._on(data, atom, upper, lower)
            and abs(self._up_cosine(data, _entity(upper, atom), lower)) <= SIDE_COSINE
        )

    # -- states of one thing

    def _up(self, data: mujoco.MjData, atom: Atom, thing: Thing) -> bool:
        return bool(self._position(data, thing)[2] >= UP_HEIGHT)

    def _active(self, data: mujoco.MjData, atom: Atom, thing: Thing) -> bool:
        """Open or turned on: any joint is past its bound."""
        mechanism = self._mechanism(_MECHANISMS[atom.predicate], thing)
        return mechanism is not None and any(
            mechanism.active.holds(self._joint(data, joint)) for joint in _inner_joints(thing)
        )

    def _passive(self, data: mujoco.MjData, atom: Atom, thing: Thing) -> bool:
        """Closed or turned off: no joint is past its bound. A thing that cannot move is always closed."""
        mechanism = self._mechanism(_MECHANISMS[atom.predicate], thing)
        return mechanism is None or all(
            mechanism.passive.holds(self._joint(data, joint)) for joint in _inner_joints(thing)
        )

    def _mechanism(self, table: Mapping[str, Mechanism], thing: Thing) -> Mechanism | None:
        """How the thing opens or switches; None if it does not."""
        owner = thing.name if isinstance(thing, EntityIndex) else thing.parent
        if owner is None or not _inner_joints(thing):
            return None
        return table.get(self._entities[owner].category)


_MECHANISMS: Mapping[Predicate, Mapping[str, Mechanism]] = MappingProxyType(
    {
        Predicate.OPEN: OPENING,
        Predicate.CLOSE: OPENING,
        Predicate.TURN_ON: SWITCHING,
        Predicate.TURN_OFF: SWITCHING,
    }
)


def up_axis(category: str) -> np.ndarray:
    """The axis of a thing's own frame (3,) that points up when it stands as it usually does."""
    rotation = np.empty(9)
    mujoco.mju_quat2Mat(rotation, np.array(resting_pose(category).tilt))
    return np.asarray(rotation.reshape(3, 3)[2])


def _inner_joints(thing: Thing) -> tuple[int, ...]:
    return thing.inner_joints if isinstance(thing, EntityIndex) else thing.joints


def _entity(thing: Thing, atom: Atom) -> EntityIndex:
    if isinstance(thing, EntityIndex):
        return thing
    raise TaskError(f"'{atom}' needs an object or fixture where it names the region '{thing.name}'")


_RULES: Mapping[Predicate, Callable[..., bool]] = MappingProxyType(
    {
        Predicate.ON: Predicates._on,
        Predicate.IN: Predicates._in,
        Predicate.OPEN: Predicates._active,
        Predicate.CLOSE: Predicates._passive,
        Predicate.TURN_ON: Predicates._active,
        Predicate.TURN_OFF: Predicates._passive,
        Predicate.UP: Predicates._up,
        Predicate.STACK: Predicates._stack,
        Predicate.IN_CONTACT: Predicates._in_contact,
        Predicate.EXACT_IN: Predicates._exact_in,
        Predicate.UPRIGHT_ON: Predicates._upright_on,
        Predicate.SIDE_ON: Predicates._side_on,
    }
)
