"""Progress of each goal atom, and side effects of an episode.

A stage of progress (reached, touched, grasped, lifted, carried, placed, released) is recorded when it is first reached
and is never withdrawn. Side effects are displaced bystanders, opened drawers, contact forces, arm contacts and
jerk; a *bystander* is an object that the goal mentions neither directly nor through one of its regions. The
constants below define stages and limits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import mujoco
import numpy as np

from assay.episodes.episode import FIXED, LIFTING, PLACING, TURNING, SideEffects
from assay.sim.categories import MECHANISMS, OPENING, SWITCHING
from assay.sim.compile import CompiledScene, EntityIndex, RegionIndex, geom_boxes
from assay.sim.compose import GRIPPER
from assay.sim.predicates import up_axis
from assay.sim.robot_contacts import ARM_PART, PARTS, Touches, measure_press
from assay.sim.simulation import CONTROL_HZ
from assay.support.jit import machine_code
from assay.tasks.scene import INSIDE, UPON, Atom, Goal, Predicate

REACH_DISTANCE = 0.05
"""Distance from the grip site to an object's bounding box below which the object counts as reached, in metres."""
GRIP_FORCE = 0.5
"""Minimum force, in newtons, that each finger must exert on an object, from opposite sides, to hold it."""
HOLD_STEPS = 3
"""Number of control steps for which the fingers must hold an object, because a gripper that merely pokes an object
may pinch it for a moment.
"""
LIFT_HEIGHT = 0.02
"""Height above its lowest position so far, in metres, at which a held object counts as lifted."""
CARRIED_FRACTION = 0.5
"""Fraction of the horizontal distance to its destination that a carried object must have covered."""
MOVED = 0.02
"""Minimum displacement of an object or drawer for it to count as moved, in metres."""
TURNED = 0.2
"""Minimum rotation of a hinged part for it to count as moved, in radians."""
MIN_DISPLACEMENT_M = 0.005
"""Minimum displacement of a bystander that is recorded, in metres; settling objects move less."""
MIN_TILT_DEG = 5.0
"""Minimum tilt of a bystander that is recorded, in degrees."""
MIN_OPENED_FRACTION = 0.05
"""Minimum opening of a drawer or door that is recorded, as a fraction of its range."""
MIN_FORCE_N = 0.5
"""Minimum force that is recorded, in newtons."""
EVENT_TOLERANCE = 0.002
"""Maximum displacement caused by an event for an object or joint to count as unmoved, in metres or radians."""
MAX_RECORDED = 1e6
"""Upper limit of recorded values; larger values come from a diverging simulation and are clipped."""


@machine_code
def _distance_outside(point, place, turn, low, high):  # type: ignore[no-untyped-def]
    """Return the distance from a point to a box, in metres; the box's frame has its origin at ``place`` (3,) and
    the rotation matrix ``turn`` (9,).
    """
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
    """One goal atom, its object or moving part in the model, and its progress."""

    atom: Atom
    body: int
    """Body in whose frame the bounding box is expressed."""
    geoms: np.ndarray
    """Mask of the geoms of the atom's object or part, (ngeom,)."""
    low: np.ndarray
    """Lower corner of the bounding box in the body's frame, in metres, (3,)."""
    high: np.ndarray
    """Upper corner of the bounding box in the body's frame, in metres, (3,)."""
    stages: dict[str, int | None]
    """Control step at which each stage was reached; None if it has not been reached."""
    destination: Callable[[mujoco.MjData], np.ndarray] | None = None
    """Function that returns the position of the destination, (3,), for objects to be placed."""
    initial_distance: float = 0.0
    """Initial horizontal distance to the destination, in metres."""
    lowest: float = np.inf
    """Lowest height of the object so far, in metres."""
    pressed: int = 0
    """Number of consecutive control steps for which the fingers have been pressing on the object."""
    joints: list[tuple[int, float, float]] = field(default_factory=list)
    """For a drawer, door or knob: qpos address, initial value and minimum displacement of each joint."""


