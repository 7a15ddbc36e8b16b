"""The robot of the primitives: an arm, the hand at its end and the pedestal under it."""

from assay.sim.packs.primitives.arm import arm
from assay.sim.packs.primitives.gripper import gripper
from assay.sim.packs.primitives.mount import mount

__all__ = ["arm", "gripper", "mount"]
