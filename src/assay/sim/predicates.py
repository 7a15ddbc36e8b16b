"""LIBERO's predicates, and LIBERO-X's stricter ones, evaluated on MuJoCo's data.

An entity's position is that of its root body. The kinematics and contacts in ``data`` must be up to date.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import mujoco
import numpy as np

from assay.errors import TaskError, did_you_mean
from assay.sim.categories import MECHANISMS, resting_pose
from assay.sim.compile import CompiledScene, EntityIndex, RegionIndex, bounding_box
from assay.tasks.scene import Atom, Goal, Predicate

Element = EntityIndex | RegionIndex

ON_CENTRE = 0.03
"""Largest horizontal distance between the centres of an object and its support, in metres."""
ON_HEIGHT = 0.10
"""Maximum height of an object above a region for it to be on the region, in metres."""
ON_SINK = 0.005
"""Maximum depth of an object below the top of a region for it to be on the region, in metres."""
IN_SINK = 0.01
"""Maximum depth of an object's origin below a region's box for it to be in the region, in metres."""
DEEPER_SINK = 0.02
"""LIBERO-X's value for `IN_SINK`, in metres; a caddy's region begins 1.1 cm above the floor of its compartment."""
UP_HEIGHT = 1.0
"""Minimum world height at which an object counts as lifted (predicate Up), in metres."""
REST_HEIGHT = 0.04
"""Largest height of an object's lowest point above the floor of its container, in metres."""
UPRIGHT_COSINE = 0.8
"""Minimum cosine of the angle between an upright object's up axis and the surface normal (about 37 degrees)."""
SIDE_COSINE = 0.3
"""Maximum absolute cosine of the angle between the up axis of an object on its side and the surface normal (about 17
degrees from perpendicular).
"""


