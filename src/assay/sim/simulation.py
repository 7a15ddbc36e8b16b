"""The world of one compiled scene: reset it, step it at 20 Hz, look at it, ask whether the goal holds."""

from __future__ import annotations

import copy
import operator

import mujoco
import numpy as np

from assay.errors import ActionError, StateError
from assay.sim.compile import CompiledScene, live_fixtures, put_fixtures
from assay.sim.compose import GRIPPER, ROBOT
from assay.sim.controller import ARM, Controller
from assay.sim.observation import Observation
from assay.sim.placement import sample
from assay.sim.predicates import Predicates
from assay.sim.render import Renderer, Snapshot
from assay.sim.states import InitialState, checked
from assay.tasks.scene import Atom, Goal

CONTROL_HZ = 20
SUBSTEPS = 25
"""Physics steps of 2 ms in one control step."""
ACTION_SIZE = 7
"""Three of translation, three of rotation, one of the gripper (above 0 closes)."""

_DIVERGED = (
    mujoco.mjtWarning.mjWARN_BADQPOS,
    mujoco.mjtWarning.mjWARN_BADQVEL,
    mujoco.mjtWarning.mjWARN_BADQACC,
)
_FULL = (mujoco.mjtWarning.mjWARN_CONTACTFULL, mujoco.mjtWarning.mjWARN_CNSTRFULL)
"""MuJoCo had no memory for a contact, and left it out."""
SEEN = 23
"""The substep before which a step's observation is taken."""


