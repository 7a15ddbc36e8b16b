"""Perturbations of the scene and the goal: object positions and models, room, robot and cameras.

position        objects start elsewhere           objects   objects have another appearance, size or category
exchange        objects exchange positions
layout          objects are added
targets         the goal involves another object or appearance, which the instruction names
staging         room, surfaces, light, initial robot pose, camera poses
ground, kinds   shared helpers: the floor plan of a workspace, and categories for replacements
spoken          spatial expressions in the instruction, which must remain true after a change
"""

from assay.perturb.world import exchange, layout, objects, position, staging, targets

__all__ = ["exchange", "layout", "objects", "position", "staging", "targets"]
