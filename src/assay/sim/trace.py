"""Record an episode: path, contacts, truth of each atom, progress, side effects, persistence of success."""

from __future__ import annotations

import copy

import mujoco
import numpy as np

from assay.episodes import Record, Trajectory
from assay.episodes.episode import Aftermath, Intervals, Position
from assay.sim.conduct import MOVED, TURNED, EffectWatch, StageWatch
from assay.sim.controller import ARM, Controller
from assay.sim.observation import Observation
from assay.sim.robot_contacts import RobotContacts
from assay.sim.simulation import ACTION_SIZE, SUBSTEPS, Simulation
from assay.tasks import Task

AFTERMATH_STEPS = 30
"""Maximum length of the simulation after success, in control steps: 1.5 s, of which the gripper needs 0.4 s to open."""
MIN_AFTERMATH_STEPS = 4
"""Minimum length of the simulation after success, in control steps; by then a released object has begun to fall."""
REST_SPEED = 0.01
"""Speed below which objects count as being at rest, in metres or radians per second."""


class Trace:
    """Recorder for one episode, called with every observation, the first time before the policy acts."""

    def __init__(self, simulation: Simulation, task: Task) -> None:
        self._simulation, self._goal = simulation, task.goal
        self._true: list[list[bool]] = []
        self._positions: list[np.ndarray] = []
        self._gripper: list[float] = []
        self._qpos = simulation.data.qpos.copy()
        self._touched: dict[str, list[tuple[int, int]]] = {}
        self.moved: str | None = None
        """Name of the entity that moved first."""
        self._attach(simulation)
        arguments = (name for atom in task.goal.atoms for name in atom.arguments)
        regions = {region.full_name: region.target for region in task.scene.regions}
        names = dict.fromkeys(regions.get(name, name) for name in (*arguments, *task.of_interest))
        self.initial_positions: dict[str, Position] = {}
        """Initial positions of the entities that the task refers to, in metres, rounded to 0.1 mm."""
        for name in names:
            if name in simulation.compiled.entities:
                x, y, z = simulation.pose(name)[0].tolist()
                self.initial_positions[name] = round(x, 4), round(y, 4), round(z, 4)

    def __call__(self, observation: Observation) -> None:
        """Record one observation."""
        step = len(self._positions)
        self._positions.append(observation.eef_position)
        self._gripper.append(float(observation.gripper[0] - observation.gripper[1]))
        self._true.append([self._simulation.holds(atom) for atom in self._goal.atoms])
        data = self._simulation.data
        self._qpos = data.qpos.copy()
        touches = self._contacts.now(data)
        self._stages(data, touches, self._true[-1], step)
        self._effects(touches)
        entities = len(self._contacts.names) - 1
        for owner in dict.fromkeys(touches.owners.tolist()):
            if owner == entities:  # the arena
                continue
            spans = self._touched.setdefault(self._contacts.names[owner], [])
            if spans and spans[-1][1] == step:
                spans[-1] = spans[-1][0], step + 1
            else:
                spans.append((step, step + 1))
        if self.moved is None:
            distances = np.linalg.norm(data.xpos[self._roots] - self._start, axis=1)
            turns = np.abs(data.qpos[self._addresses] - self._values) / self._limits
            if len(distances) and distances.max() > MOVED:
                self.moved = self._movable[int(distances.argmax())]
            elif len(turns) and turns.max() > 1.0:  # its door, drawer or knob
                self.moved = self._inner[int(turns.argmax())]

    def follow(self, simulation: Simulation, task: Task) -> None:
        """Continue with the simulation and the goal after an event, keeping the data recorded so far.

        Atoms of a new goal count as false before the event. Displacements of bystanders that the event moved are
        measured from the event on; all other displacements, forces and contacts from the start. After a withdrawn
        request, which has no goal, the old goal's atoms are kept.
        """
        stages, effects = self._stages, self._effects
        self._simulation = simulation
        if task.goal.atoms and task.goal != self._goal:
            self._goal = task.goal
            self._true = [[False] * len(task.goal.atoms)] * len(self._true)
        self._attach(simulation)
        self._stages.inherit(stages)
        self._effects.inherit(effects, self._qpos, simulation.data.qpos)

    def _attach(self, simulation: Simulation) -> None:
        """Look up the objects and joints to record in a simulation's model."""
        compiled, data = simulation.compiled, simulation.data
        self._contacts = RobotContacts(compiled)
        self._stages = StageWatch(compiled, self._goal, data)
        self._effects = EffectWatch(compiled, self._goal, data, self._contacts.names)
        entities = compiled.entities.values()
        self._movable = [entity.name for entity in entities if entity.movable]
        self._roots = np.array([entity.body for entity in entities if entity.movable], dtype=int)
        self._start = data.xpos[self._roots].copy()
        inner = [(entity.name, joint) for entity in entities for joint in entity.inner_joints]
        self._inner = [name for name, _ in inner]
        joints = np.array([joint for _, joint in inner], dtype=int)
        self._addresses = compiled.model.jnt_qposadr[joints]
        self._values = data.qpos[self._addresses].copy()
        hinge = compiled.model.jnt_type[joints] == mujoco.mjtJoint.mjJNT_HINGE
        self._limits = np.where(hinge, TURNED, MOVED)

    def record(self, *, is_withdrawn: bool) -> Record:
        """Return the record; after success, simulate further with an open gripper and record the stages that are then
        reached.

        ``is_withdrawn``: whether the request was withdrawn, so that neither progress nor success counts.
        """
        path = np.array(self._positions, np.float32).reshape(-1, 3)
        contacts = {name: tuple(spans) for name, spans in self._touched.items()}
        truth: dict[str, Intervals] = {}
        for number, atom in enumerate(self._goal.atoms):
            column = [False, *(row[number] for row in self._true), False]
            edges = np.flatnonzero(np.diff(np.array(column, dtype=int))).reshape(-1, 2)
            truth[str(atom)] = tuple((int(first), int(last)) for first, last in edges)

        has_succeeded = self._simulation.runs and self._true and self._true[-1] and all(self._true[-1])
        aftermath = self._simulate_aftermath() if has_succeeded and not is_withdrawn else None
        watched = () if is_withdrawn else self._stages.watched.values()
        gripper = np.array(self._gripper, np.float32)
        return Record(
            Trajectory(path, gripper, np.zeros((0, ACTION_SIZE), np.float32)),
            next(iter(contacts), None),
            self.moved,
            truth,
            self.initial_positions,
            contacts,
            stages={str(progress.atom): dict(progress.stages) for progress in watched},
            side_effects=self._effects.effects(self._simulation.data, path),
            aftermath=aftermath,
        )

    def _simulate_aftermath(self) -> Aftermath | None:
        """Simulate an opening gripper and a still arm to determine whether the goal, which now holds, persists.

        LIBERO ends an episode as soon as its goal holds, even while an object is still held or about to roll off.
        The simulation runs on a copy of the data until the gripper is open and all objects are at rest, or for
        `AFTERMATH_STEPS` steps. Returns None if the simulation diverges.
        """
        simulation = self._simulation
        model, predicates = simulation.model, simulation.predicates
        data = copy.copy(simulation.data)
        controller = Controller(model, data, simulation.compiled.home)
        controller.resume(simulation.controller.drive())
        controller.hold()
        rest, step = False, 0
        while step < AFTERMATH_STEPS and not rest:
            for _ in range(SUBSTEPS):
                mujoco.mj_step1(model, data)
                controller.update()
                controller.command(-1.0)
                mujoco.mj_step2(model, data)
            step += 1
            if data.warning.number.any() or not np.isfinite(data.qpos).all():
                return None
            true = [predicates.holds(atom, data) for atom in self._goal.atoms]
            self._stages(data, self._contacts.now(data), true, len(self._positions) - 1 + step)
            rest = (
                step >= MIN_AFTERMATH_STEPS
                and controller.grip >= 1.0
                and bool((np.abs(data.qvel[ARM:]) < REST_SPEED).all())
            )
        return Aftermath(step, all(true), rest)
