"""Perturbations of the scene and the goal: where things stand, what they are, the room, robot and cameras.

position        things stand elsewhere            objects   they look different, or are others
layout          there are more of them            compose   two goals instead of one
room, cameras   surfaces, light, the robot's start, where cameras look from

ground, kinds   what they go by: the plan of a workspace, and which categories are alike
spoken          what the words say about where things stand, which must stay true
"""

from assay.perturb.world.cameras import MoveCamera, Orbit
from assay.perturb.world.compose import compositions
from assay.perturb.world.kinds import SHAPES, Among, unseen
from assay.perturb.world.layout import Confound, Distractors, Obstacle
from assay.perturb.world.objects import Recolour, Remove, Replace, Resize
from assay.perturb.world.position import Displace, Jitter, MoveFixture, Relocate, Swap
from assay.perturb.world.room import Relight, Repaint, Room, StartPose

__all__ = [
    "SHAPES",
    "Among",
    "Confound",
    "Displace",
    "Distractors",
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
    "compositions",
    "unseen",
]
