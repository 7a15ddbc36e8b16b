"""The oracle: a privileged policy that makes the atoms of a goal true with scripted skills, in a feasible order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import partial

import numpy as np

from assay.episodes import At, EpisodeSpec
from assay.errors import TaskError
from assay.perturb.words.rewordings.designs import Counterfactual
from assay.policies.oracle.grasps import all_grasps
from assay.policies.oracle.mechanisms import set_joint
from assay.policies.oracle.motion import OPEN, Motion, grip, move
from assay.policies.oracle.placement_spots import find_spots
from assay.policies.oracle.placing import put_back
from assay.policies.oracle.scene_state import SceneState
from assay.policies.oracle.skills import RelativeGrasp, lift, pick_and_place, slide
from assay.policies.simple import STILL
from assay.sim import Observation
from assay.sim.categories import MECHANISMS, OPENING, Mechanism
from assay.sim.compile import EntityIndex
from assay.sim.predicates import UP_HEIGHT
from assay.sim.world import SceneEnv
from assay.tasks import Atom, Goal, Instruction, Predicate
from assay.tasks.scene import INSIDE

LIFTED_HEIGHT_M = 0.015
"""Minimum height above the initial position, in metres, at which an object counts as lifted."""
MAX_ROUNDS = 3
"""Maximum number of passes over all atoms of a goal."""
ATTEMPTS_PER_ATOM = 2
"""Number of attempts at one atom before the next atom is tried."""

_ORDER = {Predicate.TURN_ON: 0, Predicate.TURN_OFF: 0, Predicate.OPEN: 1, Predicate.CLOSE: 3}
"""Execution rank of predicates: switches first, then opening, placing (2, the default), and closing last."""


class ImpossibleError(TaskError):
    """Raised when the oracle cannot make an atom true; the message states the reason."""


class Oracle:
    """Privileged policy: reads the simulator's state and makes the goal true, predicate by predicate.

    The goal comes from the task and the perturbations, not from the text: a counterfactual instruction changes it,
    and an implausible instruction or scene makes it empty. After an event in the episode, the oracle puts down any
    held object and plans again from the current state.
    """

    def attach(self, env: SceneEnv) -> None:
        """Store the simulation, the task and the folder of stored initial states."""
        self._env = env
        self._simulation, self._task, self._states = env.simulation, env.task, env.states

    def reset(self, instruction: Instruction, spec: EpisodeSpec) -> None:
        """Plan the episode."""
        self._instruction, self._spec = instruction, spec
        self._happened = self._env.happened
        self._goal = self.goal(instruction, spec)
        scene = SceneState(self._simulation)
        self._initial_poses = {entity.name: scene.pose(entity) for entity in scene.movable_objects}
        self._motion: Motion = pursue(scene, self._goal)

    def instruct(self, instruction: Instruction) -> bool:
        """Plan again for a new instruction."""
        self._instruction = instruction
        self.replan()
        return True

    def replan(self) -> None:
        """Plan again from the current state, after putting down any held object."""
        self.attach(self._env)
        self._plan_from_here()

    def _plan_from_here(self) -> None:
        self._happened = self._env.happened
        self._goal = self.goal(self._instruction, self._spec)
        self._motion = self._put_down_and_pursue()

    def _put_down_and_pursue(self) -> Motion:
        """Put a held object back at its initial pose, open the gripper, retreat, and pursue the goal."""
        scene = SceneState(self._simulation)
        for entity in scene.movable_objects:
            if entity.name in self._initial_poses and scene.fingers.count(entity) == 2:
                origin, rotation = self._initial_poses[entity.name]
                if scene.pose(entity)[0][2] - origin[2] > LIFTED_HEIGHT_M:
                    yield from put_back(scene, entity, origin, rotation)
                yield from grip(scene, OPEN, steps=6)
                here, rotation = scene.gripper_pose()
                yield from move(scene, here + (0.0, 0.0, 0.06), rotation, OPEN, steps=12, near=0.02)
        return (yield from pursue(scene, self._goal))

    def act(self, observation: Observation) -> np.ndarray:
        """Return the next action of the plan, shape (1, 7), or the waiting action after the last one."""
        if self._env.happened != self._happened:
            self.replan()
        return next(self._motion, STILL)[None]

    @property
    def note(self) -> str:
        """Text that lists the goal's atoms that do not hold; empty if all hold."""
        missed = [atom for atom in self._goal.atoms if not self._simulation.holds(atom)]
        return f"not reached: {Goal(tuple(missed))}" if missed else ""

    def goal(self, instruction: Instruction, spec: EpisodeSpec) -> Goal:
        """Return the goal of the episode's instruction; empty if the instruction or the scene is implausible."""
        goal = self._task.goal
        for perturbation in spec.perturbations:
            if isinstance(perturbation, Counterfactual):
                goal = perturbation.asked_goal(self._task)
            elif not perturbation.plausible and not isinstance(perturbation, At):
                goal = Goal(())  # an event (`At`) does not count, because it has not happened yet
        return goal


