"""Perturbations of the scene and the goal: where objects stand, what they are, the room, robot and cameras.

position        objects stand elsewhere           objects   they look different, or are others
exchange        they stand in each other's place
layout          there are more of them
targets         what is asked for is another object, or looks another way, and the words say so
staging         room, surfaces, light, the robot's start, where cameras look from

ground, kinds   what they go by: the plan of a workspace, and which categories are alike
spoken          what the words say about where objects stand, which must stay true
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
