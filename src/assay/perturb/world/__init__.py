"""Perturbations of the scene and the goal: object positions and models, room, robot and cameras.

position        objects start elsewhere           objects   objects have another appearance, size or category
exchange        objects exchange places
layout          objects are added
targets         the goal is about another object or appearance, which the instruction names
staging         room, surfaces, light, initial robot pose, camera poses
ground, kinds   shared helpers: floor plan of a workspace, and which categories are alike
spoken          spatial expressions of the instruction, which must stay true
"""

from assay.perturb.world.exchange import ExchangePlaces, has_partners
from assay.perturb.world.kinds import Among, unseen
from assay.perturb.world.layout import Confound, Distractors, Obstacle
from assay.perturb.world.objects import Alter, Recolour, Remove, Replace, Resize
from assay.perturb.world.position import (
    Displace,
    DisplaceAlong,
    Jitter,
    MoveFixture,
    Relocate,
    Swap,
    WorkspaceAxis,
)
from assay.perturb.world.staging import MoveCamera, Orbit, Relight, Repaint, Room, StartPose
from assay.perturb.world.targets import Attribute, UnseenTargets, VariedTarget
from assay.sim.packs.pack import SHAPES

__all__ = [
    "SHAPES",
    "Alter",
    "Among",
    "Attribute",
    "Confound",
    "Displace",
    "DisplaceAlong",
    "Distractors",
    "ExchangePlaces",
    "Jitter",
    "MoveCamera",
    "MoveFixture",
    "Obstacle",
    "Orbit",
    "Recolour",
    "Relight",
    "Relocate",
    "Remove",
    "Repaint",
    "Replace",
    "Resize",
    "Room",
    "StartPose",
    "Swap",
    "UnseenTargets",
    "VariedTarget",
    "WorkspaceAxis",
    "has_partners",
    "unseen",
]
