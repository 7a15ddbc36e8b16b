"""Progress of each atom of a goal: reached, touched, grasped, lifted, carried, placed, released.

A stage is recorded when it is first reached and is never withdrawn. The constants below define the stages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import mujoco
import numpy as np

from assay.episodes.conduct import FIXED, LIFTING, PLACING, TURNING
from assay.sim.categories import MECHANISMS
from assay.sim.compile import CompiledScene, EntityIndex, RegionIndex
from assay.sim.compose import GRIPPER
from assay.sim.robot_contacts import Touches, measure_press
from assay.support.jit import machine_code
from assay.tasks.scene import Atom, Goal, Predicate

REACH_DISTANCE = 0.05
"""Distance of the grip site from an object's bounding box below which it is reached, metres."""
GRIP_FORCE = 0.5
"""Force with which both fingers must press on an object from opposite sides to hold it, newton."""
HOLD_STEPS = 3
"""Control steps for which the fingers must hold an object: a gripper that pokes at it may pinch it for a moment."""
LIFT_HEIGHT = 0.02
"""Height above its lowest position so far at which a held object is lifted, metres."""
CARRIED_FRACTION = 0.5
"""Fraction of the horizontal distance to its destination that a carried object must have covered."""
MOVED = 0.02
"""Minimum displacement of an object or drawer that counts as moved, metres."""
TURNED = 0.2
"""Minimum rotation of a hinge that counts as moved, radians."""

_PLACES = frozenset(
    {
        Predicate.ON,
        Predicate.IN,
        Predicate.STACK,
        Predicate.IN_CONTACT,
        Predicate.EXACT_IN,
        Predicate.UPRIGHT_ON,
        Predicate.SIDE_ON,
    }
)


@machine_code
def _distance_outside(point, place, turn, low, high):  # type: ignore[no-untyped-def]
    """Return the distance of a point from a box in a frame at ``place`` (3,) with the axes ``turn`` (9,), metres."""
    total = 0.0
    for axis in range(3):
        local = 0.0
        for k in range(3):
            local += (point[k] - place[k]) * turn[3 * k + axis]
        off = max(low[axis] - local, local - high[axis], 0.0)
        total += off * off
    return np.sqrt(total)


@dataclass(slots=True)
class _AtomProgress:
    """One atom, the part of the model that it refers to, and its progress."""

    atom: Atom
    body: int
    """Body in whose frame the bounding box is given."""
    geoms: np.ndarray
    """Mask of the geoms of the atom's object or part, (ngeom,)."""
    low: np.ndarray
    """Lower corner of the bounding box in the body's frame, metres, (3,)."""
    high: np.ndarray
    stages: dict[str, int | None]
    """Control step at which each stage was reached; None if it has not been reached."""
    place: Callable[[mujoco.MjData], np.ndarray] | None = None
    """Function that returns the position of the destination, (3,), for objects that are to be placed."""
    away: float = 0.0
    """Initial horizontal distance to the destination, metres."""
    lowest: float = np.inf
    """Lowest height of the object so far, metres."""
    pressed: int = 0
    """Number of consecutive control steps for which the fingers have been pressing on the object."""
    joints: list[tuple[int, float, float]] = field(default_factory=list)
    """For a drawer, door or knob: qpos address, initial value and minimum displacement of each joint."""

    def note(self, stage: str, step: int) -> None:
        if stage in self.stages and self.stages[stage] is None:
            self.stages[stage] = step