class Simulation:
    """A running simulation of one scene."""

    def __init__(self, compiled: CompiledScene) -> None:
        self.compiled = compiled
        self.predicates = Predicates(compiled)
        self.model = copy.copy(compiled.model)
        """This world's own: fixtures' poses are written into it."""
        self.data = mujoco.MjData(self.model)
        self.renderer = Renderer(compiled, self.model)
        self.steps = 0
        """Control steps since the last reset."""
        self._controller = Controller(self.model, self.data, compiled.home)
        self._grip_site = compiled.model.site(f"{GRIPPER}grip_site").id
        self._hand = compiled.model.body(f"{ROBOT}right_hand").id
        self._checked: set[Goal] = set()
        self._stale = False
        self._started = False
        self._resumed = False

    @property
    def runs(self) -> bool:
        """Whether it has a state, and did not break."""
        return self._started

    @property
    def controller(self) -> Controller:
        """The arm's and the gripper's."""
        return self._controller

    def sample(self, seed: int) -> InitialState:
        """An initial state drawn from the scene's regions by a seed, at rest."""
        return InitialState(*sample(self.compiled, operator.index(seed), self.model))

    def reset(self, state: InitialState) -> Observation:
        """Restore a state; the model is not compiled again.

        One that was taken in the middle of an episode goes on exactly as it did, the gripper's command included.
        """
        checked(self.compiled, state)
        model, data = self.model, self.data
        put_fixtures(model, self.compiled, state.fixtures)
        self._resumed = state.drive is not None
        if self.compiled.exact and not self._resumed:
            self._look_at_home()
        mujoco.mj_resetData(model, data)
        data.time = state.vector[0]
        data.qpos[:] = state.vector[1 : 1 + model.nq]
        data.qvel[:] = state.vector[1 + model.nq :]
        mujoco.mj_forward(model, data)
        if state.drive is not None:
            self._controller.resume(state.drive)
            self._stale = False
        elif not self.compiled.exact:
            self._controller.reset()
        self.steps = 0
        self._started = True
        return self._observe(data.qpos.copy())

    def go_on(self, state: InitialState, steps: int) -> None:
        """Take over in the middle of an episode, after so many control steps, from a state with its drive."""
        self.reset(state)
        self.steps = steps

    def put(self, vector: np.ndarray) -> None:
        """Set time, joint positions and velocities, (1 + nq + nv,), and nothing else: the controller goes on."""
        self._require_start()
        self._controller.remember()  # what it has seen, not what is now
        state = checked(self.compiled, InitialState(vector, live_fixtures(self.model, self.compiled)))
        nq = self.model.nq
        self.data.time = state.vector[0]
        self.data.qpos[:], self.data.qvel[:] = state.vector[1 : 1 + nq], state.vector[1 + nq :]

    def observe(self) -> Observation:
        """What is to see now; the kinematics must be fresh."""
        self._require_start()
        return self._observe(self.data.qpos.copy())

    def step(self, action: np.ndarray, *, absolute: bool = False, seen_at: int = SEEN) -> Observation:
        """Do one control step of 50 ms with an action (7,) in [-1, 1].

        ``absolute``: the action is the pose to go to, metres and rotation vector in the world, and the gripper's
        number.
        ``seen_at``: the substep before which the observation is taken, where that is not LIBERO's usual one.
        """
        self._require_start()
        action = self._valid(action)
        model, data, controller = self.model, self.data, self._controller
        gripper = float(action[6])
        exact = self.compiled.exact
        for substep in range(SUBSTEPS):
            mujoco.mj_step1(model, data)
            if exact:
                self._repeat_forward()
            if not self._stale:
                controller.look()
            self._stale = False
            if substep == 0:
                (controller.aim_at if absolute else controller.aim)(action)
            controller.command(gripper)
            if substep == seen_at:
                seen = data.qpos.copy()
            mujoco.mj_step2(model, data)
            if substep == seen_at:
                self.steps += 1
                observation = self._observe(seen)
        self._refuse_divergence()
        return observation

    def holds(self, atom: Atom) -> bool:
        """Whether an atom is true now."""
        self._require_start()
        return self.predicates.holds(atom, self.data)

    def satisfied(self, goal: Goal) -> bool:
        """Whether a goal is reached now. Raises TaskError for a goal that never can be."""
        self._require_start()
        if goal not in self._checked:
            self.predicates.check(goal)
            self._checked.add(goal)
        return self.predicates.satisfied(goal, self.data)

    def state(self) -> InitialState:
        """The present state; in the middle of an episode with what the controller is doing."""
        data = self.data
        vector = np.concatenate([[data.time], data.qpos, data.qvel])
        drive = self._controller.drive() if self.steps or self._resumed else None
        return InitialState(vector, live_fixtures(self.model, self.compiled), drive)

    def pose(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Position (3,) and rotation (3, 3) of an entity or region in the world."""
        self._require_start()
        return self.predicates.pose(name, self.data)

    def close(self) -> None:
        """Give back the GL context, if one was needed."""
        self.renderer.close()

    def _observe(self, seen: np.ndarray) -> Observation:
        """What was to see when the joints were at ``seen`` (nq,): the kinematics still are those."""
        data = self.data
        return Observation(
            step=self.steps,
            joints=data.qpos[:ARM].copy(),
            joint_velocities=data.qvel[:ARM].copy(),
            eef_position=data.site_xpos[self._grip_site].copy(),
            eef_quaternion=data.xquat[self._hand].copy(),
            gripper=data.qpos[ARM : ARM + 2].copy(),
            gripper_velocities=data.qvel[ARM : ARM + 2].copy(),
            moment=Snapshot(seen, live_fixtures(self.model, self.compiled)),
            _renderer=self.renderer,
        )

    def _look_at_home(self) -> None:
        """Let the controller see the arm at home, as LIBERO's first substep after loading a state does."""
        model, data = self.model, self.data
        mujoco.mj_resetData(model, data)
        data.qpos[:ARM] = self.compiled.home
        data.qpos[ARM : ARM + 2] = 0.0
        # All that it looks at. Things not yet put anywhere are in each other: their contacts would take long.
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_crb(model, data)
        self._controller.reset()
        self._controller.remember()
        self._stale = True

    def _repeat_forward(self) -> None:
        """Solve for accelerations as often as LIBERO does before it sets the controls.

        Each solution is the warm start of the next, so leaving one out shows in the trajectory.
        """
        model, data = self.model, self.data
        mujoco.mj_fwdActuation(model, data)
        mujoco.mj_fwdAcceleration(model, data)
        mujoco.mj_fwdConstraint(model, data)
        if not self._stale:
            mujoco.mj_fwdConstraint(model, data)

    def _refuse_divergence(self) -> None:
        """MuJoCo answers a diverging simulation by putting everything back to zero; that is no episode."""
        if any(self.data.warning[kind].number for kind in _DIVERGED):
            self._started = False
            raise StateError(f"step {self.steps}: the simulation became unstable")
        if any(self.data.warning[kind].number for kind in _FULL):
            self._started = False
            raise StateError(f"step {self.steps}: more contacts than MuJoCo has memory for")

    def _require_start(self) -> None:
        if not self._started:
            raise StateError("the world has no state yet: call reset with one first")

    def _valid(self, action: np.ndarray) -> np.ndarray:
        try:
            given = np.asarray(action)
            array = given.astype(np.float64)
        except (TypeError, ValueError, OverflowError):
            given = np.empty(0, dtype=object)
        if given.dtype.kind not in "fiub":
            shown = " ".join(repr(action).split())[:80]
            raise ActionError(f"step {self.steps}: the action is not an array of numbers: {shown}")
        if array.shape != (ACTION_SIZE,):
            raise ActionError(
                f"step {self.steps}: the action has shape {array.shape}; valid: ({ACTION_SIZE},)"
            )
        if not np.isfinite(array).all():
            raise ActionError(
                f"step {self.steps}: the action holds values that are not finite: {array.tolist()}"
            )
        return array
