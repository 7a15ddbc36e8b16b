"""A running simulation of one compiled scene: reset, step at 20 Hz, observe, evaluate the goal."""

from __future__ import annotations

import copy
import operator

import mujoco
import numpy as np

from assay.errors import ActionError, StateError, TaskError, did_you_mean
from assay.sim.compile import CompiledScene, live_fixtures, put_fixtures
from assay.sim.compose import GRIPPER, ROBOT
from assay.sim.controller import ARM, Controller
from assay.sim.observation import Observation
from assay.sim.placement import DIVERGED, sample
from assay.sim.predicates import Predicates
from assay.sim.render import Renderer, Snapshot
from assay.sim.states import InitialState, validate_state
from assay.tasks.scene import Atom, Goal

CONTROL_HZ = 20
SUBSTEPS = 25
"""Number of physics steps (2 ms each) in one control step."""
ACTION_SIZE = 7
"""Number of action components: three for translation, three for rotation, one for the gripper (above 0 closes)."""

_FULL = (mujoco.mjtWarning.mjWARN_CONTACTFULL, mujoco.mjtWarning.mjWARN_CNSTRFULL)
"""MuJoCo's warnings about contacts or constraints that were dropped for lack of memory."""
OBSERVED_SUBSTEP = 23
"""Index of the substep before which LIBERO takes its observation."""


