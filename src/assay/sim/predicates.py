"""LIBERO's predicates, and LIBERO-X's stricter ones, evaluated on MuJoCo's data.

Positions are those of root bodies. The kinematics and contacts of ``data`` must be up to date.
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

Element = EntityIndex | RegionIndex

ON_CENTRE = 0.03
"""Largest horizontal distance between the centres of an object and its support, metres."""
ON_HEIGHT = 0.10
"""Largest height of an object above a region that it is on, metres."""
ON_SINK = 0.005
"""Largest depth of an object below the top of a region that it is on, metres."""
IN_SINK = 0.01
"""Largest depth of an object's origin below the box of a region that it is in, metres."""
DEEPER_SINK = 0.02
"""`IN_SINK` of LIBERO-X, metres: the region of a caddy's compartment begins 1.1 cm above its floor."""
UP_HEIGHT = 1.0
"""Minimum height in the world at which an object counts as lifted (predicate Up), metres."""
REST_HEIGHT = 0.04
"""Largest height of an object's lowest point above the floor of its container, metres."""
UPRIGHT_COSINE = 0.8
"""Minimum cosine between the up-vector of an upright object and the surface normal (about 37 degrees)."""
SIDE_COSINE = 0.3
"""Maximum cosine for an object that lies on its side (about 17 degrees from perpendicular)."""


