from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from assay.episodes.senses import Chance
from assay.perturb.senses import Senses, pictures_at
from assay.perturb.senses.images import CAMERAS, Optical
from assay.sim import CompiledScene, Observation, Simulation

pytestmark = pytest.mark.usefixtures("drawing")

NAMES = list(pictures_at(1))
GRADED = [name for name in NAMES if pictures_at(1)[name] != pictures_at(2)[name]]
OPTICAL = [name for name in NAMES if isinstance(pictures_at(1)[name], Optical)]
FIXED = ("zoom blur", "darker", "lighter", "flatter", "harsher")
"""Those in which nothing is drawn at random."""


def proprioception(observation: Observation) -> list[np.ndarray]:
    return [
        observation.joints,
        observation.eef_position,
        observation.eef_quaternion,
        observation.gripper,
        observation.moment.qpos,
        observation.moment.fixtures,
    ]


def equal(one: list[np.ndarray], other: list[np.ndarray]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def error(one: np.ndarray, other: np.ndarray) -> float:
    """Mean squared error of two pictures."""
    return float(np.mean((one.astype(float) - other) ** 2))


def psnr(one: np.ndarray, other: np.ndarray) -> float:
    """Peak signal-to-noise ratio, dB."""
    return 10 * np.log10(255**2 / error(one, other))


@pytest.mark.parametrize("name", NAMES)
def test_it_changes_the_chosen_camera_and_nothing_else(
    name: str, world: Simulation, seen: list[Observation], senses: Callable[..., Senses]
):
    sense = replace(pictures_at(5)[name], cameras=("agentview",))
    before, state = [each.image("agentview", 96) for each in seen], world.state()
    episode = senses(sense)
    changed = [episode.observe(each) for each in seen][-1]
    truth = seen[-1]
    picture = changed.image("agentview", 96)
    assert picture.shape == (96, 96, 3) and picture.dtype == np.uint8
    assert not np.array_equal(picture, truth.image("agentview", 96))
    assert np.array_equal(changed.image("robot0_eye_in_hand", 96), truth.image("robot0_eye_in_hand", 96))
    if isinstance(sense, Optical):
        assert np.array_equal(changed.depth("agentview", 96), truth.depth("agentview", 96))
        assert np.array_equal(changed.segmentation("agentview", 96), truth.segmentation("agentview", 96))
    assert changed.step == truth.step
    assert equal(proprioception(changed), proprioception(truth))
    assert equal([each.image("agentview", 96) for each in seen], before)
    after = world.state()
    assert equal([after.vector, after.fixtures], [state.vector, state.fixtures])


@pytest.mark.parametrize("name", GRADED)
@pytest.mark.parametrize("camera", ["agentview", "robot0_eye_in_hand"])
def test_more_severe_is_further_from_the_truth(
    name: str, camera: str, seen: list[Observation], senses: Callable[..., Senses]
):
    truth = seen[1].image(camera)
    errors = np.zeros(10)
    for seed in range(3):
        for severity in range(1, 11):
            changed = senses(pictures_at(severity)[name], seed=seed).observe(seen[1])
            errors[severity - 1] += error(changed.image(camera), truth)
    assert (np.diff(errors) > 0).all(), errors.round()


@pytest.mark.parametrize("name", ["motion blur", "zoom blur", "fog", "glass blur", "patch"])
def test_a_severity_means_the_same_at_every_size(
    name: str, seen: list[Observation], senses: Callable[..., Senses]
):
    changed = senses(pictures_at(7)[name]).observe(seen[1])
    large, small = (psnr(changed.image("agentview", n), seen[1].image("agentview", n)) for n in (256, 128))
    assert abs(large - small) < 1.5, (large, small)


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_is_the_same_whatever_was_read_before(
    name: str, seen: list[Observation], senses: Callable[..., Senses]
):
    sense = pictures_at(6)[name]
    views = [("agentview", 64), ("robot0_eye_in_hand", 64), ("agentview", 48)]
    one, other = senses(sense), senses(sense)
    forwards = [one.observe(each) for each in seen]
    read = [[each.image(*view) for view in views] for each in forwards]
    backwards = [other.observe(each) for each in seen]
    for index in reversed(range(len(seen))):
        for number in reversed(range(len(views))):
            assert np.array_equal(backwards[index].image(*views[number]), read[index][number])


@pytest.mark.parametrize("name", OPTICAL)
def test_another_seed_gives_another_picture_where_something_is_drawn(
    name: str, seen: list[Observation], senses: Callable[..., Senses]
):
    pictures = [
        senses(pictures_at(6)[name], seed=seed).observe(seen[1]).image("agentview", 64) for seed in (0, 1)
    ]
    assert np.array_equal(*pictures) == (name in FIXED)


@pytest.mark.parametrize("name", OPTICAL)
def test_what_flickers_flickers_and_what_stays_stays(name: str, seen: list[Observation]):
    sense = pictures_at(6)[name]
    assert isinstance(sense, Optical)
    truth = seen[1].image("agentview", 64)
    one, next_, later = (sense.alter(truth, Chance((0, "agentview"), step)) for step in (1, 2, 60))
    if name in ("motion blur", "Gaussian noise"):
        assert not np.array_equal(one, next_)
    elif name == "fog":
        assert 0 < error(one, next_) < 2 < error(one, later)
    else:
        assert np.array_equal(one, next_) and np.array_equal(one, later)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [(1, 1), (2, 3), (16, 16), (48, 96)])
def test_pictures_of_any_size_keep_it(
    name: str, size: tuple[int, int], seen: list[Observation], senses: Callable[..., Senses]
):
    for severity in (1, 10):
        picture = senses(pictures_at(severity)[name]).observe(seen[1]).image("agentview", *size)
        assert picture.shape == (*size, 3) and picture.dtype == np.uint8


def test_the_cameras_it_knows_are_those_of_the_scenes(compiled: Callable[[str], CompiledScene]):
    models = [compiled(task).model for task in ("libero_goal/0", "libero_object/0", "libero_10/5")]
    names = {model.camera(number).name for model in models for number in range(model.ncam)}
    assert names == set(CAMERAS)
