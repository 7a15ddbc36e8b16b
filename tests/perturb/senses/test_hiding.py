from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from assay.errors import RenderingError
from assay.perturb.senses import BlankPictures, DroppedCamera, FrozenCamera, GaussianNoise, Patch, Senses
from assay.sim import Observation

pytestmark = pytest.mark.usefixtures("drawing")
Begun = Callable[..., Senses]


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
def test_what_cannot_be_drawn_is_refused_all_the_same(
    sense: DroppedCamera, seen: list[Observation], senses: Begun
):
    changed = senses(sense).observe(seen[1])
    with pytest.raises(RenderingError, match="did you mean 'agentview'"):
        changed.image("agentvew")
    with pytest.raises(RenderingError, match="not possible"):
        changed.image("agentview", 0)
