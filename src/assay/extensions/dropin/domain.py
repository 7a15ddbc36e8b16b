"""`env.env`: one task that is reset and stepped, with the attributes that scripts take from robosuite's environment."""

from __future__ import annotations

import os
import weakref
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from assay.errors import TaskError, did_you_mean
from assay.extensions.dropin.bddl_utils import parsed, task_at
from assay.extensions.dropin.clock import SensorClock
from assay.extensions.dropin.missing import Partial
from assay.extensions.dropin.observations import Cameras, Observations, Sensors, upside_down
from assay.extensions.dropin.planned import planned_task
from assay.extensions.dropin.recorder import Recorder
from assay.extensions.dropin.robot import Robot
from assay.extensions.dropin.simulator import MjSim
from assay.extensions.dropin.task_files import compiled
from assay.extensions.dropin.things import Thing, ThingState
from assay.sim.compose import GRIPPER, MOUNT, ROBOT
from assay.sim.observation import Observation
from assay.sim.simulation import ACTION_SIZE, CONTROL_HZ, OBSERVED_SUBSTEP, Simulation
from assay.sim.states import from_flat
from assay.tasks import Atom, Predicate, Task

ROBOT_PARTS = {"Panda0": ROBOT, "RethinkMount0": MOUNT, "PandaGripper0": GRIPPER}
"""The robot's parts in a segmentation, after the scene's things, and how the names of their bodies begin."""


class Game(Protocol):
    """How a task is played: freely, or as an episode of a plan."""

    restarts: bool
    """Whether every state that a script sets begins an episode, in the middle of another, too."""

    @property
    def simulation(self) -> Simulation:
        """That of the present episode."""
        ...

    @property
    def task(self) -> Task:
        """Its task."""
        ...

    def reset(self, seed: int) -> Observation:
        """Begin anew."""
        ...

    def start_from(self, numbers: np.ndarray) -> Observation:
        """Begin from an initial state that the script gives."""
        ...

    def step(self, action: np.ndarray, *, absolute: bool, observe_at: int) -> Observation:
        """One control step."""
        ...

    def observe(self) -> Observation:
        """What is to see now."""
        ...

    def succeeded(self) -> bool:
        """Whether the goal is reached now."""
        ...

    def end(self, *, closed: bool = False) -> None:
        """Nothing more will be done: it was closed, or else forgotten."""
        ...


class FreePlay:
    """Nobody looks on."""

    restarts = False

    def __init__(self, task: Task) -> None:
        self.task = task
        self.simulation = Simulation(compiled(task))

    def reset(self, seed: int) -> Observation:
        """Draw an initial state."""
        return self.simulation.reset(self.simulation.sample(seed))

    def start_from(self, numbers: np.ndarray) -> Observation:
        """Restore one of LIBERO's states, or one with fixtures."""
        return self.simulation.reset(from_flat(self.simulation.compiled, numbers))

    def step(self, action: np.ndarray, *, absolute: bool, observe_at: int) -> Observation:
        """One control step."""
        return self.simulation.step(action, absolute=absolute, observe_at=observe_at)

    def observe(self) -> Observation:
        """What is to see now."""
        return self.simulation.observe()

    def succeeded(self) -> bool:
        """Whether the goal is reached now."""
        return self.simulation.is_satisfied(self.task.goal)

    def end(self, *, closed: bool = False) -> None:
        """Give back what it holds."""
        self.simulation.close()


def game_of(path: str) -> Game:
    """How the task of a file is played."""
    planned = planned_task(path)
    return FreePlay(task_at(path)) if planned is None else Recorder(planned)