class StageWatch:
    """Tracks progress towards a goal; called once before the policy acts and after every control step."""

    def __init__(self, compiled: CompiledScene, goal: Goal, data: mujoco.MjData) -> None:
        self._compiled, self._model = compiled, compiled.model
        self._grip_site = compiled.model.site(f"{GRIPPER}grip_site").id
        self._finger_joint = compiled.model.joint(f"{GRIPPER}finger_joint1").id
        self._initially_true: frozenset[Atom] = frozenset()
        progress = ((number, self._watch(atom, data)) for number, atom in enumerate(goal.atoms))
        self.watched = {number: watched for number, watched in progress if watched is not None}
        """Progress of each atom that was false initially, keyed by the atom's index in the goal."""

    def __call__(self, data: mujoco.MjData, touches: Touches, true: list[bool], step: int) -> None:
        """Update the progress after control step ``step``; ``true`` contains the truth values of the atoms."""
        for number, progress in list(self.watched.items()):
            if step == 0 and true[number]:
                del self.watched[number]
                self._initially_true |= {progress.atom}
                continue
            axis = data.xaxis[self._finger_joint]
            touched, press = measure_press(touches.geoms, touches.parts, touches.forces, progress.geoms, axis)
            stages, position = progress.stages, data.xpos[progress.body]
            current = {"placed", "done"} if true[number] else set()
            if true[number] and not touched:
                current.add("released")
            if touched:
                current |= {"reached", "touched"}
            elif stages["reached"] is None:
                grip, turn = data.site_xpos[self._grip_site], data.xmat[progress.body]
                if _distance_outside(grip, position, turn, progress.low, progress.high) < REACH_DISTANCE:
                    current.add("reached")
            if any(abs(data.qpos[place] - start) > far for place, start, far in progress.joints):
                current.add("moved")
            if "grasped" in stages:
                height = float(position[2])
                progress.lowest = min(progress.lowest, height)
                progress.pressed = progress.pressed + 1 if press > GRIP_FORCE else 0
                if progress.pressed >= HOLD_STEPS:
                    current.add("grasped")
                    if height > progress.lowest + LIFT_HEIGHT:
                        current.add("lifted")
                    if progress.destination is not None:
                        left = float(np.linalg.norm(position[:2] - progress.destination(data)[:2]))
                        if left < (1 - CARRIED_FRACTION) * progress.initial_distance:
                            current.add("carried")
            stages.update({stage: step for stage in current if stages.get(stage, step) is None})

    def inherit(self, before: StageWatch) -> None:
        """Adopt the progress that ``before`` recorded for the same atoms up to an event."""
        earlier = {progress.atom: progress for progress in before.watched.values()}
        for number, watched in list(self.watched.items()):
            if watched.atom in earlier:
                old = earlier[watched.atom]
                watched.stages, watched.lowest = old.stages, old.lowest
                watched.initial_distance = old.initial_distance
            elif watched.atom in before._initially_true:
                del self.watched[number]
        self._initially_true = before._initially_true

    def _watch(self, atom: Atom, data: mujoco.MjData) -> _AtomProgress | None:
        """Start tracking an atom; return None if its entities are absent."""
        model, entities = self._model, self._compiled.entities
        elements: Mapping[str, EntityIndex | RegionIndex] = {**entities, **self._compiled.regions}
        if not atom.arguments or not elements.keys() >= set(atom.arguments):
            return None
        first, destination = elements[atom.arguments[0]], elements[atom.arguments[-1]]
        owner = first if isinstance(first, EntityIndex) else entities.get(first.parent or "")
        if owner is None:
            return None
        stages: tuple[str, ...] = FIXED
        body, geoms = owner.body, sorted(owner.geoms)
        is_mechanism = atom.predicate in MECHANISMS and bool(first.inner_joints)
        if is_mechanism:
            bodies = model.jnt_bodyid[list(first.inner_joints)]
            body, geoms = int(min(bodies)), [geom for geom in geoms if model.geom_bodyid[geom] in bodies]
            stages = TURNING
        elif owner.movable and atom.predicate in (*UPON, *INSIDE, Predicate.IN_CONTACT):
            stages = PLACING
        elif owner.movable and atom.predicate is Predicate.UP:
            stages = LIFTING
        mask = np.zeros(model.ngeom, dtype=bool)
        mask[geoms] = True
        low = high = np.zeros((1, 3))
        if geoms:
            boxes = geom_boxes(model, data, geoms)
            relative = replace(boxes, centre=boxes.centre - data.xpos[body])
            low, high = relative.transform(np.zeros(3), data.xmat[body].reshape(3, 3).T).bounds
        progress = _AtomProgress(atom, body, mask, low.min(axis=0), high.max(axis=0), dict.fromkeys(stages))
        for joint in first.inner_joints if is_mechanism else ():
            address = int(model.jnt_qposadr[joint])
            hinge = model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_HINGE
            progress.joints.append((address, float(data.qpos[address]), TURNED if hinge else MOVED))
        if stages is PLACING:
            progress.destination = (
                (lambda data: data.xpos[destination.body])
                if isinstance(destination, EntityIndex)
                else (lambda data: data.site_xpos[destination.site])
            )
            way = data.xpos[body][:2] - progress.destination(data)[:2]
            progress.initial_distance = float(np.linalg.norm(way))
        return progress


