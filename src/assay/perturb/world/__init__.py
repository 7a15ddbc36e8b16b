"""Perturbations of the scene: where things stand, what they are, the room, the robot, lights and cameras."""

from assay.perturb.world.objects import Confound, Distractors, Obstacle, Recolour, Remove, Replace, Resize
from assay.perturb.world.position import Displace, Jitter, MoveFixture, Relocate, Swap
from assay.perturb.world.room import MoveCamera, Relight, Repaint, Room, StartPose

__all__ = [
    "Confound",
    "Displace",
    "Distractors",
    "Jitter",
    "MoveCamera",
    "MoveFixture",
    "Obstacle",
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
]
