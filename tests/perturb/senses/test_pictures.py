from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from assay.episodes import Senses
from assay.episodes.senses import Chance
from assay.errors import RenderingError
from assay.perturb.senses.images import (
    CAMERAS,
    BlankPictures,
    Contrast,
    DroppedCamera,
    Fog,
    FrozenCamera,
    GaussianNoise,
    Optical,
    Patch,
    pictures_at,
)
from assay.perturb.senses.robot import ProprioceptionOffset
from assay.sim import CompiledScene, Observation, Simulation

pytestmark = pytest.mark.usefixtures("drawing")
Begun = Callable[..., Senses]
NAMES = list(pictures_at(1))
GRADED = [name for name in NAMES if pictures_at(1)[name] != pictures_at(2)[name]]
OPTICAL = [name for name in NAMES if isinstance(pictures_at(1)[name], Optical)]
FIXED = ("zoom blur", "darker", "lighter", "flatter", "harsher")
"""Those in which nothing is drawn at random."""


def proprioception(observation: Observation) -> list[np.ndarray]:
    moment = observation.moment
    arm = [observation.joints, observation.eef_position, observation.eef_quaternion, observation.gripper]
    return [*arm, moment.qpos, moment.fixtures]


def equal(one: list[np.ndarray], other: list[np.ndarray]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def error(one: np.ndarray, other: np.ndarray) -> float:
    """Mean squared error of two pictures."""
    return float(np.mean((one.astype(float) - other) ** 2))


@pytest.mark.parametrize("name", NAMES)
def test_it_changes_the_chosen_camera_and_nothing_else(
    name: str, world: Simulation, seen: list[Observation], senses: Begun
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
    name: str, camera: str, seen: list[Observation], senses: Begun
):
    truth = seen[1].image(camera)
    errors = np.zeros(10)
    for seed in range(3):
        for severity in range(1, 11):
            changed = senses(pictures_at(severity)[name], seed=seed).observe(seen[1])
            errors[severity - 1] += error(changed.image(camera), truth)
    assert (np.diff(errors) > 0).all(), errors.round()


@pytest.mark.parametrize("name", ["motion blur", "Gaussian noise", "zoom blur", "fog", "glass blur"])
def test_severity_is_calibrated_from_slight_to_heavy_and_independent_of_the_image_size(
    name: str, seen: list[Observation], senses: Begun
):
    def noise_ratio(severity: int, size: int = 256) -> float:
        """Peak signal-to-noise ratio, mean over three seeds, dB."""
        truth = seen[1].image("agentview", size)
        changed = (senses(pictures_at(severity)[name], seed=seed).observe(seen[1]) for seed in range(3))
        errors = [error(observation.image("agentview", size), truth) for observation in changed]
        return float(np.mean(10 * np.log10(255**2 / np.array(errors))))

    assert noise_ratio(1) > 25 and noise_ratio(10) < 22.5
    assert noise_ratio(7) == pytest.approx(noise_ratio(7, 128), abs=1.5)


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_is_the_same_whatever_was_read_before(name: str, seen: list[Observation], senses: Begun):
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
    name: str, seen: list[Observation], senses: Begun
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
    name: str, size: tuple[int, int], seen: list[Observation], senses: Begun
):
    for severity in (1, 10):
        picture = senses(pictures_at(severity)[name]).observe(seen[1]).image("agentview", *size)
        assert picture.shape == (*size, 3) and picture.dtype == np.uint8


def test_the_cameras_it_knows_are_those_of_the_scenes(compiled: Callable[[str], CompiledScene]):
    models = [compiled(task).model for task in ("libero_goal/0", "libero_object/0", "libero_10/5")]
    names = {model.camera(number).name for model in models for number in range(model.ncam)}
    assert names == set(CAMERAS)


def covered(truth: Observation, changed: Observation, height: int, width: int) -> tuple[int, int, int, int]:
    """Top, bottom, left and right of what is black, after checking that the rest is as it was."""
    one, other = truth.image("agentview", height, width), changed.image("agentview", height, width)
    rows, columns = np.nonzero((one != other).any(axis=2) | (other == 0).all(axis=2))
    top, bottom, left, right = rows.min(), rows.max() + 1, columns.min(), columns.max() + 1
    assert not other[top:bottom, left:right].any()
    other[top:bottom, left:right] = one[top:bottom, left:right]
    assert np.array_equal(one, other)
    return int(top), int(bottom), int(left), int(right)


def bright(observation: Observation) -> Observation:
    """So that nothing but a patch is black."""
    return observation.through(lambda behind, *view: np.maximum(behind.picture(*view), 1))


