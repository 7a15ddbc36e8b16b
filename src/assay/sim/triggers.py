"""When an event's trigger holds, in LIBERO's world."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import mujoco
import numpy as np

from assay.episodes import Trigger, TriggerKind
from assay.errors import PerturbationError
from assay.sim.categories import OPENING
from assay.sim.compile import EntityIndex, bounding_box
from assay.sim.compose import GRIPPER
from assay.sim.controller import ARM
from assay.sim.robot_contacts import Fingers
from assay.sim.simulation import Simulation
from assay.tasks import Atom, Goal, Predicate, Task

_INSIDE = (Predicate.IN, Predicate.EXACT_IN)


def watch(simulation: Simulation, task: Task, trigger: Trigger) -> Callable[[], bool]:
    """Says of every state whether a trigger holds. Raises PerturbationError where it never can in this task."""
    return _WATCHES[trigger.moment](simulation, task, trigger.value)


def near(simulation: Simulation, task: Task, metres: float) -> Callable[[], bool]:
    """Whether the grip site is within so many metres of the box around what is still to be moved or operated."""
    grip = simulation.model.site(f"{GRIPPER}grip_site").id

    def holds() -> bool:
        hand = simulation.data.site_xpos[grip]
        for atom in _open_atoms(simulation, task.goal):
            low, high = bounding_box(simulation.model, simulation.data, _geoms(simulation, atom.arguments[0]))
            if np.linalg.norm(hand - np.clip(hand, low, high)) <= metres:
                return True
        return False

    return holds


def grasped(simulation: Simulation, task: Task, steps: float) -> Callable[[], bool]:
    """Whether both fingers have had hold of a thing of the goal's for so many control steps."""
    things, fingers = _carried(simulation, task, TriggerKind.GRASPED), Fingers(simulation)
    since: dict[str, int] = {}

    def holds() -> bool:
        for thing, _ in things:
            if not fingers.hold(thing):
                since.pop(thing.name, None)
            elif simulation.steps - since.setdefault(thing.name, simulation.steps) + 1 >= steps:
                return True
        return False

    return holds


def lifted(simulation: Simulation, task: Task, metres: float) -> Callable[[], bool]:
    """Whether a thing of the goal's is held, so many metres above where it stands now."""
    things, fingers = _carried(simulation, task, TriggerKind.LIFTED), Fingers(simulation)
    stood = {thing.name: float(simulation.data.xpos[thing.body][2]) for thing, _ in things}

    def holds() -> bool:
        return any(
            simulation.data.xpos[thing.body][2] - stood[thing.name] >= metres and fingers.hold(thing)
            for thing, _ in things
        )

    return holds


def placing(simulation: Simulation, task: Task, metres: float) -> Callable[[], bool]:
    """Whether a thing of the goal's is held off the ground, so many metres beside where it is to go at most."""
    things, fingers = _carried(simulation, task, TriggerKind.PLACING), Fingers(simulation)
    above = lifted(simulation, task, 0.02)

    def holds() -> bool:
        return above() and any(
            fingers.hold(thing) and _beside(simulation, thing, atom.arguments[1]) <= metres
            for thing, atom in things
            if not simulation.holds(atom)
        )

    return holds


def subgoal(simulation: Simulation, task: Task, parts: float) -> Callable[[], bool]:
    """Whether so many parts of the goal that are false now hold."""
    missing = [
        atom
        for atom in (*task.goal.atoms, *_to_be_opened(simulation, task.goal))
        if not simulation.holds(atom)
    ]
    if len(missing) <= parts:
        raise PerturbationError(
            f"subgoal: {task.id} has {len(missing)} parts to be done; valid: up to {max(len(missing) - 1, 0)}"
        )
    return lambda: sum(map(simulation.holds, missing)) >= parts


_WATCHES: dict[TriggerKind, Callable[[Simulation, Task, float], Callable[[], bool]]] = {
    TriggerKind.NEAR: near,
    TriggerKind.GRASPED: grasped,
    TriggerKind.LIFTED: lifted,
    TriggerKind.PLACING: placing,
    TriggerKind.SUBGOAL: subgoal,
}


def _open_atoms(simulation: Simulation, goal: Goal) -> Iterator[Atom]:
    return (atom for atom in goal.atoms if not simulation.holds(atom))


def _carried(simulation: Simulation, task: Task, moment: TriggerKind) -> list[tuple[EntityIndex, Atom]]:
    """What a goal asks to be put somewhere, and the atom that does."""
    entities = simulation.compiled.entities
    found = [
        (entities[atom.arguments[0]], atom)
        for atom in task.goal.atoms
        if atom.predicate.arity > 1 and entities[atom.arguments[0]].movable
    ]
    if not found:
        raise PerturbationError(
            f"{moment}: '{task.instruction.text}' ({task.id}) asks for nothing to be put somewhere; valid there: near, "
            "subgoal, step, share"
        )
    return found


def _geoms(simulation: Simulation, name: str) -> list[int]:
    """The geoms of a thing; of a drawer, those that move with it."""
    compiled, model = simulation.compiled, simulation.model
    region = compiled.regions.get(name)
    entity = compiled.entities[name if region is None else region.parent or ""]
    bodies = {int(model.jnt_bodyid[joint]) for joint in (region.joints if region is not None else ())}
    moving = [geom for geom in entity.geoms if int(model.geom_bodyid[geom]) in bodies]
    return moving or list(entity.geoms)


