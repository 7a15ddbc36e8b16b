from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from assay.episodes.senses import Chance
from assay.perturb.senses.images import (
    Brightness,
    Contrast,
    Fog,
    GaussianNoise,
    GlassBlur,
    MotionBlur,
    Severe,
    ZoomBlur,
)

SIZE = 256


CHANCE = Chance((5, "agentview"), 3)


def dot(row: int, column: int) -> np.ndarray:
    """A white dot of three by three pixels on black."""
    picture = np.zeros((SIZE, SIZE, 3), np.uint8)
    picture[row - 1 : row + 2, column - 1 : column + 2] = 255
    return picture


def lit(picture: np.ndarray) -> np.ndarray:
    """Rows and columns that are not black, (n, 2)."""
    return np.argwhere(picture.max(axis=2) > 2)


def test_motion_smears_a_dot_into_a_line_of_the_right_length():
    for step in range(5):
        spots = lit(MotionBlur(6).alter(dot(128, 128), Chance((5, "agentview"), step))) - 128
        _, extents, axes = np.linalg.svd(spots - spots.mean(axis=0))
        along, across = (spots @ axes.T).T
        length = MotionBlur.LENGTH * 6 * SIZE
        assert np.ptp(along) == pytest.approx(length + 2, abs=3)
        assert np.ptp(across) <= 5
        assert extents[0] > 3 * extents[1]


def test_zoom_leaves_the_middle_and_draws_the_edge_outwards():
    blurred = ZoomBlur(8)
    middle = lit(blurred.alter(dot(128, 128), CHANCE)) - 127.5
    assert np.abs(middle).max() < 5
    spots = lit(blurred.alter(dot(64, 64), CHANCE)) - 127.5
    assert np.abs(spots[:, 0] - spots[:, 1]).max() < 6, "it runs along the diagonal"
    furthest = np.abs(spots).max()
    assert furthest == pytest.approx(63.5 * (1 + ZoomBlur.GROWTH * 8), abs=4)
    assert np.abs(spots).min() > 58, "and not inwards"


def test_glass_scatters_a_dot_over_its_reach_only():
    spots = lit(GlassBlur(10).alter(dot(128, 128), CHANCE)) - 128
    reach = GlassBlur.REACH * 10 * SIZE
    assert reach / 2 < np.abs(spots).max() <= reach + 1 + 3
    assert len(spots) > 30


@pytest.mark.parametrize("blur", [MotionBlur(10), ZoomBlur(10), GlassBlur(10)], ids=repr)
def test_light_is_neither_made_nor_lost(blur: Severe):
    plain = np.full((SIZE, SIZE, 3), 77, np.uint8)
    assert np.array_equal(blur.alter(plain, CHANCE), plain)
    picture = np.random.default_rng(0).integers(0, 256, (SIZE, SIZE, 3), dtype=np.uint8)
    assert blur.alter(picture, CHANCE).mean() == pytest.approx(picture.mean(), abs=1.0)


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
