"""Replace the compiled scene in the middle of an episode.

The robot, its controller and all objects that the new scene does not change continue exactly as before. Objects that
it moves are put at their new positions; resized objects stay in place if they fit; new objects drop from a small
height.
"""

from __future__ import annotations

from dataclasses import replace

import mujoco
import numpy as np

from assay.errors import PerturbationError
from assay.sim.compile import EntityIndex, live_fixtures
from assay.sim.robot_contacts import Fingers
from assay.sim.simulation import Simulation
from assay.sim.states import InitialState

MOVED = 0.002
"""Minimum distance between an object's positions in the two layouts for it to count as moved, metres."""
DROP_HEIGHT = 0.02
"""Height above its position from which a new object is dropped, metres."""
MAX_OVERLAP = 0.001
"""Largest interpenetration of a moved object, metres."""


class Replacement:
    """Transfers an episode to another simulation as soon as the changed objects and their new positions are free."""

    def __init__(self, old: Simulation, new: Simulation, initial: InitialState, seed: int) -> None:
        """Plan a replacement of ``old`` by ``new``, given the episode's initial state and the seed of its layout.

        Raises PlacementError if the new scene has no valid layout, PerturbationError if the room or robot changes.
        """
        before, after = old.compiled, new.compiled
        if before.layout != after.layout or before.home != after.home:
            raise PerturbationError("neither the room nor the robot's pose can change during an episode")
        self._old, self.simulation = old, new
        usual, changed = old.sample(seed), new.sample(seed)
        self._vector, self._fixtures = changed.vector.copy(), changed.fixtures.copy()
        self._fingers = Fingers(new)
        self._fingers_before = Fingers(old)
        moved, added = [], []
        kinds_before = {entity.name: (entity.category, entity.size) for entity in before.scene.entities}
        kinds = {entity.name: (entity.category, entity.size) for entity in after.scene.entities}
        self._resized: list[tuple[EntityIndex, float]] = []
        """Resized objects, and their changes of height, metres."""
        for entity in after.entities.values():
            twin = before.entities.get(entity.name)
            if twin is None:
                added.append(entity)
            elif entity.movable and twin.movable:
                here, there = _position(old, twin, usual.vector), _position(new, entity, changed.vector)
                was, now = kinds_before[entity.name], kinds[entity.name]
                if now != was and now[0] == was[0]:  # resized
                    self._resized.append((entity, float(there[2] - here[2])))
                elif np.linalg.norm(there - here) > MOVED:
                    moved.append(entity)
                    start = _position(old, twin, initial.vector)
                    self._vector[_place(new, entity)] = there + start - here
        for entity in added:
            if entity.movable:
                self._vector[_place(new, entity)][2] += DROP_HEIGHT
        self._new_places = (*moved, *added)
        fixtures = {fixture.name: place for place, fixture in enumerate(before.scene.fixtures)}
        self._standing = [
            (place, fixtures[fixture.name])
            for place, fixture in enumerate(after.scene.fixtures)
            if fixture.name in fixtures
            and np.linalg.norm(changed.fixtures[place, :3] - usual.fixtures[fixtures[fixture.name], :3])
            <= MOVED
        ]
        shifted = [
            fixture.name
            for place, fixture in enumerate(after.scene.fixtures)
            if fixture.name in fixtures and place not in dict(self._standing)
        ]
        gone = [  # removed, replaced or resized
            name for name, kind in kinds_before.items() if kinds.get(name) != kind and name in before.entities
        ]
        names = dict.fromkeys((*(entity.name for entity in moved), *shifted, *gone))
        self._changed = [before.entities[name] for name in names]
        self._shifted = [after.entities[name] for name in shifted]

    def __call__(self) -> bool:
        """Transfer the state if the changed objects and their new positions are free; ``old`` is unchanged."""
        if any(map(self._fingers_before.touch, self._changed)):
            return False
        old, new = self._old, self.simulation
        before, after = old.state(), self._vector.copy()
        assert before.drive is not None
        after[0] = before.vector[0]
        after[1 + new.model.nq :] = 0.0
        warm = np.zeros(new.model.nv)
        placed = {joint for entity in self._new_places for joint in entity.joints}
        for joint in set(range(new.model.njnt)) - placed:
            twin = mujoco.mj_name2id(old.model, mujoco.mjtObj.mjOBJ_JOINT, new.model.joint(joint).name)
            if twin >= 0:
                (place, dof), (old_place, old_dof) = _addresses(new.model, joint), _addresses(old.model, twin)
                after[1 + place] = before.vector[1 + old_place]
                after[1 + new.model.nq + dof] = before.vector[1 + old.model.nq + old_dof]
                warm[dof] = before.drive.warm_start[old_dof]
        for entity, lift in self._resized:
            after[_place(new, entity)][2] += lift
        fixtures = self._fixtures.copy()
        live = live_fixtures(old.model, old.compiled)
        for number, there in self._standing:
            fixtures[number] = live[there]
        new.resume(InitialState(after, fixtures, replace(before.drive, warm_start=warm)), old.steps)
        fitted = (*self._new_places, *(entity for entity, _ in self._resized))
        pairs, depth = new.data.contact.geom[: new.data.ncon], new.data.contact.dist[: new.data.ncon]
        for entity in fitted:
            mine = np.isin(pairs, list(entity.geoms))
            if (depth[mine[:, 0] != mine[:, 1]] < -MAX_OVERLAP).any():  # overlaps with another object
                return False
        return not any(map(self._fingers.touch, (*fitted, *self._shifted)))


def _addresses(model: mujoco.MjModel, joint: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of a joint's values in qpos and in qvel."""
    free = model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_FREE
    place, dof = model.jnt_qposadr[joint], model.jnt_dofadr[joint]
    return place + np.arange(7 if free else 1), dof + np.arange(6 if free else 1)


def _place(simulation: Simulation, entity: EntityIndex) -> slice:
    """Slice of the state vector that holds the position (3,) of a movable object."""
    first = 1 + int(simulation.model.jnt_qposadr[entity.joints[-1]])
    return slice(first, first + 3)


def _position(simulation: Simulation, entity: EntityIndex, vector: np.ndarray) -> np.ndarray:
    return vector[_place(simulation, entity)]
