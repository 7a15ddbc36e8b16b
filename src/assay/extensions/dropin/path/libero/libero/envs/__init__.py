"""LIBERO's environments."""

from assay.extensions.dropin.env_wrapper import (
    TASK_MAPPING,
    ControlEnv,
    DemoRenderEnv,
    OffScreenRenderEnv,
    SegmentationRenderEnv,
)
from assay.extensions.dropin.venv import DummyVectorEnv, SubprocVectorEnv
from assay.sim import gl

from . import bddl_utils

gl.choice()  # robosuite reads MUJOCO_GL on import, too, and scripts that set it later rely on that
