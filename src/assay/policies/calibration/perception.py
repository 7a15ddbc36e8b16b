"""Policies with a flaw in perceiving the scene."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from assay import tasks
from assay.episodes import EpisodeSpec, horizon
from assay.errors import PolicyError
from assay.perturb.senses.robot import ActionDelay
from assay.policies.calibration.flawed import FlawedPolicy, OpenLoopPolicy, names_in, replace_objects
from assay.policies.control import control, memorise
from assay.policies.oracle.policy import ImpossibleError, Oracle
from assay.sim import Simulation
from assay.sim.bare_mujoco import mujoco
from assay.sim.compile import EntityIndex
from assay.sim.world import SceneEnv
from assay.support.streams import stream
from assay.tasks import Goal, Instruction


class ColourPolicy(FlawedPolicy):
    """Flaw: grasps the object whose colour is most similar to that of the target in the control.

    If several objects have the same colour, it prefers the target, so it solves the control.
    """

    def goal(self, instruction: Instruction, spec: EpisodeSpec) -> Goal:
        """Return the task's goal, applied to the objects with the learned colours."""
        goal = super().goal(instruction, spec)
        trained = control(spec, self._states).simulation.compiled
        present = {
            entity.name: mean_colour(self._simulation.model, entity) for entity in self.movable_objects()
        }
        names = {}
        for name in {atom.arguments[0] for atom in goal.atoms}:
            if name in trained.entities and trained.entities[name].movable:
                colour = mean_colour(trained.model, trained.entities[name])
                distances = {
                    other: round(float(np.linalg.norm(present[other] - colour)), 4) for other in present
                }
                names[name] = min(distances, key=lambda other: (distances[other], other != name))
        return replace_objects(goal, names)


def mean_colour(model: mujoco.MjModel, entity: EntityIndex) -> np.ndarray:
    """Return the mean RGB colour of an entity's visible geoms, weighted by size: values from 0 to 1, shape (3,)."""
    geoms = [geom for geom in range(model.ngeom) if model.body_rootid[model.geom_bodyid[geom]] == entity.body]
    visible = [geom for geom in geoms if geom not in entity.geoms] or geoms
    sizes = [float(np.sort(model.geom_aabb[geom, 3:])[1:].prod()) for geom in visible]
    return np.average([_geom_colour(model, geom) for geom in visible], axis=0, weights=sizes)


def _geom_colour(model: mujoco.MjModel, geom: int) -> np.ndarray:
    material = model.geom_matid[geom]
    if material < 0:
        return np.asarray(model.geom_rgba[geom, :3])
    colour = np.asarray(model.mat_rgba[material, :3])
    texture = model.mat_texid[material, mujoco.mjtTextureRole.mjTEXROLE_RGB]
    if texture < 0:
        return colour
    start = model.tex_adr[texture]
    channels = int(model.tex_nchannel[texture])
    pixels = model.tex_data[start : start + model.tex_height[texture] * model.tex_width[texture] * channels]
    return np.asarray(colour * pixels.reshape(-1, channels)[:, :3].mean(axis=0) / 255)


class NearestPolicy(FlawedPolicy):
    """Flaw: grasps the object nearest to the target's position in the control.

    It understands language and acts correctly; only its choice of an object depends on the learned position.
    """

    def goal(self, instruction: Instruction, spec: EpisodeSpec) -> Goal:
        """Return the task's goal, applied to the objects at the learned positions."""
        goal = super().goal(instruction, spec)
        trained = control(spec, self._states)
        trained.reset(spec)
        objects = {entity.name for entity in trained.task.scene.objects}
        names = {}
        for name in {atom.arguments[0] for atom in goal.atoms} & objects:
            position = trained.simulation.pose(name)[0]
            names[name] = min(
                self.movable_objects(),
                key=lambda entity: float(np.linalg.norm(self._simulation.pose(entity.name)[0] - position)),
            ).name
        return replace_objects(goal, names)


