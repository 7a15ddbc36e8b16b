"""Perturbations of the scene and the goal: object positions and models, room, robot and cameras.

position        objects start elsewhere           objects   objects have another appearance, size or category
exchange        objects exchange places
layout          objects are added
targets         the goal is about another object or appearance, which the instruction names
staging         room, surfaces, light, initial robot pose, camera poses
ground, kinds   shared helpers: floor plan of a workspace, and which categories are alike
spoken          spatial expressions of the instruction, which must stay true
"""

from assay.perturb.world import exchange, layout, objects, position, staging, targets

__all__ = ["exchange", "layout", "objects", "position", "staging", "targets"]