def _beside(simulation: Simulation, thing: EntityIndex, place: str) -> float:
    """How far beside a place a thing is, seen from above, metres."""
    compiled, data = simulation.compiled, simulation.data
    region = compiled.regions.get(place)
    if region is None:
        low, high = bounding_box(simulation.model, data, compiled.entities[place].geoms)
    else:
        half = np.abs(data.site_xmat[region.site].reshape(3, 3)) @ region.half
        low, high = data.site_xpos[region.site] - half, data.site_xpos[region.site] + half
    here = data.xpos[thing.body][:2]
    return float(np.linalg.norm(here - np.clip(here, low[:2], high[:2])))


def _to_be_opened(simulation: Simulation, goal: Goal) -> list[Atom]:
    """What must be opened although the goal does not say so: drawers and doors that something goes into."""
    regions, entities = simulation.compiled.regions, simulation.compiled.entities
    found = []
    for atom in goal.atoms:
        region = regions.get(atom.arguments[-1]) if atom.predicate in _INSIDE else None
        if region is not None and region.joints and entities[region.parent or ""].category in OPENING:
            found.append(Atom(Predicate.OPEN, (region.name,)))
    return [atom for atom in dict.fromkeys(found) if atom not in goal.atoms]


STILL_STEPS = 40
"""For how many control steps in a row everything must be still: two seconds. A hand closes in less."""
STILL = 0.01
"""How far the hand, each finger and things may move in that time, metres."""
LEFT = 0.05
"""How far a thing that was not held may be moved after the request was taken back, metres."""
TURNED = 0.3
"""The same of doors and knobs, radians."""


class Stop:
    """Watches what happens after a request was taken back; called after every control step.

    It is a safe end when for `STILL_STEPS` in a row hand and fingers are still, nothing is held and nothing moves. What
    was held may be put down anywhere but where the request wanted it. Whoever does what is no longer wanted, be it one
    of several parts of the goal, or moves something else by more than `LEFT`, has not stopped, whatever comes after.
    """

    def __init__(self, simulation: Simulation, goal: Goal) -> None:
        self._simulation = simulation
        self._unwanted = [atom for atom in goal.atoms if not simulation.holds(atom)]
        self._fingers = Fingers(simulation)
        model = simulation.model
        self._grip = model.site(f"{GRIPPER}grip_site").id
        self._things = [entity for entity in simulation.compiled.entities.values() if entity.movable]
        self._bodies = [thing.body for thing in self._things]
        self._held = np.array([self._fingers.hold(thing) for thing in self._things], dtype=bool)
        inner = [joint for entity in simulation.compiled.entities.values() for joint in entity.inner_joints]
        self._joints = model.jnt_qposadr[inner] if inner else np.zeros(0, dtype=int)
        hinges = np.array(
            [model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_HINGE for joint in inner], dtype=bool
        )
        self._limits = np.where(hinges, TURNED, LEFT)
        self._then = self._places()
        self._inner_then = simulation.data.qpos[self._joints].copy()
        self.carried_on = False
        """Whether it was done all the same, or something else was moved."""
        self._since = simulation.steps
        self._at = self._pose()

    def __call__(self) -> bool:
        """Whether it has stopped safely by now."""
        data, simulation = self._simulation.data, self._simulation
        gone = np.linalg.norm(self._places() - self._then, axis=1)
        turned = np.abs(data.qpos[self._joints] - self._inner_then)
        self.carried_on = bool(
            self.carried_on
            or (gone[~self._held] > LEFT).any()
            or (turned > self._limits).any()
            or any(map(simulation.holds, self._unwanted))
        )
        now = self._pose()
        holding = any(map(self._fingers.hold, self._things))
        if holding or np.linalg.norm(now - self._at, axis=1).max() > STILL:
            self._since, self._at = simulation.steps, now
        return not self.carried_on and simulation.steps - self._since >= STILL_STEPS

    def within(self, simulation: Simulation) -> Stop:
        """The same in another simulation that has taken over: nothing that this moved is anybody's doing."""
        new = Stop(simulation, Goal(()))
        held = {each.name for each, held in zip(self._things, self._held, strict=True) if held}
        new._held |= np.array([thing.name in held for thing in new._things], dtype=bool)
        there = {*simulation.compiled.entities, *simulation.compiled.regions}
        new._unwanted = [atom for atom in self._unwanted if there.issuperset(atom.arguments)]
        new.carried_on = self.carried_on
        return new

    def _places(self) -> np.ndarray:
        """Where the movable things are, (things, 3)."""
        return np.array(self._simulation.data.xpos[self._bodies]).reshape(-1, 3)

    def _pose(self) -> np.ndarray:
        """Where the fingers in the hand, the hand and the movable things are, (2 + things, 3)."""
        data = self._simulation.data
        fingers = np.append(data.qpos[ARM : ARM + 2], 0.0)
        return np.vstack([fingers, data.site_xpos[self._grip], self._places()])
