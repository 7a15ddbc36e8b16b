"""Side effects of an episode: displaced bystanders, opened drawers, forces, contacts of the arm, smoothness.

A *bystander* is an object that the goal mentions neither directly nor by one of its regions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import mujoco
import numpy as np

from assay.episodes.conduct import SideEffects
from assay.sim.categories import OPENING, SWITCHING
from assay.sim.compile import CompiledScene
from assay.sim.predicates import up_axis
from assay.sim.robot_contacts import ARM_PART, PARTS, Touches
from assay.sim.simulation import CONTROL_HZ
from assay.support.jit import machine_code
from assay.tasks.scene import Goal

MIN_DISPLACEMENT_M = 0.005
"""Minimum recorded displacement of a bystander, metres; settling objects move less."""
MIN_TILT_DEG = 5.0
"""Minimum recorded tilt of a bystander, degrees."""
MIN_OPENED_SHARE = 0.05
"""Minimum recorded opening of a drawer or door, as a fraction of its range."""
MIN_FORCE_N = 0.5
"""Minimum recorded force, newton."""
EVENT_TOLERANCE = 0.002
"""Largest displacement by an event at which an object or joint counts as unmoved, metres or radians."""
MAX_RECORDED = 1e6
"""Upper limit of recorded values; larger ones come from a diverging simulation and are clipped."""


class EffectWatch:
    """Collects the robot's contacts after every control step and summarizes the side effects at the end."""

    def __init__(
        self, compiled: CompiledScene, goal: Goal, data: mujoco.MjData, names: tuple[str, ...]
    ) -> None:
        """Watch the entities that a goal does not mention; ``names`` are those of `RobotContacts`."""
        self._names = names
        self._forces = np.zeros(len(self._names))
        self._arm: Counter[int] = Counter()
        named = {name for atom in goal.atoms for name in atom.arguments}
        owners = {region.parent for name, region in compiled.regions.items() if name in named}
        others = [
            entity
            for name, entity in compiled.entities.items()
            if entity.movable and name not in named and name not in owners
        ]
        self._others = [entity.name for entity in others]
        self._bodies = np.array([entity.body for entity in others], dtype=int)
        self._up = np.array([up_axis(entity.category) for entity in others]).reshape(-1, 3)
        addresses = [int(compiled.model.jnt_qposadr[entity.joints[-1]]) for entity in others]
        self._places = np.array(addresses, dtype=int)[:, None] + np.arange(3)
        self._start = data.xpos[self._bodies].copy()
        self._upright = self._axes(data)
        self._parts = _parts(compiled, named, data)

    def __call__(self, touches: Touches | None) -> None:
        """Record the robot's contacts."""
        if touches is None:
            return
        _update_peaks(touches.owners, touches.parts, touches.forces, self._forces)
        self._arm.update(set(touches.owners[touches.parts == ARM_PART].tolist()))

    def inherit(self, before: EffectWatch, then: np.ndarray, now: np.ndarray) -> None:
        """Take over the record from before an event, except for objects and joints that the event itself moved.

        The record consists of forces, contacts of the arm, and the initial positions of bystanders and closed parts.
        ``then`` and ``now`` are the joint positions right before and after the event, (nq,) of the old and of the new
        model.
        """
        number = {name: index for index, name in enumerate(self._names)}
        for old, name in enumerate(before._names):
            if name in number:
                new = number[name]
                self._forces[new] = max(self._forces[new], before._forces[old])
                self._arm[new] += before._arm[old]
        self._arm = +self._arm  # drop zero counts
        for new, name in enumerate(self._others):
            if name not in before._others:
                continue
            old = before._others.index(name)
            shift = np.linalg.norm(now[self._places[new]] - then[before._places[old]])
            if shift <= EVENT_TOLERANCE and np.array_equal(self._up[new], before._up[old]):
                self._start[new], self._upright[new] = before._start[old], before._upright[old]
        for joint in self._parts.keys() & before._parts.keys():
            part, earlier = self._parts[joint], before._parts[joint]
            if abs(now[part.place] - then[earlier.place]) <= EVENT_TOLERANCE:
                self._parts[joint] = replace(earlier, place=part.place)

    def effects(self, data: mujoco.MjData, path: np.ndarray) -> SideEffects:
        """Return the side effects so far; ``path`` holds the end effector's positions, metres, (steps + 1, 3)."""
        distances = np.linalg.norm(data.xpos[self._bodies] - self._start, axis=1)
        cosine = np.clip((self._axes(data) * self._upright).sum(axis=1), -1.0, 1.0)
        tilts = np.degrees(np.arccos(cosine))
        path = np.asarray(path, np.float64)
        third = np.diff(path, n=3, axis=0) * CONTROL_HZ**3
        jerk = float(np.sqrt((third**2).sum(axis=1).mean())) if len(third) else 0.0
        return SideEffects(
            moved=_above(self._others, distances, MIN_DISPLACEMENT_M, 4),
            tilted=_above(self._others, tilts, MIN_TILT_DEG, 1),
            opened={
                part.name: round(opened, 3)
                for part in self._parts.values()
                if part.closed
                and (opened := (float(data.qpos[part.place]) - part.start) / part.way) > MIN_OPENED_SHARE
            },
            forces=_above(self._names, self._forces, MIN_FORCE_N, 1),
            arm={self._names[owner]: steps for owner, steps in sorted(self._arm.items())},
            path=round(_clip(float(np.linalg.norm(np.diff(path, axis=0), axis=1).sum())), 4),
            jerk=round(_clip(jerk), 3),
        )

    def _axes(self, data: mujoco.MjData) -> np.ndarray:
        """Return the directions of the bystanders' upright axes, (n, 3)."""
        return np.asarray(np.einsum("nij,nj->ni", data.xmat[self._bodies].reshape(-1, 3, 3), self._up))


