"""One of each perturbation of the senses at a severity, for sheets, figures and experiments."""

from __future__ import annotations

from assay.episodes.senses import Sense
from assay.perturb.senses.actuators import ActionDelay, ActionNoise
from assay.perturb.senses.blur import GlassBlur, MotionBlur, ZoomBlur
from assay.perturb.senses.hiding import BlankPictures, DroppedCamera, FrozenCamera, Patch
from assay.perturb.senses.pictures import PictureSense
from assay.perturb.senses.proprioception import ProprioceptionNoise, ProprioceptionOffset
from assay.perturb.senses.tone import Brightness, Contrast, Fog, GaussianNoise


def pictures_at(severity: int) -> dict[str, PictureSense]:
    """Everything that changes pictures, by a name for people, at a severity of 1 to 10."""
    share = severity / 10
    return {
        "motion blur": MotionBlur(severity),
        "Gaussian noise": GaussianNoise(severity),
        "zoom blur": ZoomBlur(severity),
        "fog": Fog(severity),
        "glass blur": GlassBlur(severity),
        "darker": Brightness(1 - 0.9 * share),
        "lighter": Brightness(1 + 2 * share),
        "flatter": Contrast(1 - 0.9 * share),
        "harsher": Contrast(1 + 3 * share),
        "patch": Patch(0.6 * share),
        "dropped camera": DroppedCamera(),
        "frozen camera": FrozenCamera(),
        "blank pictures": BlankPictures(),
    }


def others_at(severity: int) -> dict[str, Sense]:
    """Everything else, likewise: the robot's own sensing, and how it obeys."""
    share = severity / 10
    return {
        "proprioception noise": ProprioceptionNoise(0.05 * share, 0.5 * share, 0.2 * share, 0.01 * share),
        "proprioception offset": ProprioceptionOffset(0.1 * share, 0.5 * share, 0.2 * share, 0.02 * share),
        "action noise": ActionNoise(0.5 * share, 0.5 * share),
        "action delay": ActionDelay(severity),
    }
