"""The asset pack ``primitives``: our own rooms, things and robot, generated from numbers."""

from assay.sim.packs.primitives.pack import PrimitivesPack

__all__ = ["PrimitivesPack"]
