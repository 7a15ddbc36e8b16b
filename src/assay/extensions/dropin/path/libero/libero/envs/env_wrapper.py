"""LIBERO's environment wrappers."""

from assay.extensions.dropin.env_wrapper import (
    ControlEnv,
    DemoRenderEnv,
    OffScreenRenderEnv,
    SegmentationRenderEnv,
)