class Predicates:
    """Evaluates atoms in a compiled scene."""

    def __init__(self, compiled: CompiledScene) -> None:
        self._compiled, self._model = compiled, compiled.model
        self._elements: Mapping[str, Element] = {**compiled.entities, **compiled.regions}
        self._entities = compiled.entities
        yaws = {
            name: resting_pose(entity.category).yaw
            for name, entity in compiled.entities.items()
            if entity.movable
        }
        rotated = {name for name, (least, most) in yaws.items() if least < most}
        self._rotated = {name for name, region in compiled.regions.items() if region.parent in rotated}
        """Regions of objects whose initial yaw varies between episodes."""
        absent = compiled.scene.absent
        regions = (region.full_name for region in compiled.scene.regions if region.target in absent)
        self._absent = {*absent, *regions}

    def holds(self, atom: Atom, data: mujoco.MjData) -> bool:
        """Return whether the atom is currently true."""
        predicate, names = atom.predicate, atom.arguments
        if len(names) != predicate.arity:
            raise TaskError(f"'{atom}' has {len(names)} arguments; expected {predicate.arity}")
        if not self._absent.isdisjoint(names):
            return False
        for name in names:
            if name not in self._elements:
                raise TaskError(f"'{atom}': unknown name '{name}': {did_you_mean(name, self._elements)}")
        elements = [self._elements[name] for name in names]
        # The first of two arguments must be an entity; STACK and IN_CONTACT need a second one.
        both = predicate in (Predicate.STACK, Predicate.IN_CONTACT)
        for element in elements if both else elements[:-1]:
            if isinstance(element, RegionIndex):
                raise TaskError(f"'{atom}' needs an object or fixture, not the region '{element.name}'")
        if predicate not in MECHANISMS:
            return bool(_RULES[predicate](self, data, *elements))
        _, active = MECHANISMS[predicate]
        part = self._compiled.mechanism(predicate, names[0])
        if part is None:
            return not active
        _, joints, mechanism = part
        values = [float(data.qpos[self._model.jnt_qposadr[joint]]) for joint in joints]
        return (
            any(map(mechanism.active.holds, values)) if active else all(map(mechanism.passive.holds, values))
        )

    def check(self, goal: Goal) -> None:
        """Raise TaskError if the truth value of an atom can never change in this scene."""
        data = mujoco.MjData(self._model)
        mujoco.mj_kinematics(self._model, data)  # the result is not used, so contacts are not needed
        for atom in goal.atoms:
            self.holds(atom, data)
            if not self._absent.isdisjoint(atom.arguments):
                continue
            if len(set(atom.arguments)) < len(atom.arguments):
                raise TaskError(f"'{atom}' relates an entity to itself")
            if atom.predicate in MECHANISMS:
                names = [
                    name
                    for name, element in self._elements.items()
                    if element.inner_joints and self._compiled.mechanism(atom.predicate, name)
                ]
                if atom.arguments[0] not in names:
                    raise TaskError(
                        f"'{atom}': the predicate does not apply to {atom.arguments[0]}; "
                        f"in this scene, it applies to: {', '.join(sorted(names)) or 'nothing'}"
                    )

    def box_of(
        self, data: mujoco.MjData, element: Element, sink: float | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the lower and upper corners of the axis-aligned box of a region or an entity's collision geoms.

        ``sink``: depth in metres by which a region is extended downwards, by default as for the predicate In.
        """
        if isinstance(element, EntityIndex):
            return bounding_box(self._model, data, element.geoms)
        rotation, centre = data.site_xmat[element.site].reshape(3, 3), data.site_xpos[element.site]
        # LIBERO's half-lengths shrink to nothing at 45 degrees, an angle at which none of its containers stands.
        # LIBERO-X, whose caddies stand at any angle, uses the bounding box of the region.
        is_rotated = element.name in self._rotated
        half = np.abs(rotation) @ element.half if is_rotated else np.abs(rotation @ element.half)
        if sink is None:
            sink = DEEPER_SINK if is_rotated else IN_SINK
        return centre - half - (0.0, 0.0, sink), centre + half

    def _on(self, data: mujoco.MjData, upper: EntityIndex, lower: Element) -> bool:
        position, support = _position(data, upper), _position(data, lower)
        if isinstance(lower, EntityIndex):
            return bool(
                support[2] <= position[2]
                and np.linalg.norm(support[:2] - position[:2]) < ON_CENTRE
                and in_contact(data, lower, upper)
            )
        # LIBERO rotates the offset by the site's rotation instead of its inverse, which is wrong for regions that are
        # neither level nor turned by half-turns. Reproduced, because its success criterion depends on it.
        offset = data.site_xmat[lower.site].reshape(3, 3) @ (position - support)
        return bool(
            lower.half[2] - ON_SINK < offset[2] < lower.half[2] + ON_HEIGHT
            and abs(offset[0]) < lower.half[0]
            and abs(offset[1]) < lower.half[1]
            and (lower.parent is None or in_contact(data, self._entities[lower.parent], upper))
        )

    def _stack(self, data: mujoco.MjData, upper: EntityIndex, lower: EntityIndex) -> bool:
        position, (low, high) = _position(data, upper), self.box_of(data, lower)
        return (
            in_contact(data, upper, lower)
            and bool(position[2] > _position(data, lower)[2])
            and bool(np.all(position[:2] > low[:2]) and np.all(position[:2] < high[:2]))
        )

    def _exact_in(self, data: mujoco.MjData, inner: EntityIndex, outer: Element) -> bool:
        """Return whether an object is inside a container and rests on its floor, as LIBERO-X requires."""
        sink = DEEPER_SINK if isinstance(outer, RegionIndex) else 0.0
        low, high = self.box_of(data, outer, sink)
        lowest = self.box_of(data, inner)[0][2]
        return _is_within(data, inner, outer, low, high) and bool(lowest - (low[2] + sink) <= REST_HEIGHT)


_RULES: Mapping[Predicate, Callable[..., bool]] = {
    Predicate.ON: Predicates._on,
    Predicate.IN: lambda self, data, inner, outer: _is_within(data, inner, outer, *self.box_of(data, outer)),
    Predicate.UP: lambda self, data, element: _position(data, element)[2] >= UP_HEIGHT,
    Predicate.STACK: Predicates._stack,
    Predicate.IN_CONTACT: lambda self, data, one, other: in_contact(data, one, other),
    Predicate.EXACT_IN: Predicates._exact_in,
    Predicate.UPRIGHT_ON: lambda self, data, upper, lower: (
        self._on(data, upper, lower) and _up_cosine(data, upper, lower) >= UPRIGHT_COSINE
    ),
    Predicate.SIDE_ON: lambda self, data, upper, lower: (
        self._on(data, upper, lower) and abs(_up_cosine(data, upper, lower)) <= SIDE_COSINE
    ),
}


def in_contact(data: mujoco.MjData, one: EntityIndex, other: EntityIndex) -> bool:
    """Return whether the collision geoms of two entities touch."""
    return any(
        (first in one.geoms and second in other.geoms) or (first in other.geoms and second in one.geoms)
        for first, second in data.contact.geom[: data.ncon].tolist()
    )


def up_axis(category: str) -> np.ndarray:
    """Return the axis (3,) in an object's frame that points up in its resting pose."""
    rotation = np.empty(9)
    mujoco.mju_quat2Mat(rotation, np.array(resting_pose(category).tilt))
    return np.asarray(rotation.reshape(3, 3)[2])


def _up_cosine(data: mujoco.MjData, element: EntityIndex, surface: Element) -> float:
    """Return the cosine of the angle between an object's up axis and the normal of the surface below it."""
    normal = np.array([0.0, 0.0, 1.0])
    if isinstance(surface, RegionIndex):
        axes = data.site_xmat[surface.site].reshape(3, 3).T
        axis = axes[np.argmax(np.abs(axes[:, 2]))]
        normal = axis * np.sign(axis[2])
    return float(data.xmat[element.body].reshape(3, 3) @ up_axis(element.category) @ normal)


def _position(data: mujoco.MjData, element: Element) -> np.ndarray:
    place = data.xpos[element.body] if isinstance(element, EntityIndex) else data.site_xpos[element.site]
    return np.asarray(place)


def _is_within(
    data: mujoco.MjData, inner: EntityIndex, outer: Element, low: np.ndarray, high: np.ndarray
) -> bool:
    """Return whether an object's origin is between two corners and, if its container is an entity, the two touch."""
    if isinstance(outer, EntityIndex) and not in_contact(data, outer, inner):
        return False
    position = _position(data, inner)
    return bool(np.all(position > low) and np.all(position < high))
