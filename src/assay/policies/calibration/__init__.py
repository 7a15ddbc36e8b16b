"""Policies with one planted flaw each: the ground truth that the whole instrument is tested against.

The flaw's parameters are fields; an address sets them: ``clumsy?miss=0.3``.
"""

from assay.policies.calibration.blind import Blind
from assay.policies.calibration.clumsy import Clumsy
from assay.policies.calibration.colour import Colour
from assay.policies.calibration.deaf import Deaf
from assay.policies.calibration.glance import Glance
from assay.policies.calibration.keyword import Keyword
from assay.policies.calibration.nearest import Nearest
from assay.policies.calibration.replay import Replay
from assay.policies.calibration.semantic import Semantic
from assay.policies.calibration.unseeing import Unseeing
from assay.policies.calibration.unstoppable import Unstoppable
from assay.policies.calibration.verbatim import Verbatim
from assay.policies.calibration.within import Within

__all__ = [
    "Blind",
    "Clumsy",
    "Colour",
    "Deaf",
    "Glance",
    "Keyword",
    "Nearest",
    "Replay",
    "Semantic",
    "Unseeing",
    "Unstoppable",
    "Verbatim",
    "Within",
]
