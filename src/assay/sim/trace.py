"""Watches an episode: the end effector's path, what was touched and moved when, when each atom was true.

And where the things that the task is about stood at the start, how far each atom came, and what else was done.
"""

from __future__ import annotations

import copy
from collections.abc import Callable

import mujoco
import numpy as np

from assay.episodes import Intervals
from assay.episodes.conduct import Aftermath, SideEffects
from assay.episodes.episode import Position
from assay.sim.controller import ARM, Controller
from assay.sim.observation import Observation
from assay.sim.robot_contacts import RobotContacts
from assay.sim.side_effects import EffectWatch
from assay.sim.simulation import SUBSTEPS, Simulation
from assay.sim.stages import MOVED, TURNED, StageWatch
from assay.tasks import Task
from assay.tasks.scene import Goal


class Trace:
    """Shown every observation of one episode, the first one before the policy acts."""

    def __init__(self, simulation: Simulation, task: Task) -> None:
        self._simulation, self._goal = simulation, task.goal
        self._true: list[list[bool]] = []
        self._positions: list[np.ndarray] = []
        self._gripper: list[float] = []
        self._shown = simulation.data.qpos.copy()
        self._touched: dict[str, list[tuple[int, int]]] = {}
        self.moved: str | None = None
        """What moved first."""
        self._look_at(simulation)
        self.initial_positions = _positions(simulation, task)
        """Where the things that the task is about stand, metres."""

    def __call__(self, observation: Observation) -> None:
        """Take down the present."""
        step = len(self._positions)
        self._positions.append(observation.eef_position)
        self._gripper.append(float(observation.gripper[0] - observation.gripper[1]))
        self._true.append([self._simulation.holds(atom) for atom in self._goal.atoms])
        data = self._simulation.data
        self._shown = data.qpos.copy()
        touches = self._contacts.now(data)
        self._stages(data, touches, self._true[-1], step)
        self._effects(touches)
        entities = len(self._contacts.names) - 1
        for owner in () if touches is None else dict.fromkeys(touches.owners.tolist()):
            if owner == entities:  # the arena
                continue
            spans = self._touched.setdefault(self._contacts.names[owner], [])
            if spans and spans[-1][1] == step:
                spans[-1] = spans[-1][0], step + 1
            else:
                spans.append((step, step + 1))
        if self.moved is None:
            self.moved = self._bodies.moved()

    def follow(self, simulation: Simulation, task: Task) -> None:
        """Go on in another simulation or with another goal, which an event has brought; what was seen stays.

        Nothing is known of how a new goal's atoms were before: they count as false. What the event itself moved
        does not count as moved: displacements of such bystanders count from the event on, all others, forces and
        contacts from the start. A request that was taken back has no goal: the atoms stay those that it had.
        """
        stages, effects = self._stages, self._effects
        self._simulation = simulation
        if task.goal.atoms and task.goal != self._goal:
            self._goal = task.goal
            self._true = [[False] * len(task.goal.atoms)] * len(self._true)
        self._look_at(simulation)
        self._stages.go_on(stages)
        self._effects.go_on(effects, self._shown, simulation.data.qpos)

    def _look_at(self, simulation: Simulation) -> None:
        """Find what is watched in a simulation's model."""
        compiled, data = simulation.compiled, simulation.data
        self._bodies = _Bodies(simulation)
        self._contacts = RobotContacts(compiled)
        self._stages = StageWatch(compiled, self._goal, data, self._contacts)
        self._effects = EffectWatch(compiled, self._goal, data, self._contacts)

    @property
    def holds(self) -> bool:
        """Whether every atom was true when it was last shown something."""
        return bool(self._true) and bool(self._true[-1]) and all(self._true[-1])

    def afterwards(self) -> Aftermath | None:
        """What becomes of the goal, which holds now, when the hand lets go; stages that come only then are noted."""
        steps = len(self._positions) - 1
        predicates = self._simulation.predicates

        def watch(data: mujoco.MjData, step: int) -> None:
            true = [predicates.holds(atom, data) for atom in self._goal.atoms]
            self._stages(data, self._contacts.now(data), true, steps + step)

        return aftermath(self._simulation, self._goal, watch)

    @property
    def stages(self) -> dict[str, dict[str, int | None]]:
        """How far each atom came that did not hold at the start."""
        return self._stages.stages

    @property
    def side_effects(self) -> SideEffects:
        """What was done besides what was asked for."""
        return self._effects.effects(self._simulation.data, self.end_effector)

    @property
    def touched(self) -> str | None:
        """What the robot touched first."""
        return next(iter(self._touched), None)

    @property
    def contacts(self) -> dict[str, Intervals]:
        """When the robot touched each thing, in the order of the first touches."""
        return {name: tuple(spans) for name, spans in self._touched.items()}

    @property
    def end_effector(self) -> np.ndarray:
        """Positions of the grip site, float32, (steps + 1, 3)."""
        return np.array(self._positions, np.float32).reshape(-1, 3)

    @property
    def gripper(self) -> np.ndarray:
        """Distance between the fingers, metres, float32, (steps + 1,)."""
        return np.array(self._gripper, np.float32)

    @property
    def truth(self) -> dict[str, Intervals]:
        """When each atom was true."""
        columns = np.array(self._true, dtype=bool).reshape(len(self._true), len(self._goal.atoms))
        return {
            str(atom): _intervals(column) for atom, column in zip(self._goal.atoms, columns.T, strict=True)
        }