class Domain(Partial):
    """One task."""

    shown_as = "env"

    def __init__(
        self,
        bddl_file_name: str | os.PathLike[str],
        *,
        cameras: Sequence[Cameras],
        horizon: int,
        ignore_done: bool,
        use_object_obs: bool,
        reward_scale: float | None,
    ) -> None:
        self.bddl_file_name = os.fspath(bddl_file_name)
        self._game = game_of(self.bddl_file_name)
        self._ends = weakref.finalize(self, self._game.end)
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
        """Take in the scene; that of a planned task may be another in every episode."""
        simulation, task = self._game.simulation, self._game.task
        self._simulation = simulation
        self.sim = MjSim(simulation)
        self.robots = [Robot(simulation)]
        scene, entities = simulation.compiled.scene, simulation.compiled.entities
        self.parsed_problem = parsed(self.bddl_file_name, task)
        self.obj_of_interest = self.parsed_problem["obj_of_interest"]
        self.objects_dict = {obj.name: Thing(simulation, entities[obj.name]) for obj in scene.objects}
        self.fixtures_dict = {
            fixture.name: Thing(simulation, entities[fixture.name]) for fixture in scene.fixtures
        }
        self.objects, self.fixtures = list(self.objects_dict.values()), list(self.fixtures_dict.values())
        self.obj_body_id = {name: index.body for name, index in entities.items()}
        names = [*entities, *simulation.compiled.regions]
        self.object_states_dict = {name: ThingState(simulation, name) for name in names}
        self.workspace_name = scene.arena.workspace
        self._geom_instances, self.instance_names = _instances(simulation)
        self._sensors = Sensors(
            simulation.compiled, self._cameras, _Segmented(self._geom_instances), self.use_object_obs
        )

    # -- LIBERO's own methods

    def seed(self, seed: int | None = None) -> None:
        """Decide what the resets from now on draw."""
        self._seed, self._resets = int(seed or 0), 0

    def reset(self) -> Observations:
        """Begin an episode."""
        drawn = self._seed + 1_000_003 * self._resets
        self._resets += 1
        seen = self._game.reset(drawn % 2**31)
        if self._game.simulation is not self._simulation or not self._is_relative:
            self._set_up()
        self.timestep, self.done = 0, False
        self._clock.reset()
        return self._keep(seen)

    @property
    def _is_relative(self) -> bool:
        return bool(self.robots[0].controller.use_delta)

    def set_init_state(self, numbers: Any) -> Observations:
        """Begin from a state; in the middle of an episode only the physics is set, and the controller goes on."""
        vector = np.asarray(numbers, dtype=np.float64).ravel()
        if self.timestep == 0 or self._game.restarts:
            self.timestep, self.done = 0, False
            relative = self._is_relative
            seen = self._game.start_from(vector)
            if self._game.simulation is not self._simulation:
                self._set_up()
                self.robots[0].controller.use_delta = relative
            self._clock.force()
            return self._keep(seen)
        self.sim.set_state_from_flattened(vector)
        self.sim.forward()
        return self._get_observations(force_update=True)

    def step(self, action: Any) -> tuple[Observations, float, bool, dict[str, Any]]:
        """One control step of 50 ms."""
        if self.done:
            raise ValueError("executing action in terminated episode")
        self.timestep += 1
        read = self._clock.step()
        seen = self._game.step(
            np.asarray(action),
            absolute=not self._is_relative,
            observe_at=OBSERVED_SUBSTEP + 1 if read is None else read,
        )
        if self._game.simulation is not self._simulation:  # an event has changed the scene
            relative = self._is_relative
            self._set_up()
            self.robots[0].controller.use_delta = relative
        success = self._check_success()
        self.done = self.timestep >= self.horizon and not self.ignore_done
        reward = float(success) * (1.0 if self.reward_scale is None else self.reward_scale)
        observed = self._keep(seen) if read is not None else self._sensors.read(self._seen)
        return observed, reward, success, {}

    def close(self) -> None:
        """End, and give back what it holds."""
        if self._ends.detach() is not None:
            self._game.end(closed=True)

    def reward(self, action: Any = None) -> float:
        """1 where the goal is reached."""
        return float(self._check_success())

    def render(self, **how: Any) -> np.ndarray:
        """The first camera's picture, the top row first."""
        camera = self._cameras[0]
        return upside_down(self.sim.render(camera.width, camera.height, camera_name=camera.name))

    def _keep(self, seen: Observation) -> Observations:
        self._seen = seen
        return self._sensors.read(seen)

    def _get_observations(self, force_update: bool = False) -> Observations:
        if force_update:
            self._update_observables(force=True)
        return self._sensors.read(self._seen)

    def _update_observables(self, force: bool = False) -> None:
        if force:
            self._clock.force()
            self._seen = self._game.observe()

    def _post_process(self) -> None:
        """What glows is seen to when pictures are rendered."""

    def _check_success(self) -> bool:
        return self._game.succeeded()

    def check_success(self) -> bool:
        """Whether the goal is reached."""
        return self._check_success()

    def _eval_predicate(self, state: Sequence[str]) -> bool:
        name, *arguments = state
        known = {each.value.lower(): each for each in Predicate}
        if name.lower() not in known:
            raise TaskError(f"there is no predicate '{name}': {did_you_mean(name.lower(), known)}")
        return self._simulation.holds(Atom(known[name.lower()], tuple(arguments)))

    def is_fixture(self, object_name: str) -> bool:
        """Whether a thing stands still."""
        return object_name in self.fixtures_dict

    def get_object(self, object_name: str) -> Thing | None:
        """The thing of a name."""
        return self.objects_dict.get(object_name) or self.fixtures_dict.get(object_name)

    def check_contact(self, geoms_1: Any, geoms_2: Any = None) -> bool:
        """Whether geoms of one list, by name, touch those of another, or anything."""
        ones, others = _geom_names(geoms_1), None if geoms_2 is None else _geom_names(geoms_2)
        model, data = self._simulation.model, self._simulation.data
        for pair in data.contact.geom[: data.ncon]:
            one, other = (model.geom(int(each)).name for each in pair)
            for first, second in ((one, other), (other, one)):
                if first in ones and (others is None or second in others):
                    return True
        return False

    @property
    def language_instruction(self) -> str:
        """What the policy is told."""
        return self._game.task.instruction.text

    @property
    def action_spec(self) -> tuple[np.ndarray, np.ndarray]:
        """The least and the greatest action, (7,) each."""
        return self.robots[0].action_limits

    @property
    def observation_names(self) -> set[str]:
        """The keys of its observations."""
        return set(self._sensors.read(self._seen))

    def observation_spec(self) -> Observations:
        """The latest observation."""
        return self._get_observations()

    @property
    def _visualizations(self) -> set[str]:
        return {"env", "robots", "grippers"}


class _Segmented:
    """Segmentations: what each pixel shows, as LIBERO numbers it, (height, width, 1)."""

    def __init__(self, instances: np.ndarray) -> None:
        self._instances = instances

    def __call__(self, seen: Observation, camera: Cameras, kind: str) -> np.ndarray:
        geoms = upside_down(seen.picture("geoms", camera.name, camera.height, camera.width))
        if kind != "element":
            geoms = np.where(geoms >= 0, self._instances[geoms], 0)
        return geoms[..., None].astype(np.int32)


def _instances(simulation: Simulation) -> tuple[np.ndarray, list[str]]:
    """The number of each geom's thing, (ngeom,), from 1 on, 0 for the room; and the things' names in that order."""
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


def _geom_names(given: Any) -> list[str]:
    if isinstance(given, str):
        return [given]
    return list(getattr(given, "contact_geoms", given))