@machine_code
def _update_peaks(owners, parts, forces, peaks):  # type: ignore[no-untyped-def]
    """Update, in place, each owner's largest force so far by one part of the robot, newton, (owners,)."""
    # Per part, because the forces of two fingers on the object between them cancel out.
    total = np.zeros((len(peaks), PARTS, 3))
    for row in range(len(owners)):
        for axis in range(3):
            total[owners[row], parts[row], axis] += forces[row, axis]
    for owner in range(len(peaks)):
        for part in range(PARTS):
            x, y, z = total[owner, part]
            peaks[owner] = max(peaks[owner], np.sqrt(x * x + y * y + z * z))


def _clip(value: float) -> float:
    """Clip a value of a diverging simulation to `MAX_RECORDED`, which a file can store."""
    return min(value, MAX_RECORDED) if value == value else 0.0


def _above(names: Sequence[str], values: np.ndarray, least: float, digits: int) -> dict[str, float]:
    """Return the values above a limit, rounded, by name."""
    return {
        name: round(_clip(value), digits)
        for name, value in zip(names, values.tolist(), strict=True)
        if value > least
    }


@dataclass(frozen=True, slots=True)
class _BystanderPart:
    """A drawer, door or knob that the goal does not mention."""

    name: str
    place: int
    """Address of the joint in qpos."""
    start: float
    """Initial joint value."""
    way: float
    """Distance of the joint from its initial value to open or on."""
    closed: bool
    """Whether the part was initially neither open nor on."""


def _parts(compiled: CompiledScene, named: set[str], data: mujoco.MjData) -> dict[str, _BystanderPart]:
    """Drawers, doors and knobs that the goal does not mention, keyed by joint name."""
    model, parts = compiled.model, {}
    requested = {
        joint for name, region in compiled.regions.items() if name in named for joint in region.inner_joints
    }
    region_names = {joint: name for name, region in compiled.regions.items() for joint in region.inner_joints}
    for name, entity in compiled.entities.items():
        mechanism = OPENING.get(entity.category) or SWITCHING.get(entity.category)
        if mechanism is None or name in named:
            continue
        for joint in entity.inner_joints:
            place = int(model.jnt_qposadr[joint])
            value = float(data.qpos[place])
            if joint not in requested:
                parts[model.joint(joint).name] = _BystanderPart(
                    region_names.get(joint, name),
                    place,
                    value,
                    mechanism.active.value - value,
                    not mechanism.active.holds(value),
                )
    return parts
