"""Perturbations of the senses: what the policy sees and feels, and how the robot obeys it.

senses = Senses((Fog(4, cameras=("agentview",)), ActionDelay(2)), task="libero_goal/0", seed=7)
observation = senses.observe(world.reset(state))
observation = senses.observe(world.step(senses.act(action, world.steps)))
"""

from assay.episodes import Senses
from assay.episodes.senses import Sense
from assay.perturb.senses.actuators import ActionDelay, ActionNoise
from assay.perturb.senses.blur import GlassBlur, MotionBlur, ZoomBlur
from assay.perturb.senses.hiding import BlankPictures, DroppedCamera, FrozenCamera, Patch
from assay.perturb.senses.proprioception import ProprioceptionNoise, ProprioceptionOffset
from assay.perturb.senses.tone import Brightness, Contrast, Fog, GaussianNoise

__all__ = [
    "ActionDelay",
    "ActionNoise",
    "BlankPictures",
    "Brightness",
    "Contrast",
    "DroppedCamera",
    "Fog",
    "FrozenCamera",
    "GaussianNoise",
    "GlassBlur",
    "MotionBlur",
    "Patch",
    "ProprioceptionNoise",
    "ProprioceptionOffset",
    "Sense",
    "Senses",
    "ZoomBlur",
]
