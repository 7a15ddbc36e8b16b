"""`env.env`: one task that is reset and stepped, with the attributes of robosuite's environment that scripts use.

Also parses task files into the dictionaries that LIBERO's `bddl_utils` returns.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from assay import tasks
from assay.errors import TaskError, did_you_mean
from assay.extensions.dropin import Partial
from assay.extensions.dropin.observations import CameraSettings, Observations, Sensors, flip_rows
from assay.extensions.dropin.recorder import Recorder
from assay.extensions.dropin.session import compile_task, planned_task
from assay.extensions.dropin.simulator import MjSim, ObjectState, Robot, SceneObject
from assay.sim import InitialState, Observation
from assay.sim.compose import GRIPPER, MOUNT, ROBOT
from assay.sim.simulation import ACTION_SIZE, CONTROL_HZ, OBSERVED_SUBSTEP, SUBSTEPS, Simulation
from assay.tasks import Atom, Instruction, Predicate, Task
from assay.tasks.bddl.reader import problem_name, workspace_category

ROBOT_PARTS = {"Panda0": ROBOT, "RethinkMount0": MOUNT, "PandaGripper0": GRIPPER}
"""Robot part in a segmentation -> prefix of the names of its bodies. The parts are numbered after the scene's objects.
"""
SAMPLING_S = 1.0 / CONTROL_HZ
SUBSTEP_S = SAMPLING_S / SUBSTEPS


def load_task(path: str | os.PathLike[str]) -> Task:
    """Return the planned task for a task file, or parse the file if it is not in the plan. Raises TaskError.

    As in LIBERO's parser, an instruction from a file is converted to lower case; that of a planned task is not.
    """
    planned = planned_task(path)
    if planned is not None:
        return planned.task
    task = tasks.load(os.fspath(path))
    return replace(task, instruction=Instruction(task.instruction.text.lower()))


def get_problem_info(problem_filename: str) -> dict[str, str]:
    """Return the problem name, the domain name and the instruction of a task file."""
    task = load_task(problem_filename)
    return {
        "problem_name": problem_name(task.scene.arena, task.scene.style).lower(),
        "domain_name": "robosuite",
        "language_instruction": task.instruction.text,
    }


def robosuite_parse_problem(problem_filename: str) -> dict[str, Any]:
    """Parse a task file into LIBERO's dictionary."""
    return describe_task(load_task(problem_filename))


def describe_task(task: Task) -> dict[str, Any]:
    """Describe a task in the format that LIBERO's parser returns for its file."""

    def flatten(atoms: Sequence[Atom]) -> list[list[str]]:
        return [[atom.predicate.value.lower(), *atom.arguments] for atom in atoms]

    scene = task.scene
    fixtures: dict[str, list[str]] = {workspace_category(scene.arena): [scene.arena.workspace]}
    objects: dict[str, list[str]] = {}
    for entities, names in ((scene.fixtures, fixtures), (scene.objects, objects)):
        for entity in entities:
            names.setdefault(entity.category, []).append(entity.name)
    return {
        "problem_name": problem_name(scene.arena, scene.style).lower(),
        "fixtures": fixtures,
        "regions": {
            region.full_name: {
                "target": region.target,
                "ranges": [list(rectangle) for rectangle in region.rectangles],
                "extra": [],
                "yaw_rotation": list(region.yaw or (0, 0)),
                "rgba": list(region.rgba or (0, 0, 1, 0)),
            }
            for region in scene.regions
        },
        "objects": objects,
        "scene_properties": {},
        "initial_state": flatten(scene.initial),
        "goal_state": flatten(task.goal.atoms),
        "language_instruction": task.instruction.text.split(),
        "obj_of_interest": list(task.of_interest),
    }


class SensorClock:
    """Clock of LIBERO's sensors, in floating point as in robosuite; every forced reading advances it.

    A reset and `set_init_state` force one reading each; afterwards sensors are read after substep 24 of 25.
    """

    def __init__(self) -> None:
        self._time = 0.0
        self._read = False

    def force(self) -> None:
        """Read the sensors outside a step."""
        self._read = False
        self._tick()

    def step(self) -> int | None:
        """Advance by one control step; return the substep after which sensors are read, or None if there is no
        reading."""
        read = [substep for substep in range(SUBSTEPS) if self._tick()]
        return read[-1] if read else None

    def _tick(self) -> bool:
        self._time += SUBSTEP_S
        reads = not self._read and (self._time <= SAMPLING_S)
        self._read = self._read or reads
        if self._time >= SAMPLING_S:
            reads = reads or not self._read
            self._time %= SAMPLING_S
            self._read = False
        return reads