@pytest.mark.parametrize(("x", "y"), [(0.0, 0.0), (1.0, 1.0), (0.5, 0.25)])
def test_a_patch_covers_just_what_it_says(x: float, y: float, seen: list[Observation], senses: Begun):
    truth = bright(seen[0])
    changed = senses(Patch(0.25, x, y)).observe(truth)
    top, bottom, left, right = covered(truth, changed, 80, 120)
    assert (bottom - top, right - left) == (20, 30)
    assert (top, left) == (round(60 * y), round(90 * x))


def test_a_patch_is_drawn_for_each_camera_and_stays_there(seen: list[Observation], senses: Begun):
    places = set()
    for seed in range(6):
        episode = senses(Patch(0.3), seed=seed)
        found = [covered(each, episode.observe(each), 64, 64) for each in map(bright, seen)]
        assert len(set(found)) == 1
        places |= set(found)
    assert len(places) == 6


def test_a_patch_hides_depth_and_labels_at_the_same_place(seen: list[Observation], senses: Begun):
    changed = senses(Patch(0.4)).observe(seen[1])
    black = (changed.image("agentview", 64) == 0).all(axis=2)
    depth, labels = changed.depth("agentview", 64), changed.segmentation("agentview", 64)
    hidden = depth == 0
    assert hidden.sum() == 26 * 26 and black[hidden].all() and not labels[hidden].any()
    assert np.array_equal(depth[~hidden], seen[1].depth("agentview", 64)[~hidden])
    assert np.array_equal(labels[~hidden], seen[1].segmentation("agentview", 64)[~hidden])


def test_a_dropped_camera_shows_nothing_in_any_way(seen: list[Observation], senses: Begun):
    episode = senses(DroppedCamera(cameras=("agentview",)))
    for each in seen:
        changed = episode.observe(each)
        assert not changed.image("agentview", 32).any()
        assert not changed.depth("agentview", 32).any()
        assert not changed.segmentation("agentview", 32).any()
        assert changed.depth("agentview", 32).dtype == each.depth("agentview", 32).dtype
        assert np.array_equal(changed.depth("sideview", 32), each.depth("sideview", 32))


def test_a_frozen_camera_shows_its_first_picture(seen: list[Observation], senses: Begun):
    episode = senses(FrozenCamera(cameras=("robot0_eye_in_hand",)))
    changed = [episode.observe(each) for each in seen][-1]
    for look in ("image", "depth", "segmentation"):
        frozen = getattr(changed, look)("robot0_eye_in_hand", 48)
        assert np.array_equal(frozen, getattr(seen[0], look)("robot0_eye_in_hand", 48))
        assert np.array_equal(
            getattr(changed, look)("agentview", 48), getattr(seen[-1], look)("agentview", 48)
        )
    assert np.array_equal(changed.joints, seen[-1].joints)


def test_what_comes_before_a_frozen_camera_is_frozen_and_what_comes_after_is_not(
    seen: list[Observation], senses: Begun
):
    before, after = senses(GaussianNoise(3), FrozenCamera()), senses(FrozenCamera(), GaussianNoise(3))
    stuck = [before.observe(each).image("agentview", 32) for each in seen]
    alive = [after.observe(each).image("agentview", 32) for each in seen]
    assert np.array_equal(stuck[0], stuck[-1]) and not np.array_equal(alive[0], alive[-1])


@pytest.mark.parametrize("sense", [DroppedCamera(), FrozenCamera(), BlankPictures(), Patch(0.5)], ids=repr)
def test_what_cannot_be_drawn_is_rejected_all_the_same(
    sense: DroppedCamera, seen: list[Observation], senses: Begun
):
    changed = senses(sense).observe(seen[1])
    with pytest.raises(RenderingError, match="did you mean 'agentview'"):
        changed.image("agentvew")
    with pytest.raises(RenderingError, match="out of range"):
        changed.image("agentview", 0)


def test_nothing_is_drawn_until_it_is_read_and_then_once(world: Simulation, senses: Begun):
    episode = senses(Fog(3), GaussianNoise(2), ProprioceptionOffset(0.1), Contrast(0.5))
    before = world.renderer.count
    seen = world.reset(world.sample(2))
    changed = episode.observe(seen)
    for _ in range(3):
        episode.observe(world.step(np.zeros(7)))
    assert world.renderer.count == before
    first = changed.image("agentview", 24)
    assert world.renderer.count == before + 1
    assert np.array_equal(changed.image("agentview", 24, 24), first)
    seen.image("agentview", 24)
    assert world.renderer.count == before + 1, "the picture behind is kept too"
