"""LIBERO's environments."""

from assay.extensions.dropin import bddl_utils
from assay.extensions.dropin.env_wrapper import (
    ControlEnv,
    DemoRenderEnv,
    OffScreenRenderEnv,
    SegmentationRenderEnv,
)
from assay.extensions.dropin.problems import TASK_MAPPING
from assay.extensions.dropin.venv import DummyVectorEnv, SubprocVectorEnv
from assay.sim import gl

gl.choice()  # robosuite, too, looks at MUJOCO_GL when it is imported, and scripts that set it later rely on that

__all__ = [
    "TASK_MAPPING",
    "ControlEnv",
    "DemoRenderEnv",
    "DummyVectorEnv",
    "OffScreenRenderEnv",
    "SegmentationRenderEnv",
    "SubprocVectorEnv",
    "bddl_utils",
]
