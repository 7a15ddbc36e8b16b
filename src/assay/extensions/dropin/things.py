"""`env.objects_dict` and its like: the things of a scene, by LIBERO's names, with where and how they are."""

from __future__ import annotations

import numpy as np

from assay.extensions.dropin.missing import Partial
from assay.sim.compile import EntityIndex
from assay.sim.simulation import Simulation
from assay.tasks import Atom, Predicate


class Thing(Partial):
    """An object or a fixture."""

    shown_as = "objects_dict[...]"

    def __init__(self, simulation: Simulation, index: EntityIndex) -> None:
        model = simulation.model
        self.name = index.name
        self.category_name = index.category
        self.root_body = model.body(index.body).name
        self.joints = [model.joint(joint).name for joint in index.joints]
        self.contact_geoms = [model.geom(geom).name for geom in sorted(index.geoms)]


class ThingState(Partial):
    """Where a thing is, and what is true of it."""

    shown_as = "object_states_dict[...]"

    def __init__(self, simulation: Simulation, name: str) -> None:
        self._simulation = simulation
        self.object_name = name

    def get_geom_state(self) -> dict[str, np.ndarray]:
        """Its position, metres, and its orientation (w, x, y, z)."""
        index = self._simulation.compiled.entities.get(self.object_name)
        position = self._simulation.pose(self.object_name)[0]
        quaternion = (
            self._simulation.data.xquat[index.body].copy() if index else np.array([1.0, 0.0, 0.0, 0.0])
        )
        return {"pos": position, "quat": quaternion}

    def get_joint_state(self) -> list[np.ndarray]:
        """The values of its doors', drawers' and knobs' joints."""
        index = self._simulation.compiled.entities[self.object_name]
        addresses = self._simulation.model.jnt_qposadr
        return [np.array([self._simulation.data.qpos[addresses[joint]]]) for joint in index.inner_joints]

    def _holds(self, predicate: Predicate, *others: str) -> bool:
        return self._simulation.holds(Atom(predicate, (self.object_name, *others)))

    def is_open(self) -> bool:
        """Whether it is open."""
        return self._holds(Predicate.OPEN)

    def is_close(self) -> bool:
        """Whether it is closed."""
        return self._holds(Predicate.CLOSE)

    def turn_on(self) -> bool:
        """Whether it is on."""
        return self._holds(Predicate.TURN_ON)

    def turn_off(self) -> bool:
        """Whether it is off."""
        return self._holds(Predicate.TURN_OFF)

    def check_contact(self, other: ThingState) -> bool:
        """Whether it touches another."""
        return self._holds(Predicate.IN_CONTACT, other.object_name)

    def check_contain(self, other: ThingState) -> bool:
        """Whether another is in it."""
        return self._simulation.holds(Atom(Predicate.IN, (other.object_name, self.object_name)))

    def check_ontop(self, other: ThingState) -> bool:
        """Whether another is on it."""
        return self._simulation.holds(Atom(Predicate.ON, (other.object_name, self.object_name)))