@dataclass
class WithinPolicy(FlawedPolicy):
    """Flaw: performs the task only if its objects are within ``reach`` metres of their positions in the control.

    Otherwise it waits. The displacement of an object and the action delay add up: the policy acts if displacement
    / ``reach`` + action delay / ``delay`` is at most 1. The smallest change that makes it fail is therefore known.
    """

    reach: float = 0.2
    """Tolerated horizontal displacement of an object, in metres."""
    delay: float = 1_000.0
    """Tolerated action delay, in control steps."""
    lapse: float = 0.0
    """Probability that the policy waits regardless of the change; this also applies to controls."""

    def __post_init__(self) -> None:
        if self.reach <= 0 or self.delay <= 0 or not 0 <= self.lapse <= 1:
            raise PolicyError("invalid value in `within`: expected reach > 0, delay > 0 and 0 <= lapse <= 1")

    def goal(self, instruction: Instruction, spec: EpisodeSpec) -> Goal:
        """Return the task's goal if the change is within the tolerance, otherwise an empty goal."""
        trained = control(spec, self._states)
        trained.reset(spec)
        now, then = self._simulation, trained.simulation
        targets = names_in(self._task.goal)
        names = [entity.name for entity in self.movable_objects() if entity.name in targets]
        shifts = [now.pose(name)[0][:2] - then.pose(name)[0][:2] for name in names]
        shift = max((float(np.linalg.norm(shift)) for shift in shifts), default=0.0)
        late = sum(change.steps for change in spec.perturbations if isinstance(change, ActionDelay))
        chance = stream("within", spec.task, spec.condition, spec.seed).random()
        if shift / self.reach + late / self.delay > 1 or chance < self.lapse:
            return Goal(())
        return super().goal(instruction, spec)


class GlancePolicy(OpenLoopPolicy, FlawedPolicy):
    """Flaw: observes the scene only once per instruction and acts open-loop afterwards.

    It simulates the oracle's episode and executes the resulting actions. After a new instruction it observes and
    simulates again.
    """

    def reset(self, instruction: Instruction, spec: EpisodeSpec) -> None:
        """Simulate the episode."""
        self._spec = spec
        self._actions = iter(self.simulate(lambda: super(GlancePolicy, self).reset(instruction, spec)))

    def instruct(self, instruction: Instruction) -> bool:
        """Simulate the rest of the episode from the current state."""
        self._instruction = instruction
        self.attach(self._env)
        self._actions = iter(self.simulate(self._plan_from_here))
        return True

    def simulate(self, plan: Callable[[], None]) -> Iterable[np.ndarray]:
        """Return the actions (7,) of a plan executed in a private simulation from the current state."""
        real, private = self._simulation, Simulation(self._simulation.compiled)
        private.reset(real.state())
        self._simulation = private
        plan()
        actions: list[np.ndarray] = []
        try:
            while len(actions) < horizon(self._spec) and not (
                self._goal.atoms and private.is_satisfied(self._goal)
            ):
                actions.append(next(self._motion).astype(np.float32))  # the precision of a rollout
                private.step(actions[-1])
        except StopIteration:
            pass
        except ImpossibleError as error:
            self._impossible = str(error)
        self._simulation = real
        return actions


@dataclass
class UnseeingPolicy(OpenLoopPolicy):
    """Flaw: sees nothing, and follows the instruction as if every object were at its memorised position.

    It understands the instruction as the oracle does, but replays open-loop the oracle's actions for the goal from
    one memorised initial state of the unperturbed scene, with a seed that no experiment uses. It waits if the
    instruction refers to objects that are not in the unperturbed scene.
    """

    known: int = 1000
    """Seed of the memorised initial state."""

    def attach(self, env: SceneEnv) -> None:
        """Attach the oracle that maps instructions to goals."""
        self._oracle = Oracle()
        self._oracle.attach(env)

    def reset(self, instruction: Instruction, spec: EpisodeSpec) -> None:
        """Look up the memorised actions for the instruction."""
        goal = self._oracle.goal(instruction, spec)
        memorised = EpisodeSpec(spec.task, self.known, spec.pack, steps=spec.steps)
        trained = tasks.load(spec.task)
        if (
            not names_in(goal) <= trained.scene.names
        ):  # the goal refers to another room, or to unknown objects
            goal = trained.goal if instruction.text == trained.instruction.text else Goal(())
        self._actions = iter(memorise(memorised, goal=goal).actions)
