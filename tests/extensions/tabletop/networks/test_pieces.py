from __future__ import annotations

import numpy as np
import pytest

from assay.extensions.tabletop.networks.tokens import (
    PIECE_SIDE,
    TokenForm,
    ViewTokens,
    bare_table,
    cut_pieces,
    tokenize_observation,
    tokenize_picture,
)
from assay.extensions.tabletop.tasks import make
from assay.extensions.tabletop.tasks.task import Setting
from assay.extensions.tabletop.world.scene import TableItem, TableScene
from assay.extensions.tabletop.world.simulation import TableSimulation

pytestmark = pytest.mark.usefixtures("drawing")
HEIGHT, WIDTH = 64, 128


def _table(*items: TableItem) -> ViewTokens:
    return tokenize_observation(TableSimulation(TableScene(items)).observe(), TokenForm.PATCHES)


def _corners(sight: ViewTokens) -> tuple[np.ndarray, np.ndarray]:
    """The first and last pixel of each box, (tokens, 2), x and y."""
    middle, size = sight.boxes[:, :2] * (WIDTH, HEIGHT), sight.boxes[:, 3:1:-1] * (WIDTH, HEIGHT)
    return np.round(middle - size / 2).astype(int), np.round(middle + size / 2).astype(int)


def test_a_bare_table_has_no_pieces():
    assert len(cut_pieces(_table())) == 0


def test_pieces_hold_all_that_is_not_table_and_their_boxes_say_where():
    sight = _table(
        TableItem("a", "letter A", "red", 0.4, -0.2), TableItem("b", "bowl", "blue", 0.6, 0.2, fixed=True)
    )
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


def test_an_object_of_a_prompt_is_cut_out_of_the_wall_and_a_scene_out_of_the_table():
    prompt = make(Setting("T1", 3)).prompt
    alone = cut_pieces(tokenize_picture(prompt.pictures[0][1], TokenForm.PATCHES))
    assert 0 < len(alone) <= 12
    first, last = _corners(alone)
    assert (np.abs((first.min(axis=0) + last.max(axis=0)) / 2 - (WIDTH / 2, HEIGHT / 2)) < 10).all()
    scene = dict(make(Setting("T4", 3)).prompt.pictures)["scene"]
    assert 8 < len(cut_pieces(tokenize_picture(scene, TokenForm.PATCHES))) < 60
