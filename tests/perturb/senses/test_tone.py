from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from assay.episodes.senses import Chance
from assay.perturb.senses import Brightness, Contrast, Fog, GaussianNoise

CHANCE = Chance((5, "agentview"), 3)


@pytest.fixture
def picture() -> np.ndarray:
    return np.random.default_rng(0).integers(40, 220, (64, 64, 3), dtype=np.uint8)


def test_noise_has_its_deviation_and_no_bias():
    grey = np.full((256, 256, 3), 128, np.uint8)
    for severity in (1, 3):
        noise = GaussianNoise(severity).alter(grey, CHANCE).astype(float) - 128
        assert noise.std() == pytest.approx(255 * GaussianNoise.DEVIATION * severity, rel=0.03)
        assert abs(noise.mean()) < 0.3
        assert abs(np.corrcoef(noise[..., 0].ravel(), noise[..., 1].ravel())[0, 1]) < 0.02


def test_more_fog_brings_every_pixel_nearer_to_its_colour(picture: np.ndarray):
    colour = np.array(Fog.COLOUR, float)
    away = [np.abs(picture - colour)]
    away += [np.abs(Fog(severity).alter(picture, CHANCE) - colour) for severity in range(1, 11)]
    for less, more in pairwise(away):
        assert (more <= less + 0.5).all() and more.mean() < less.mean()


def test_fog_lies_in_banks():
    black = np.zeros((128, 128, 3), np.uint8)
    for key in range(5):
        thick = Fog(5).alter(black, Chance((key,), 0))[..., 0].astype(float)
        assert np.ptp(thick) > 60, "thicker here than there"
        assert np.abs(np.diff(thick, axis=0)).max() < 12, "without edges"


def test_fog_goes_on_where_it_leaves_the_picture():
    black = np.zeros((64, 64, 3), np.uint8)
    round_trip = round(1 / Fog.DRIFT)  # by a whole side, in whatever direction
    pictures = [Fog(5).alter(black, Chance((1,), step)).astype(int) for step in range(0, round_trip, 5)]
    changes = [np.abs(one - other).mean() for one, other in pairwise(pictures)]
    assert max(changes) < 3 * np.median(changes), "it never jumps"


def test_brightness_multiplies(picture: np.ndarray):
    assert not Brightness(0.0).alter(picture, CHANCE).any()
    assert np.abs(Brightness(0.5).alter(picture, CHANCE) - picture / 2).max() <= 0.5
    assert np.abs(Brightness(2.0).alter(picture, CHANCE) - np.minimum(picture * 2.0, 255)).max() <= 0.5


def test_contrast_spreads_about_the_mean(picture: np.ndarray):
    mean = picture.mean()
    assert set(np.unique(Contrast(0.0).alter(picture, CHANCE))) == {round(mean)}
    flat = Contrast(0.5).alter(picture, CHANCE)
    assert flat.mean() == pytest.approx(mean, abs=0.5)
    assert flat.std() == pytest.approx(picture.std() / 2, rel=0.02)
    harsh = Contrast(2.0).alter(picture, CHANCE)
    assert np.abs(harsh - np.clip((picture - mean) * 2 + mean, 0, 255)).max() <= 0.5