class Simulation:
    """A running simulation of one scene."""

    def __init__(self, compiled: CompiledScene) -> None:
        self.compiled = compiled
        self.predicates = Predicates(compiled)
        self.model = copy.copy(compiled.model)
        """A copy of the compiled model, in which the fixtures have their current poses."""
        self.data = mujoco.MjData(self.model)
        self.renderer = Renderer(compiled, self.model)
        self.steps = 0
        """Number of control steps since the last reset."""
        self.controller = Controller(self.model, self.data, compiled.home)
        self._grip_site = compiled.model.site(f"{GRIPPER}grip_site").id
        self._wrist = compiled.model.body(f"{ROBOT}right_hand").id
        self._valid_goals: set[Goal] = set()
        self._stale = False
        self.runs = False
        """Whether the simulation has a valid state."""
        self._resumed = False

    def sample(self, seed: int) -> InitialState:
        """Sample a settled initial state from the scene's regions."""
        return InitialState(*sample(self.compiled, operator.index(seed), self.model))

    def reset(self, state: InitialState, steps: int = 0) -> Observation:
        """Restore a state, reached after ``steps`` control steps, and return the observation.

        A state from the middle of an episode resumes exactly, including the gripper's command.
        """
        validate_state(self.compiled, state)
        model, data = self.model, self.data
        put_fixtures(model, self.compiled, state.fixtures)
        self._resumed = state.drive is not None
        if self.compiled.exact and not self._resumed:
            # LIBERO's controller sees the arm in its initial pose during the first substep after a reset. Compute only
            # what it reads: unplaced objects overlap at the origin, and their contacts would be expensive.
            mujoco.mj_resetData(model, data)
            data.qpos[:ARM] = self.compiled.home
            data.qpos[ARM : ARM + 2] = 0.0
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)
            mujoco.mj_crb(model, data)
            self.controller.hold()
            self.controller.freeze()
            self._stale = True
        mujoco.mj_resetData(model, data)
        data.time = state.vector[0]
        data.qpos[:] = state.vector[1 : 1 + model.nq]
        data.qvel[:] = state.vector[1 + model.nq :]
        mujoco.mj_forward(model, data)
        if state.drive is not None:
            self.controller.resume(state.drive)
            self._stale = False
        else:
            self.controller.grip = 0.0
            if not self.compiled.exact:
                self.controller.hold()
        self.steps = steps
        self.runs = True
        return self._observe(data.qpos.copy())

    def overwrite(self, vector: np.ndarray) -> None:
        """Set time, joint positions and joint velocities, (1 + nq + nv,); the controller keeps its inputs and goal."""
        self._require_start()
        self.controller.freeze()
        state = validate_state(self.compiled, InitialState(vector, live_fixtures(self.model, self.compiled)))
        nq = self.model.nq
        self.data.time = state.vector[0]
        self.data.qpos[:], self.data.qvel[:] = state.vector[1 : 1 + nq], state.vector[1 + nq :]

    def observe(self) -> Observation:
        """Observe the current state, whose kinematics must be up to date."""
        self._require_start()
        return self._observe(self.data.qpos.copy())

    def step(
        self, action: np.ndarray, *, absolute: bool = False, observe_at: int = OBSERVED_SUBSTEP
    ) -> Observation:
        """Advance by one control step of 50 ms with an action (7,) in [-1, 1].

        ``absolute``: the action contains the goal pose (position in metres and rotation vector in the world frame)
        and the gripper component. ``observe_at``: index of the substep before which the observation is taken.
        Raises ActionError for an invalid action, and StateError if the simulation diverges.
        """
        self._require_start()
        try:
            numbers = np.asarray(action)
            values = numbers.astype(np.float64)
        except (TypeError, ValueError, OverflowError):
            numbers = np.empty(0, dtype=object)
        problem = ""
        if numbers.dtype.kind not in "fiub":
            problem = f"is not an array of numbers: {' '.join(repr(action).split())[:80]}"
        elif values.shape != (ACTION_SIZE,):
            problem = f"has shape {values.shape}; expected ({ACTION_SIZE},)"
        elif not np.isfinite(values).all():
            problem = f"contains values that are not finite: {values.tolist()}"
        if problem:
            raise ActionError(f"step {self.steps}: the action {problem}")
        model, data, controller = self.model, self.data, self.controller
        gripper = float(values[6])
        exact = self.compiled.exact
        for substep in range(SUBSTEPS):
            mujoco.mj_step1(model, data)
            if exact:
                # LIBERO solves for accelerations this often before it sets the controls. Each solution warm-starts the
                # next, so omitting one changes the trajectory.
                mujoco.mj_fwdActuation(model, data)
                mujoco.mj_fwdAcceleration(model, data)
                mujoco.mj_fwdConstraint(model, data)
                if not self._stale:
                    mujoco.mj_fwdConstraint(model, data)
            if not self._stale:
                controller.update()
            self._stale = False
            if substep == 0:
                controller.aim(values, absolute=absolute)
            controller.command(gripper)
            if substep == observe_at:
                observed_qpos = data.qpos.copy()
            mujoco.mj_step2(model, data)
            if substep == observe_at:
                self.steps += 1
                observation = self._observe(observed_qpos)
        # MuJoCo silently resets a diverging simulation to zero.
        for kinds, problem in (
            (DIVERGED, "the simulation became unstable"),
            (_FULL, "MuJoCo has not enough memory for all contacts"),
        ):
            if any(data.warning[kind].number for kind in kinds):
                self.runs = False
                raise StateError(f"step {self.steps}: {problem}")
        return observation

    def holds(self, atom: Atom) -> bool:
        """Return whether an atom is currently true."""
        self._require_start()
        return self.predicates.holds(atom, self.data)

    def is_satisfied(self, goal: Goal) -> bool:
        """Return whether a goal currently holds. Raises TaskError for a goal that can never hold in this scene."""
        self._require_start()
        if goal not in self._valid_goals:
            self.predicates.check(goal)
            self._valid_goals.add(goal)
        return all(self.predicates.holds(atom, self.data) for atom in goal.atoms)

    def state(self) -> InitialState:
        """Return the current state; in the middle of an episode, it includes the controller's state."""
        data = self.data
        vector = np.concatenate([[data.time], data.qpos, data.qvel])
        drive = self.controller.drive() if self.steps or self._resumed else None
        return InitialState(vector, live_fixtures(self.model, self.compiled), drive)

    def pose(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the position (3,) and rotation (3, 3) of an entity or region in the world."""
        self._require_start()
        data, entities, regions = self.data, self.compiled.entities, self.compiled.regions
        if name in entities:
            body = entities[name].body
            return data.xpos[body].copy(), data.xmat[body].reshape(3, 3).copy()
        if name in regions:
            site = regions[name].site
            return data.site_xpos[site].copy(), data.site_xmat[site].reshape(3, 3).copy()
        raise TaskError(f"the scene has no '{name}': {did_you_mean(name, [*entities, *regions])}")

    def close(self) -> None:
        """Release the renderer's GL resources."""
        self.renderer.close()

    def _observe(self, qpos: np.ndarray) -> Observation:
        """Return an observation with images at joint positions ``qpos`` (nq,), which the kinematics must match."""
        data = self.data
        return Observation(
            step=self.steps,
            joints=data.qpos[:ARM].copy(),
            joint_velocities=data.qvel[:ARM].copy(),
            eef_position=data.site_xpos[self._grip_site].copy(),
            eef_quaternion=data.xquat[self._wrist].copy(),
            gripper=data.qpos[ARM : ARM + 2].copy(),
            gripper_velocities=data.qvel[ARM : ARM + 2].copy(),
            moment=Snapshot(qpos, live_fixtures(self.model, self.compiled)),
            _renderer=self.renderer,
        )

    def _require_start(self) -> None:
        if not self.runs:
            raise StateError("the simulation has no state yet; call reset first")
