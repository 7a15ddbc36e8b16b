"""When an event's trigger holds, in LIBERO's world."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from assay.episodes import Trigger, TriggerKind
from assay.errors import PerturbationError
from assay.sim.categories import OPENING
from assay.sim.compile import EntityIndex, bounding_box
from assay.sim.compose import GRIPPER
from assay.sim.fingers import Fingers
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