class _Bodies:
    """Which entity is which in the model, and where it was at the start."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        model, entities = simulation.model, simulation.compiled.entities
        self._movable = [entity for entity in entities.values() if entity.movable]
        self._roots = np.array([entity.body for entity in self._movable], dtype=int)
        inner = [(name, joint) for name, entity in entities.items() for joint in entity.inner_joints]
        self._inner = [name for name, _ in inner]
        joints = np.array([joint for _, joint in inner], dtype=int)
        self._addresses = model.jnt_qposadr[joints]
        hinge = model.jnt_type[joints] == mujoco.mjtJoint.mjJNT_HINGE
        self._limits = np.where(hinge, TURNED, MOVED)
        self._start = simulation.data.xpos[self._roots].copy()
        self._values = simulation.data.qpos[self._addresses].copy()

    def moved(self) -> str | None:
        """An entity that is no longer where it was, or whose door, drawer or knob is not."""
        data = self._simulation.data
        gone = np.linalg.norm(data.xpos[self._roots] - self._start, axis=1)
        if len(gone) and gone.max() > MOVED:
            return self._movable[int(gone.argmax())].name
        turned = np.abs(data.qpos[self._addresses] - self._values) / self._limits
        if len(turned) and turned.max() > 1.0:
            return self._inner[int(turned.argmax())]
        return None


def _positions(simulation: Simulation, task: Task) -> dict[str, Position]:
    """Where the things are that a task's goal names, or that are of interest to it, to a tenth of a millimetre."""
    said = (name for atom in task.goal.atoms for name in atom.arguments)
    regions = {region.full_name: region.target for region in task.scene.regions}
    names = dict.fromkeys(regions.get(name, name) for name in (*said, *task.of_interest))
    places = {
        name: simulation.pose(name)[0].tolist() for name in names if name in simulation.compiled.entities
    }
    return {name: (round(x, 4), round(y, 4), round(z, 4)) for name, (x, y, z) in places.items()}


def _intervals(column: np.ndarray) -> Intervals:
    """The runs of True in a column (n,)."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], column, [False]]).astype(int)))
    return tuple((int(first), int(last)) for first, last in edges.reshape(-1, 2))


AFTER = 30
"""The most control steps that are simulated on: a second and a half, of which the hand needs 0.4 s to open."""
FEWEST = 4
"""Control steps in which a thing that is let go has begun to fall."""
STILL = 0.01
"""Metres or radians per second below which things are at rest."""
_OPENS = -1.0


def aftermath(
    simulation: Simulation,
    goal: Goal,
    watch: Callable[[mujoco.MjData, int], None] = lambda data, step: None,
) -> Aftermath | None:
    """What becomes of a goal that holds now; None where the simulation breaks.

    It ends when the hand is open and everything is at rest, or after `AFTER` control steps. ``watch`` is shown the data
    after each of them, and its number from 1.
    """
    model = simulation.model
    data = copy.copy(simulation.data)
    controller = Controller(model, data, simulation.compiled.home)
    controller.resume(simulation.controller.drive())
    controller.hold()
    rest, step = False, 0
    while step < AFTER and not rest:
        for _ in range(SUBSTEPS):
            mujoco.mj_step1(model, data)
            controller.look()
            controller.command(_OPENS)
            mujoco.mj_step2(model, data)
        step += 1
        if data.warning.number.any() or not np.isfinite(data.qpos).all():
            return None
        watch(data, step)
        rest = step >= FEWEST and controller.is_open and bool((np.abs(data.qvel[ARM:]) < STILL).all())
    return Aftermath(step, simulation.predicates.satisfied(goal, data), rest)
