"""LIBERO's environment wrappers."""

from assay.extensions.dropin.env_wrapper import (
    ControlEnv,
    DemoRenderEnv,
    OffScreenRenderEnv,
    SegmentationRenderEnv,
)

__all__ = ["ControlEnv", "DemoRenderEnv", "OffScreenRenderEnv", "SegmentationRenderEnv"]
