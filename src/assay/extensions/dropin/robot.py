"""`env.robots[0]` and its controller: what scripts read of them, and whether actions are relative or absolute."""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.extensions.dropin.missing import Partial
from assay.sim.controller import ARM, KD, KP, SCALE
from assay.sim.simulation import ACTION_SIZE, CONTROL_HZ, Simulation


class Controller(Partial):
    """The operational-space controller, as robosuite names its parts."""

    shown_as = "robots[0].controller"

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self.use_delta = True
        """Whether actions are relative; absolute ones are a position, metres, and a rotation vector in the world."""
        self.use_ori = True
        self.name = "OSC_POSE"
        self.control_dim = 6
        self.control_freq = CONTROL_HZ
        self.impedance_mode = "fixed"
        self.input_max, self.input_min = np.ones(6), -np.ones(6)
        self.output_max, self.output_min = SCALE.copy(), -SCALE
        self.kp, self.kd = np.full(6, KP), np.full(6, KD)
        self.position_limits = self.orientation_limits = None

    @property
    def ee_pos(self) -> np.ndarray:
        """The grip site where the controller last saw it, metres, (3,)."""
        return self._simulation.controller.seen_position

    @property
    def ee_ori_mat(self) -> np.ndarray:
        """Its rotation then, (3, 3)."""
        return self._simulation.controller.seen_rotation

    @property
    def goal_pos(self) -> np.ndarray:
        """Where it is to go, metres, (3,)."""
        return self._simulation.controller.drive().goal_position

    @property
    def goal_ori(self) -> np.ndarray:
        """How it is to be turned, (3, 3)."""
        return self._simulation.controller.drive().goal_rotation

    @property
    def joint_pos(self) -> np.ndarray:
        """The arm's joint angles, radians, (7,)."""
        return np.array(self._simulation.data.qpos[:ARM])

    @property
    def joint_vel(self) -> np.ndarray:
        """Radians a second, (7,)."""
        return np.array(self._simulation.data.qvel[:ARM])

    @property
    def initial_joint(self) -> np.ndarray:
        """The pose that the arm is kept near, radians, (7,)."""
        return np.array(self._simulation.compiled.home)

    @property
    def control_limits(self) -> tuple[np.ndarray, np.ndarray]:
        """The least and the greatest action, (6,) each."""
        return self.input_min, self.input_max

    def update(self, force: bool = False) -> None:
        """Look at the arm now."""
        self._simulation.controller.look()

    def reset_goal(self) -> None:
        """Make the arm's present pose the goal."""
        self._simulation.controller.hold()


class RobotModel(Partial):
    """Names of the robot's parts."""

    shown_as = "robots[0].robot_model"

    def __init__(self) -> None:
        self.naming_prefix = "robot0_"
        self.eef_name = "robot0_right_hand"
        self.name = "Panda0"
        self.root_body = "robot0_base"


class Robot(Partial):
    """The arm."""

    shown_as = "robots[0]"

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self.controller = Controller(simulation)
        self.robot_model = RobotModel()
        self.name = "Panda"
        self.idn = 0
        self.has_gripper = True
        self.action_dim = ACTION_SIZE
        self.dof = ACTION_SIZE
        self.eef_site_id = simulation.model.site("gripper0_grip_site").id
        self.init_qpos = np.array(simulation.compiled.home)

    @property
    def sim(self) -> Any:
        """The simulation it is in."""
        from assay.extensions.dropin.simulator import MjSim

        return MjSim(self._simulation)

    @property
    def action_limits(self) -> tuple[np.ndarray, np.ndarray]:
        """The least and the greatest action, (7,) each."""
        return -np.ones(ACTION_SIZE), np.ones(ACTION_SIZE)

    @property
    def _joint_positions(self) -> np.ndarray:
        return np.array(self._simulation.data.qpos[:ARM])

    @property
    def _joint_velocities(self) -> np.ndarray:
        return np.array(self._simulation.data.qvel[:ARM])