class EffectWatch:
    """Collects the robot's contacts after every control step and summarizes the side effects at the end."""

    def __init__(
        self, compiled: CompiledScene, goal: Goal, data: mujoco.MjData, names: tuple[str, ...]
    ) -> None:
        """Monitor the entities that a goal does not mention; ``names`` are those of `RobotContacts.names`."""
        self._names = names
        self._forces = np.zeros(len(self._names))
        self._arm: Counter[int] = Counter()
        named = {name for atom in goal.atoms for name in atom.arguments}
        owners = {region.parent for name, region in compiled.regions.items() if name in named}
        self._others: dict[str, _Bystander] = {}
        for name, entity in compiled.entities.items():
            if entity.movable and name not in named and name not in owners:
                address, up = int(compiled.model.jnt_qposadr[entity.joints[-1]]), up_axis(entity.category)
                upright = data.xmat[entity.body].reshape(3, 3) @ up
                start = data.xpos[entity.body].copy()
                self._others[name] = _Bystander(entity.body, address, up, start, upright)
        self._parts: dict[str, _BystanderPart] = {}
        """Drawers, doors and knobs that the goal does not mention, keyed by joint name."""
        joints = [(joint, name) for name, region in compiled.regions.items() for joint in region.inner_joints]
        region_names, requested = dict(joints), {joint for joint, name in joints if name in named}
        for name, entity in compiled.entities.items():
            mechanism = OPENING.get(entity.category) or SWITCHING.get(entity.category)
            if mechanism is None or name in named:
                continue
            for joint in entity.inner_joints:
                if joint not in requested:
                    place = int(compiled.model.jnt_qposadr[joint])
                    value = float(data.qpos[place])
                    self._parts[compiled.model.joint(joint).name] = _BystanderPart(
                        region_names.get(joint, name),
                        place,
                        value,
                        mechanism.active.value - value,
                        not mechanism.active.holds(value),
                    )

    def __call__(self, touches: Touches) -> None:
        """Record the robot's contacts."""
        _update_peaks(touches.owners, touches.parts, touches.forces, self._forces)
        self._arm.update(set(touches.owners[touches.parts == ARM_PART].tolist()))

    def inherit(self, before: EffectWatch, then: np.ndarray, now: np.ndarray) -> None:
        """Adopt the record that ``before`` collected up to an event, except for objects and joints that the event
        moved.

        The record consists of forces, arm contacts, and the initial positions of bystanders and closed parts.
        ``then`` and ``now`` are the joint positions immediately before the event (in the old model) and after it
        (in the new one), (nq,) each.
        """
        number = {name: index for index, name in enumerate(self._names)}
        for old, name in enumerate(before._names):
            if name in number:
                new = number[name]
                self._forces[new] = max(self._forces[new], before._forces[old])
                self._arm[new] += before._arm[old]
        self._arm = +self._arm  # drop zero counts
        for name in self._others.keys() & before._others.keys():
            other, was = self._others[name], before._others[name]
            shift = now[other.place : other.place + 3] - then[was.place : was.place + 3]
            if np.linalg.norm(shift) <= EVENT_TOLERANCE and np.array_equal(other.up, was.up):
                self._others[name] = replace(other, start=was.start, upright=was.upright)
        for joint in self._parts.keys() & before._parts.keys():
            part, earlier = self._parts[joint], before._parts[joint]
            if abs(now[part.place] - then[earlier.place]) <= EVENT_TOLERANCE:
                self._parts[joint] = replace(earlier, place=part.place)

    def effects(self, data: mujoco.MjData, path: np.ndarray) -> SideEffects:
        """Return the side effects so far; ``path`` holds the end effector's positions in metres, (steps + 1, 3)."""
        moved, tilted = {}, {}
        for name, other in self._others.items():
            moved[name] = float(np.linalg.norm(data.xpos[other.body] - other.start))
            cosine = data.xmat[other.body].reshape(3, 3) @ other.up @ other.upright
            tilted[name] = float(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0))))
        path = np.asarray(path, np.float64)
        length = np.linalg.norm(np.diff(path, axis=0), axis=1).sum()
        third = np.diff(path, n=3, axis=0) * CONTROL_HZ**3
        jerk = np.sqrt((third**2).sum(axis=1).mean()) if len(third) else 0.0
        return SideEffects(
            moved=_above(moved, MIN_DISPLACEMENT_M, 4),
            tilted=_above(tilted, MIN_TILT_DEG, 1),
            opened={
                part.name: round(opened, 3)
                for part in self._parts.values()
                if part.closed
                and (opened := (float(data.qpos[part.place]) - part.start) / part.way) > MIN_OPENED_FRACTION
            },
            forces=_above(dict(zip(self._names, self._forces, strict=True)), MIN_FORCE_N, 1),
            arm={self._names[owner]: steps for owner, steps in sorted(self._arm.items())},
            path=round(_clip(length), 4),
            jerk=round(_clip(jerk), 3),
        )