def pursue(scene: SceneState, goal: Goal) -> Motion:
    """Make a goal true, atom by atom, and restore atoms that become false on the way.

    Raises ImpossibleError before the first action if an atom can never become true. Returns False after the last
    unsuccessful pass.
    """
    for atom in goal.atoms:
        for name in atom.arguments:
            if name not in scene.regions and name not in scene.entities:
                raise ImpossibleError(f"'{atom}': there is no {name} in the scene")
        if scene.world.holds(atom):
            continue
        if atom.predicate in MECHANISMS:
            part = scene.world.compiled.mechanism(atom.predicate, atom.arguments[0])
            if part is None or not part[1]:
                raise ImpossibleError(
                    f"'{atom}': {atom.arguments[0]} has no part that can be opened or switched that way"
                )
            continue
        entity = scene.entities.get(atom.arguments[0])
        if entity is None or not entity.movable:
            raise ImpossibleError(f"'{atom}': {atom.arguments[0]} is fixed and cannot be moved")
        if len(set(atom.arguments)) < len(atom.arguments):
            raise ImpossibleError(f"'{atom}' relates {entity.name} to itself")
        if not _is_slid(scene, atom, entity) and not all_grasps(scene, entity):
            raise ImpossibleError(f"'{atom}': {entity.name} has no part that fits into the gripper")
    failures: defaultdict[str, list[RelativeGrasp]] = defaultdict(list)  # by object
    for _ in range(MAX_ROUNDS):
        for atom in sorted(
            goal.atoms, key=lambda atom: (_ORDER.get(atom.predicate, 2), _height(scene, goal, atom))
        ):
            # Repeat at once, because a later atom may make this one harder: a door that is closed again.
            for _ in range(ATTEMPTS_PER_ATOM):
                if scene.world.holds(atom):
                    break
                for motion in _steps(scene, goal, atom, failures):
                    if not (yield from motion):
                        break
        if scene.world.is_satisfied(goal):
            return True
    return False


def _steps(
    scene: SceneState, goal: Goal, atom: Atom, failures: defaultdict[str, list[RelativeGrasp]]
) -> Iterator[Motion]:
    """Yield the motions that make one atom true. ``failures``: grasps that have failed, by object."""
    if atom.predicate in MECHANISMS:
        part = scene.world.compiled.mechanism(atom.predicate, atom.arguments[0])
        assert part is not None
        yield _operate(scene, *part, active=MECHANISMS[atom.predicate][1])
        return
    entity = scene.entities[atom.arguments[0]]
    if atom.predicate is Predicate.UP:
        yield lift(scene, entity, UP_HEIGHT)
        return
    region = scene.regions.get(atom.arguments[1])
    support = scene.entities.get(atom.arguments[1] if region is None else region.parent or "")
    if atom.predicate in INSIDE and region is not None and support is not None and region.inner_joints:
        opens = OPENING.get(support.category)
        if opens is not None and not any(opens.active.holds(scene.joint(j)) for j in region.inner_joints):
            yield _operate(scene, support, region.inner_joints, opens, active=True)
    if region is not None and _is_slid(scene, atom, entity):
        room = scene.region_box(region)
        inset = np.minimum(0.015, room.size[:2] / 2)
        origin = scene.pose(entity)[0][:2]
        yield slide(scene, entity, np.clip(origin, room.low[:2] + inset, room.high[:2] - inset))
        return
    target = support if region is None else region
    assert target is not None
    more = sum(  # other objects that still have to be placed there
        other is not atom and other.arguments[1:] == atom.arguments[1:] != () and not scene.world.holds(other)
        for other in goal.atoms
    )
    spots = partial(find_spots, scene, entity, target, atom.predicate, more=more)
    yield pick_and_place(scene, entity, spots, failures[entity.name])


def _height(scene: SceneState, goal: Goal, atom: Atom) -> int:
    """Return the level of an atom's object in the stack that the goal describes, 0 for the lowest."""
    below: Atom | None = atom
    level = -1
    while level < len(goal.atoms) and below is not None:  # the bound ends circular goals
        level += 1
        region = scene.regions.get(below.arguments[-1])
        support = below.arguments[-1] if region is None else region.parent
        others = (other for other in goal.atoms if len(other.arguments) > 1)
        below = next((other for other in others if other.arguments[0] == support), None)
    return level


def _is_slid(scene: SceneState, atom: Atom, entity: EntityIndex) -> bool:
    """Return whether an object is slid instead of carried: it is flat and wide, and its destination is on the table."""
    region = scene.regions.get(atom.arguments[-1])
    size = scene.box(entity).size
    return bool(region is not None and region.parent is None and size[2] < 0.03 and size[:2].min() > 0.1)


def _operate(
    scene: SceneState, entity: EntityIndex, joints: tuple[int, ...], mechanism: Mechanism, *, active: bool
) -> Motion:
    """Move the joints of a mechanism well into the range of the desired state."""
    low, high = mechanism.active_range if active else mechanism.passive_range
    bound = mechanism.active if active else mechanism.passive
    for joint in joints:
        if not bound.holds(scene.joint(joint)):
            yield from set_joint(scene, entity, joint, low + (high - low) * (0.6 if active else 0.5))
    return all(bound.holds(scene.joint(joint)) for joint in joints)
