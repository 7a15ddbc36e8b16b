from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from assay.extensions.tabletop.networks.dataset import (
    BINS,
    from_bins,
    move_bins,
    nearest_bins,
    target_distribution,
    to_bins,
)
from assay.extensions.tabletop.networks.tokens import (
    PIECE_SIDE,
    TokenForm,
    ViewTokens,
    bare_table,
    cut_pieces,
    room,
    split_words,
    tokenize_observation,
    tokenize_prompt,
)
from assay.extensions.tabletop.tasks import make
from assay.extensions.tabletop.tasks.task import Setting
from assay.extensions.tabletop.world.scene import TableItem, TableScene
from assay.extensions.tabletop.world.simulation import TableSimulation, action

pytestmark = pytest.mark.usefixtures("drawing")


def test_objects_come_in_the_order_of_the_observation_front_view_first():
    task = make(Setting("T1", 3))
    observation = TableSimulation(task.scene).observe()
    sight, other = (
        tokenize_observation(observation, TokenForm.OBJECTS),
        tokenize_observation(observation.reorder((2, 0, 1)), TokenForm.OBJECTS),
    )
    assert sight.views.tolist() == [0, 0, 0, 1, 1, 1] and sight.places.tolist() == [0, 1, 2] * 2
    assert (sight.crops[3:] == observation.objects("top").crops).all()
    assert (other.crops == sight.crops[[2, 0, 1, 5, 3, 4]]).all()


def test_a_prompt_is_split_into_words_and_a_masked_one_is_empty():
    prompt = make(Setting("T3", 0)).prompt
    parts = tokenize_prompt(prompt, TokenForm.OBJECTS)
    assert [part for part in parts if isinstance(part, str)] == split_words(
        prompt.text.replace("{dragged_obj}", " ")
    )
    assert [len(part) for part in parts if not isinstance(part, str)] == [2]
    assert tokenize_prompt(prompt.saying(""), TokenForm.OBJECTS) == ()


def test_a_permutation_is_the_same_in_both_views():
    sight = tokenize_observation(TableSimulation(make(Setting("T15", 0)).scene).observe(), TokenForm.OBJECTS)
    rng = np.random.default_rng(0)
    orders = [sight.permute(rng).places.reshape(2, -1) for _ in range(20)]
    assert all((front == top).all() and sorted(front) == [0, 1, 2, 3] for front, top in orders)
    assert len({tuple(front) for front, _ in orders}) > 5


HEIGHT, WIDTH = 64, 128


def _corners(sight: ViewTokens) -> tuple[np.ndarray, np.ndarray]:
    """The first and last pixel of each box, (tokens, 2), x and y."""
    middle, size = sight.boxes[:, :2] * (WIDTH, HEIGHT), sight.boxes[:, 3:1:-1] * (WIDTH, HEIGHT)
    return np.round(middle - size / 2).astype(int), np.round(middle + size / 2).astype(int)


def test_pieces_and_their_boxes_reproduce_everything_on_the_table():
    sight = _seen((0, 0), TokenForm.PATCHES)
    drawn = bare_table()[1].copy()
    some = cut_pieces(sight)
    assert (
        4 < len(some) < 60 and some.crops.shape[1:] == (PIECE_SIDE, PIECE_SIDE, 3) and set(some.views) == {1}
    )
    for crop, (left, top), (right, bottom) in zip(some.crops, *_corners(some), strict=True):
        inside = crop[top % PIECE_SIDE :, left % PIECE_SIDE :][: bottom - top, : right - left]
        drawn[top:bottom, left:right] = inside
        assert all((edge != bare_table()[1, 32, 64]).any() for edge in (inside[0], inside[-1], inside[:, 0]))
    true = np.concatenate(
        [np.concatenate(list(row), axis=1) for row in sight.crops[8:].reshape(2, 4, 32, 32, 3)]
    )
    assert (drawn == true).all()


ITEMS = (
    TableItem("a", "letter A", "red", 0.4, -0.2, 0.3),
    TableItem("b", "bowl", "blue", 0.6, 0.2, fixed=True),
)
PIXEL = 2 * 0.51 / 128


def _seen(way: tuple[float, float], form: TokenForm) -> ViewTokens:
    items = tuple(replace(item, x=item.x + way[0], y=item.y + way[1]) for item in ITEMS)
    return tokenize_observation(TableSimulation(TableScene(items)).observe(), form)


def test_moved_objects_are_at_the_places_of_a_moved_scene():
    way = (0.06, -0.15)
    got, true = _seen((0, 0), TokenForm.OBJECTS).translate(np.array(way)), _seen(way, TokenForm.OBJECTS)
    assert np.abs(got.boxes[:, :2] - true.boxes[:, :2]).max() < 1.1 / 128


def test_moved_patches_equal_those_of_a_moved_scene():
    way = (7 * PIXEL, -12 * PIXEL)
    start, true = _seen((0, 0), TokenForm.PATCHES), _seen(way, TokenForm.PATCHES)
    got = start.translate(np.array(way))
    assert np.abs(got.crops[8:].astype(int) - true.crops[8:]).mean() < 0.3  # from above, to the pixel
    wrong = np.abs(start.crops.astype(int) - true.crops).mean()
    assert np.abs(got.crops.astype(int) - true.crops).mean() < 0.25 * wrong


def test_shifts_stay_on_the_table_and_move_the_action():
    given = action((0.4, -0.2), (0.6, 0.2))
    least, most = room(_seen((0, 0), TokenForm.OBJECTS), given[[[0, 1], [6, 7]]])
    assert -0.15 < least[0] < -0.05 and 0.2 < most[1] < 0.25 and (least < most).all()
    bins = move_bins(to_bins(given[None])[0], np.array([0.05, -0.1]))
    assert from_bins(nearest_bins(bins[None])[0])[[0, 1, 6, 7]] == pytest.approx(
        [0.45, -0.3, 0.65, 0.1], abs=0.006
    )


@pytest.mark.parametrize("turn", [0.0, -np.pi / 6, np.pi / 2, -2.6, 3.1, -3.14])
def test_bins_reproduce_an_action_within_half_a_bin(turn: float):
    given = action((0.2512, -0.4988), (0.7499, 0.333), turn)
    got = from_bins(nearest_bins(to_bins(given[None]))[0])
    assert np.abs(got[[0, 1, 6, 7]] - given[[0, 1, 6, 7]]).max() <= 0.005 + 1e-9
    off = 2 * (np.arctan2(got[11], got[8]) - np.arctan2(given[11], given[8]))
    assert abs((off + np.pi) % (2 * np.pi) - np.pi) <= np.radians(2.5) + 1e-6


def test_a_target_is_spread_around_its_bin_and_turns_wrap():
    positions = to_bins(np.array([action((0.3, 0.1), (0.5, 0.2), turn) for turn in (-np.pi, 0.4, 3.12)]))
    for axis, count in enumerate(BINS):
        target = target_distribution(positions[:, axis], axis)
        assert target.shape == (3, count) and np.allclose(target.sum(axis=1), 1)
        off = np.abs(target.argmax(axis=1) - nearest_bins(positions)[:, axis])
        assert np.minimum(off, count - off).max() <= 1
    assert target_distribution(positions[:1, 4], 4)[0, -1] == pytest.approx(
        target_distribution(positions[:1, 4], 4)[0, 1]
    )