@machine_code
def _update_peaks(owners, parts, forces, peaks):  # type: ignore[no-untyped-def]
    """Update ``peaks`` (owners,): largest force so far, in newtons, of a single robot part on each geom owner."""
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
    """Clip a value to `MAX_RECORDED` and replace NaN by 0, because a diverging simulation can produce both."""
    return float(np.nan_to_num(min(value, MAX_RECORDED)))


def _above(values: Mapping[str, float], least: float, digits: int) -> dict[str, float]:
    """Return the values above ``least``, rounded to ``digits`` decimal places."""
    return {name: round(_clip(value), digits) for name, value in values.items() if value > least}


@dataclass(frozen=True, slots=True, eq=False)
class _Bystander:
    """A movable object that the goal does not mention."""

    body: int
    place: int
    """Address of the object's pose in qpos."""
    up: np.ndarray
    """Upright axis in the object's frame, (3,)."""
    start: np.ndarray
    """Initial position, in metres, (3,)."""
    upright: np.ndarray
    """Initial direction of the upright axis in the world, (3,)."""


@dataclass(frozen=True, slots=True)
class _BystanderPart:
    """A drawer, door or knob that the goal does not mention."""

    name: str
    place: int
    """Address of the joint in qpos."""
    start: float
    """Initial joint value."""
    way: float
    """Joint value at which the part counts as open or on, minus the joint's initial value."""
    closed: bool
    """Whether the part was neither open nor on initially."""