class Predicates:
    """Evaluates atoms on a compiled scene."""

    def __init__(self, compiled: CompiledScene) -> None:
        self._model = compiled.model
        self._elements: Mapping[str, Element] = {**compiled.entities, **compiled.regions}
        self._entities = compiled.entities
        gone = compiled.scene.absent
        self._absent = {
            *gone,
            *(region.full_name for region in compiled.scene.regions if region.target in gone),
        }

    def holds(self, atom: Atom, data: mujoco.MjData) -> bool:
        """Whether the atom is currently true."""
        if len(atom.arguments) != atom.predicate.arity:
            raise TaskError(f"'{atom}' has {len(atom.arguments)} arguments; valid: {atom.predicate.arity}")
        if not self._absent.isdisjoint(atom.arguments):
            return False
        for name in atom.arguments:
            if name not in self._elements:
                raise TaskError(f"'{atom}' names '{name}': {did_you_mean(name, self._elements)}")
        return bool(
            _RULES[atom.predicate](self, data, atom, *(self._elements[name] for name in atom.arguments))
        )

    def is_satisfied(self, goal: Goal, data: mujoco.MjData) -> bool:
        """Whether every atom of the goal is currently true."""
        return all(self.holds(atom, data) for atom in goal.atoms)

    def check(self, goal: Goal) -> None:
        """Raise TaskError if an atom can never become true or false in this scene."""
        data = mujoco.MjData(self._model)
        mujoco.mj_kinematics(self._model, data)  # the result is not used, so contacts are not needed
        for atom in goal.atoms:
            self.holds(atom, data)
            if not self._absent.isdisjoint(atom.arguments):
                continue
            if len(set(atom.arguments)) < len(atom.arguments):
                raise TaskError(f"'{atom}' relates an entity to itself")
            table = _MECHANISMS.get(atom.predicate)
            element = self._elements[atom.arguments[0]]
            if table is not None and self._mechanism(table, element) is None:
                able = [name for name, other in self._elements.items() if self._mechanism(table, other)]
                raise TaskError(
                    f"'{atom}': {element.name} has no such mechanism; "
                    f"valid in this scene: {', '.join(sorted(able)) or 'none'}"
                )

    def pose(self, name: str, data: mujoco.MjData) -> tuple[np.ndarray, np.ndarray]:
        """Position (3,) and rotation (3, 3) of an entity or region in the world."""
        element = self._elements.get(name)
        if element is None:
            raise TaskError(f"there is no '{name}' in the scene: {did_you_mean(name, self._elements)}")
        if isinstance(element, EntityIndex):
            return data.xpos[element.body].copy(), data.xmat[element.body].reshape(3, 3).copy()
        return data.site_xpos[element.site].copy(), data.site_xmat[element.site].reshape(3, 3).copy()

    def in_contact(self, data: mujoco.MjData, one: EntityIndex, other: EntityIndex) -> bool:
        """Whether colliding geoms of two entities touch."""
        for first, second in data.contact.geom[: data.ncon]:
            if (first in one.geoms and second in other.geoms) or (
                first in other.geoms and second in one.geoms
            ):
                return True
        return False

    def _position(self, data: mujoco.MjData, element: Element) -> np.ndarray:
        if isinstance(element, EntityIndex):
            return np.asarray(data.xpos[element.body])
        return np.asarray(data.site_xpos[element.site])

    def _joint(self, data: mujoco.MjData, joint: int) -> float:
        return float(data.qpos[self._model.jnt_qposadr[joint]])

    # -- relations between two entities

    def _on(self, data: mujoco.MjData, atom: Atom, upper: Element, lower: Element) -> bool:
        upper = _entity(upper, atom)
        position = self._position(data, upper)
        support = self._position(data, lower)
        if isinstance(lower, EntityIndex):
            return bool(
                support[2] <= position[2]
                and np.linalg.norm(support[:2] - position[:2]) < ON_CENTRE
                and self.in_contact(data, lower, upper)
            )
        # LIBERO rotates the offset by the site's rotation instead of its inverse, which is wrong for regions that are
        # neither level nor turned by half-turns. Reproduced, because its success criterion depends on it.
        offset = data.site_xmat[lower.site].reshape(3, 3) @ (position - support)
        over = (
            lower.half[2] - ON_SINK < offset[2] < lower.half[2] + ON_HEIGHT
            and abs(offset[0]) < lower.half[0]
            and abs(offset[1]) < lower.half[1]
        )
        return bool(over) and (
            lower.parent is None or self.in_contact(data, self._entities[lower.parent], upper)
        )

    def _in(self, data: mujoco.MjData, atom: Atom, inner: Element, outer: Element) -> bool:
        return self._is_within(data, atom, inner, outer, self.box_of(data, outer))

    def _is_within(
        self,
        data: mujoco.MjData,
        atom: Atom,
        inner: Element,
        outer: Element,
        box: tuple[np.ndarray, np.ndarray],
    ) -> bool:
        inner = _entity(inner, atom)
        if isinstance(outer, EntityIndex) and not self.in_contact(data, outer, inner):
            return False
        low, high = box
        position = self._position(data, inner)
        return bool(np.all(position > low) and np.all(position < high))

    def box_of(self, data: mujoco.MjData, element: Element) -> tuple[np.ndarray, np.ndarray]:
        """The axis-aligned box that contains all geoms of ``element``: lower and upper corner."""
        if isinstance(element, RegionIndex):
            return self._region_box(
                data, element, DEEPER_SINK if self._has_variable_yaw(element) else IN_SINK
            )
        return bounding_box(self._model, data, element.geoms)

    def _region_box(
        self, data: mujoco.MjData, region: RegionIndex, sink: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """The axis-aligned box of a region, extended downwards by ``sink`` metres."""
        rotation = data.site_xmat[region.site].reshape(3, 3)
        # LIBERO's half-lengths shrink to nothing at 45 degrees, an angle at which none of its containers stands.
        # LIBERO-X, whose caddies stand at any angle, uses the bounding box of the region.
        half = (
            np.abs(rotation) @ region.half
            if self._has_variable_yaw(region)
            else np.abs(rotation @ region.half)
        )
        centre = data.site_xpos[region.site]
        return centre - half - (0.0, 0.0, sink), centre + half

    def _has_variable_yaw(self, region: RegionIndex) -> bool:
        owner = self._entities.get(region.parent or "")
        if owner is None or not owner.movable:
            return False
        least, most = resting_pose(owner.category).yaw
        return least < most

    def _stack(self, data: mujoco.MjData, atom: Atom, upper: Element, lower: Element) -> bool:
        position, (low, high) = self._position(data, upper), self.box_of(data, lower)
        return (
            self._in_contact(data, atom, upper, lower)
            and bool(position[2] > self._position(data, lower)[2])
            and bool(np.all(position[:2] > low[:2]) and np.all(position[:2] < high[:2]))
        )

    def _in_contact(self, data: mujoco.MjData, atom: Atom, one: Element, other: Element) -> bool:
        return self.in_contact(data, _entity(one, atom), _entity(other, atom))

    # -- LIBERO-X's stricter relations

    def _exact_in(self, data: mujoco.MjData, atom: Atom, inner: Element, outer: Element) -> bool:
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

    def _up_cosine(self, data: mujoco.MjData, element: EntityIndex, surface: Element) -> float:
        normal = np.array([0.0, 0.0, 1.0])
        if isinstance(surface, RegionIndex):
            axes = data.site_xmat[surface.site].reshape(3, 3).T
            axis = axes[np.argmax(np.abs(axes[:, 2]))]
            normal = axis * np.sign(axis[2])
        return float(data.xmat[element.body].reshape(3, 3) @ up_axis(element.category) @ normal)

    def _upright_on(self, data: mujoco.MjData, atom: Atom, upper: Element, lower: Element) -> bool:
        return (
            self._on(data, atom, upper, lower)
            and self._up_cosine(data, _entity(upper, atom), lower) >= UPRIGHT_COSINE
        )

    def _side_on(self, data: mujoco.MjData, atom: Atom, upper: Element, lower: Element) -> bool:
        return (
            self._on(data, atom, upper, lower)
            and abs(self._up_cosine(data, _entity(upper, atom), lower)) <= SIDE_COSINE
        )

    # -- states of one entity

    def _up(self, data: mujoco.MjData, atom: Atom, element: Element) -> bool:
        return bool(self._position(data, element)[2] >= UP_HEIGHT)

    def _active(self, data: mujoco.MjData, atom: Atom, element: Element) -> bool:
        """Whether an entity is open or turned on: any joint is beyond its bound."""
        mechanism = self._mechanism(_MECHANISMS[atom.predicate], element)
        return mechanism is not None and any(
            mechanism.active.holds(self._joint(data, joint)) for joint in _inner_joints(element)
        )

    def _passive(self, data: mujoco.MjData, atom: Atom, element: Element) -> bool:
        """Whether an entity is closed or off: every joint is within its bound, or it has no mechanism."""
        mechanism = self._mechanism(_MECHANISMS[atom.predicate], element)
        return mechanism is None or all(
            mechanism.passive.holds(self._joint(data, joint)) for joint in _inner_joints(element)
        )

    def _mechanism(self, table: Mapping[str, Mechanism], element: Element) -> Mechanism | None:
        """The mechanism by which an entity opens or switches; None if it cannot."""
        owner = element.name if isinstance(element, EntityIndex) else element.parent
        if owner is None or not _inner_joints(element):
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
    """The axis of an object's own frame (3,) that points up in its resting pose."""
    rotation = np.empty(9)
    mujoco.mju_quat2Mat(rotation, np.array(resting_pose(category).tilt))
    return np.asarray(rotation.reshape(3, 3)[2])


def _inner_joints(element: Element) -> tuple[int, ...]:
    return element.inner_joints if isinstance(element, EntityIndex) else element.joints


def _entity(element: Element, atom: Atom) -> EntityIndex:
    if isinstance(element, EntityIndex):
        return element
    raise TaskError(f"'{atom}' needs an object or fixture instead of the region '{element.name}'")


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