class FreePlay:
    """Runs a task outside an experiment, without recording it. `Recorder` has the same methods."""

    restarts = False
    """Whether setting a state always starts a new episode, even in the middle of another episode."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.simulation = Simulation(compile_task(task))

    def reset(self, seed: int) -> Observation:
        """Start from a sampled initial state."""
        return self.simulation.reset(self.simulation.sample(seed))

    def start_from(self, numbers: np.ndarray) -> Observation:
        """Start from a state in LIBERO's format, with or without the joints of fixtures."""
        return self.simulation.reset(InitialState.parse(self.simulation.compiled, numbers))

    def step(self, action: np.ndarray, *, absolute: bool, observe_at: int) -> Observation:
        """Execute one control step of 50 ms."""
        return self.simulation.step(action, absolute=absolute, observe_at=observe_at)

    def observe(self) -> Observation:
        """Observe the current state."""
        return self.simulation.observe()

    def is_success(self) -> bool:
        """Return whether the goal currently holds."""
        return self.simulation.is_satisfied(self.task.goal)

    def end(self, *, closed: bool = False) -> None:
        """Free the simulation's resources."""
        self.simulation.close()


class Domain(Partial):
    """LIBERO's environment for one task, which `ControlEnv` wraps."""

    original_name = "env"

    def __init__(
        self,
        bddl_file_name: str | os.PathLike[str],
        *,
        cameras: Sequence[CameraSettings],
        horizon: int,
        ignore_done: bool,
        use_object_obs: bool,
        reward_scale: float | None,
    ) -> None:
        self.bddl_file_name = os.fspath(bddl_file_name)
        planned = planned_task(self.bddl_file_name)
        self._play: FreePlay | Recorder = (
            FreePlay(load_task(self.bddl_file_name)) if planned is None else Recorder(planned)
        )
        self._finalizer = weakref.finalize(self, self._play.end)
        self.horizon, self.ignore_done = horizon, ignore_done
        self.control_freq = CONTROL_HZ
        self.action_dim = ACTION_SIZE
        self.reward_scale = reward_scale
        self.use_object_obs = use_object_obs
        self._cameras = tuple(cameras)
        self.camera_names = [camera.name for camera in cameras]
        self.camera_heights = [camera.height for camera in cameras]
        self.camera_widths = [camera.width for camera in cameras]
        self.viewer = None
        self.timestep = 0
        self.done = False
        self._clock = SensorClock()
        self._seed, self._resets = 0, 0
        self._set_up()

    def _set_up(self) -> None:
        """Set all attributes that depend on the scene, which may differ between the episodes of a planned task."""
        simulation = self._simulation = self._play.simulation
        self.sim = MjSim(simulation)
        self.robots = [Robot(simulation)]
        scene, entities = simulation.compiled.scene, simulation.compiled.entities
        self.parsed_problem = describe_task(self._play.task)
        self.obj_of_interest = self.parsed_problem["obj_of_interest"]
        self.objects_dict = {obj.name: SceneObject(simulation, entities[obj.name]) for obj in scene.objects}
        self.fixtures_dict = {
            fixture.name: SceneObject(simulation, entities[fixture.name]) for fixture in scene.fixtures
        }
        self.objects, self.fixtures = list(self.objects_dict.values()), list(self.fixtures_dict.values())
        self.obj_body_id = {name: index.body for name, index in entities.items()}
        names = [*entities, *simulation.compiled.regions]
        self.object_states_dict = {name: ObjectState(simulation, name) for name in names}
        self.workspace_name = scene.arena.workspace
        instances, self.instance_names = _number_instances(simulation)

        # A closure over `instances` only: one over self would be a reference cycle and keep the GL context alive.
        def segment(observation: Observation, camera: CameraSettings, kind: str) -> np.ndarray:
            geoms = flip_rows(observation.picture("geoms", camera.name, camera.height, camera.width))
            if kind != "element":
                geoms = np.where(geoms >= 0, instances[geoms], 0)
            return geoms[..., None].astype(np.int32)

        self._sensors = Sensors(simulation.compiled, self._cameras, segment, self.use_object_obs)

    def _follow_scene(self) -> None:
        """Update the attributes if the scene has changed, keeping the controller's mode."""
        if self._play.simulation is not self._simulation:
            relative = self._is_relative
            self._set_up()
            self.robots[0].controller.use_delta = relative

    def seed(self, seed: int | None = None) -> None:
        """Set the seed for subsequent resets."""
        self._seed, self._resets = int(seed or 0), 0

    def reset(self) -> Observations:
        """Start an episode and return its first observation."""
        seed = self._seed + 1_000_003 * self._resets
        self._resets += 1
        observation = self._play.reset(seed % 2**31)
        if self._play.simulation is not self._simulation or not self._is_relative:
            self._set_up()
        self.timestep, self.done = 0, False
        self._clock = SensorClock()
        self._clock.force()
        return self._convert(observation)

    @property
    def _is_relative(self) -> bool:
        return bool(self.robots[0].controller.use_delta)

    def set_init_state(self, numbers: Any) -> Observations:
        """Start from a state. In the middle of an episode, set only the physics state, not the controller's."""
        vector = np.asarray(numbers, dtype=np.float64).ravel()
        if self.timestep == 0 or self._play.restarts:
            self.timestep, self.done = 0, False
            observation = self._play.start_from(vector)
            self._follow_scene()
            self._clock.force()
            return self._convert(observation)
        self.sim.set_state_from_flattened(vector)
        self.sim.forward()
        return self._get_observations(force_update=True)

    def step(self, action: Any) -> tuple[Observations, float, bool, dict[str, Any]]:
        """Execute one control step of 50 ms."""
        if self.done:
            raise ValueError("executing action in terminated episode")
        self.timestep += 1
        read = self._clock.step()
        observation = self._play.step(
            np.asarray(action),
            absolute=not self._is_relative,
            observe_at=OBSERVED_SUBSTEP + 1 if read is None else read,
        )
        self._follow_scene()  # an event may have changed it
        success = self._check_success()
        self.done = self.timestep >= self.horizon and not self.ignore_done
        reward = float(success) * (1.0 if self.reward_scale is None else self.reward_scale)
        return self._convert(observation if read is not None else self._latest), reward, success, {}

    def close(self) -> None:
        """End the episode and free the simulation's resources."""
        if self._finalizer.detach() is not None:
            self._play.end(closed=True)

    def reward(self, action: Any = None) -> float:
        """Return 1 if the goal holds, else 0."""
        return float(self._check_success())

    def render(self, **how: Any) -> np.ndarray:
        """Render the first camera, with the top row first."""
        camera = self._cameras[0]
        return flip_rows(self.sim.render(camera.width, camera.height, camera_name=camera.name))

    def _convert(self, observation: Observation) -> Observations:
        self._latest = observation
        return self._sensors.read(observation)

    def _get_observations(self, force_update: bool = False) -> Observations:
        if force_update:
            self._update_observables(force=True)
        return self._sensors.read(self._latest)

    def _update_observables(self, force: bool = False) -> None:
        if force:
            self._clock.force()
            self._latest = self._play.observe()

    def _post_process(self) -> None:
        """Do nothing, because the renderer already draws glowing burners."""

    def check_success(self) -> bool:
        """Return whether the goal holds."""
        return self._play.is_success()

    _check_success = check_success

    def _eval_predicate(self, state: Sequence[str]) -> bool:
        name, *arguments = state
        predicates = {predicate.value.lower(): predicate for predicate in Predicate}
        if name.lower() not in predicates:
            raise TaskError(f"unknown predicate '{name}': {did_you_mean(name.lower(), predicates)}")
        return self._simulation.holds(Atom(predicates[name.lower()], tuple(arguments)))

    def get_object(self, object_name: str) -> SceneObject | None:
        """Return the object or fixture with a given name."""
        return self.objects_dict.get(object_name) or self.fixtures_dict.get(object_name)

    def check_contact(self, geoms_1: Any, geoms_2: Any = None) -> bool:
        """Return whether a geom in the first list touches one in the second list (by default, any geom)."""
        ones, others = _geom_names(geoms_1), None if geoms_2 is None else _geom_names(geoms_2)
        model, data = self._simulation.model, self._simulation.data
        for pair in data.contact.geom[: data.ncon]:
            one, other = (model.geom(int(geom)).name for geom in pair)
            for first, second in ((one, other), (other, one)):
                if first in ones and (others is None or second in others):
                    return True
        return False

    language_instruction = property(lambda self: self._play.task.instruction.text)
    """Instruction of the current episode."""
    action_spec = property(lambda self: self.robots[0].action_limits)
    """Lower and upper bounds of the actions, each (7,)."""
    observation_names = property(lambda self: set(self._sensors.read(self._latest)))
    """Keys of the observations."""
    _visualizations = frozenset({"env", "robots", "grippers"})


def _number_instances(simulation: Simulation) -> tuple[np.ndarray, list[str]]:
    """Return the instance number of each geom, (ngeom,), and the names of instances 1, 2, ...; 0 is the room."""
    model = simulation.model
    names = [entity.name for entity in simulation.compiled.scene.entities]
    roots = {simulation.compiled.entities[name].body: number for number, name in enumerate(names, start=1)}
    prefixes = {prefix: number for number, prefix in enumerate(ROBOT_PARTS.values(), start=len(names) + 1)}
    of_body = np.zeros(model.nbody, dtype=np.int32)
    for body in range(1, model.nbody):
        name = model.body(body).name
        part = next((number for prefix, number in prefixes.items() if name.startswith(prefix)), 0)
        of_body[body] = roots.get(body) or part or of_body[model.body_parentid[body]]
    return np.asarray(of_body[model.geom_bodyid]), [*names, *ROBOT_PARTS]


def _geom_names(geoms: Any) -> list[str]:
    return [geoms] if isinstance(geoms, str) else list(getattr(geoms, "contact_geoms", geoms))
