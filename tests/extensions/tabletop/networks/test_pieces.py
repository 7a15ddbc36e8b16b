from __future__ import annotations

import numpy as np
import pytest

from assay.extensions.tabletop.networks.pieces import SIDE, bare_table, pieces
from assay.extensions.tabletop.networks.tokens import Form, Sight, pictured, seen
from assay.extensions.tabletop.scene import Item, TableScene
from assay.extensions.tabletop.simulation import TableSimulation
from assay.extensions.tabletop.tasks import Setting, make

pytestmark = pytest.mark.usefixtures("drawing")
HEIGHT, WIDTH = 64, 128


def _table(*items: Item) -> Sight:
    return seen(TableSimulation(TableScene(items)).observe(), Form.PATCHES)


def _corners(sight: Sight) -> tuple[np.ndarray, np.ndarray]:
    """The first and last pixel of each box, (tokens, 2), x and y."""
    middle, size = sight.boxes[:, :2] * (WIDTH, HEIGHT), sight.boxes[:, 3:1:-1] * (WIDTH, HEIGHT)
    return np.round(middle - size / 2).astype(int), np.round(middle + size / 2).astype(int)


def test_a_bare_table_has_no_pieces():
    assert len(pieces(_table())) == 0


def test_pieces_hold_all_that_is_not_table_and_their_boxes_say_where():
    sight = _table(Item("a", "letter A", "red", 0.4, -0.2), Item("b", "bowl", "blue", 0.6, 0.2, fixed=True))
    drawn = bare_table()[1].copy()
    some = pieces(sight)
    assert 4 < len(some) < 60 and some.crops.shape[1:] == (SIDE, SIDE, 3) and set(some.views) == {1}
    for crop, (left, top), (right, bottom) in zip(some.crops, *_corners(some), strict=True):
        inside = crop[top % SIDE :, left % SIDE :][: bottom - top, : right - left]
        drawn[top:bottom, left:right] = inside
        assert all((edge != bare_table()[1, 32, 64]).any() for edge in (inside[0], inside[-1], inside[:, 0]))
    true = np.concatenate(
        [np.concatenate(list(row), axis=1) for row in sight.crops[8:].reshape(2, 4, 32, 32, 3)]
    )
    assert (drawn == true).all()


def test_an_object_of_a_prompt_is_cut_out_of_the_wall_and_a_scene_out_of_the_table():
    prompt = make(Setting("T1", 3)).prompt
    alone = pieces(pictured(prompt.pictures[0][1], Form.PATCHES))
    assert 0 < len(alone) <= 12
    first, last = _corners(alone)
    assert (np.abs((first.min(axis=0) + last.max(axis=0)) / 2 - (WIDTH / 2, HEIGHT / 2)) < 10).all()
    scene = dict(make(Setting("T4", 3)).prompt.pictures)["scene"]
    assert 8 < len(pieces(pictured(scene, Form.PATCHES))) < 60
