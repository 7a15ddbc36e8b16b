"""LIBERO's environments."""

from assay.dropin import bddl_utils
from assay.dropin.env_wrapper import ControlEnv, DemoRenderEnv, OffScreenRenderEnv, SegmentationRenderEnv
from assay.dropin.problems import TASK_MAPPING
from assay.dropin.venv import DummyVectorEnv, SubprocVectorEnv

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