class StageWatch:
    """Tracks the progress of a goal; called once before the policy acts and after every control step."""

    def __init__(self, compiled: CompiledScene, goal: Goal, data: mujoco.MjData) -> None:
        self._compiled, self._model = compiled, compiled.model
        self._grip_site = compiled.model.site(f"{GRIPPER}grip_site").id
        self._finger_joint = compiled.model.joint(f"{GRIPPER}finger_joint1").id
        self._initially_true: frozenset[Atom] = frozenset()
        watched = {number: self._watch(atom, data) for number, atom in enumerate(goal.atoms)}
        self._watched = {number: progress for number, progress in watched.items() if progress is not None}

    def __call__(self, data: mujoco.MjData, touches: Touches | None, true: list[bool], step: int) -> None:
        """Update the progress from the current state; ``true`` holds the truth values of the atoms."""
        for number, watched in list(self._watched.items()):
            if step == 0 and true[number]:
                del self._watched[number]
                self._initially_true |= {watched.atom}
            else:
                self._look(watched, data, touches, true[number], step)

    def inherit(self, before: StageWatch) -> None:
        """Take over the progress that the same atoms had made before an event."""
        earlier = {progress.atom: progress for progress in before._watched.values()}
        for number, watched in list(self._watched.items()):
            if watched.atom in earlier:
                watched.stages = earlier[watched.atom].stages
                watched.lowest, watched.away = earlier[watched.atom].lowest, earlier[watched.atom].away
            elif watched.atom in before._initially_true:
                del self._watched[number]
        self._initially_true = before._initially_true

    @property
    def stages(self) -> dict[str, dict[str, int | None]]:
        """Atom -> stage -> control step, for each atom that did not hold at the start."""
        return {str(progress.atom): dict(progress.stages) for progress in self._watched.values()}

    def _look(
        self, progress: _AtomProgress, data: mujoco.MjData, touches: Touches | None, true: bool, step: int
    ) -> None:
        touched, press = False, 0.0
        if touches is not None:
            axis = data.xaxis[self._finger_joint]
            touched, press = measure_press(touches.geoms, touches.parts, touches.forces, progress.geoms, axis)
        stages, position = progress.stages, data.xpos[progress.body]
        if stages["reached"] is None:
            grip, turn = data.site_xpos[self._grip_site], data.xmat[progress.body]
            if (
                touched
                or _distance_outside(grip, position, turn, progress.low, progress.high) < REACH_DISTANCE
            ):
                stages["reached"] = step
        if touched:
            progress.note("touched", step)
        if any(abs(data.qpos[place] - start) > far for place, start, far in progress.joints):
            progress.note("moved", step)
        if "grasped" in stages:
            height = float(position[2])
            progress.lowest = min(progress.lowest, height)
            progress.pressed = progress.pressed + 1 if press > GRIP_FORCE else 0
            if progress.pressed >= HOLD_STEPS:
                progress.note("grasped", step)
                if height > progress.lowest + LIFT_HEIGHT:
                    progress.note("lifted", step)
                if progress.place is not None and stages.get("carried") is None:
                    left = float(np.linalg.norm(position[:2] - progress.place(data)[:2]))
                    if left < (1 - CARRIED_FRACTION) * progress.away:
                        progress.note("carried", step)
        if true:
            progress.note("placed", step)
            progress.note("done", step)
            if not touched:
                progress.note("released", step)

    def _watch(self, atom: Atom, data: mujoco.MjData) -> _AtomProgress | None:
        """Start tracking an atom; return None if its entities are absent."""
        model, entities = self._model, self._compiled.entities
        elements: Mapping[str, EntityIndex | RegionIndex] = {**entities, **self._compiled.regions}
        if not atom.arguments or not elements.keys() >= set(atom.arguments):
            return None
        first, destination = elements[atom.arguments[0]], elements[atom.arguments[-1]]
        if atom.predicate in MECHANISMS and first.inner_joints:
            bodies = model.jnt_bodyid[list(first.inner_joints)]
            geoms = np.flatnonzero(np.isin(model.geom_bodyid, bodies) & (model.geom_group == 0))
            progress = self._measure(atom, int(min(bodies)), geoms, TURNING, data)
            for joint in first.inner_joints:
                address = int(model.jnt_qposadr[joint])
                hinge = model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_HINGE
                progress.joints.append((address, float(data.qpos[address]), TURNED if hinge else MOVED))
            return progress
        owner = first if isinstance(first, EntityIndex) else entities.get(first.parent or "")
        if owner is None:
            return None
        stages: tuple[str, ...] = FIXED
        if owner.movable and atom.predicate in _PLACES:
            stages = PLACING
        elif owner.movable and atom.predicate is Predicate.UP:
            stages = LIFTING
        progress = self._measure(atom, owner.body, np.array(sorted(owner.geoms)), stages, data)
        if stages is PLACING:
            progress.place = (
                (lambda data: data.xpos[destination.body])
                if isinstance(destination, EntityIndex)
                else (lambda data: data.site_xpos[destination.site])
            )
            progress.away = float(np.linalg.norm(data.xpos[owner.body][:2] - progress.place(data)[:2]))
        return progress

    def _measure(
        self, atom: Atom, body: int, geoms: np.ndarray, stages: tuple[str, ...], data: mujoco.MjData
    ) -> _AtomProgress:
        """Start tracking geoms (ids), with their bounding box in the frame of ``body``."""
        model = self._model
        mask = np.zeros(model.ngeom, dtype=bool)
        mask[geoms] = True
        low = high = np.zeros(3)
        if len(geoms):
            frame = data.xmat[body].reshape(3, 3)
            turned = frame.T @ data.geom_xmat[geoms].reshape(-1, 3, 3)  # (n, 3, 3), in the body's frame
            centre = (data.geom_xpos[geoms] - data.xpos[body]) @ frame
            centre = centre + np.einsum("nij,nj->ni", turned, model.geom_aabb[geoms, :3])
            half = np.einsum("nij,nj->ni", np.abs(turned), model.geom_aabb[geoms, 3:])
            low, high = (centre - half).min(axis=0), (centre + half).max(axis=0)
        return _AtomProgress(atom, body, mask, low, high, dict.fromkeys(stages))
