from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from assay.extensions.tabletop.networks.dataset import from_bins, move_bins, nearest_bins, to_bins
from assay.extensions.tabletop.networks.tokens import (
    TokenForm,
    ViewTokens,
    room,
    tokenize_observation,
)
from assay.extensions.tabletop.world.scene import TableItem, TableScene
from assay.extensions.tabletop.world.simulation import TableSimulation, action

pytestmark = pytest.mark.usefixtures("drawing")
ITEMS = (
    TableItem("a", "letter A", "red", 0.4, -0.2, 0.3),
    TableItem("b", "bowl", "blue", 0.6, 0.2, fixed=True),
)
PIXEL = 2 * 0.51 / 128


def _seen(way: tuple[float, float], form: TokenForm) -> ViewTokens:
    items = tuple(replace(item, x=item.x + way[0], y=item.y + way[1]) for item in ITEMS)
    return tokenize_observation(TableSimulation(TableScene(items)).observe(), form)


def test_objects_are_where_they_would_be_seen():
    way = (0.06, -0.15)
    got, true = _seen((0, 0), TokenForm.OBJECTS).translate(np.array(way)), _seen(way, TokenForm.OBJECTS)
    assert np.abs(got.boxes[:, :2] - true.boxes[:, :2]).max() < 1.1 / 128


def test_patches_show_what_would_be_seen():
    way = (7 * PIXEL, -12 * PIXEL)
    start, true = _seen((0, 0), TokenForm.PATCHES), _seen(way, TokenForm.PATCHES)
    got = start.translate(np.array(way))
    assert np.abs(got.crops[8:].astype(int) - true.crops[8:]).mean() < 0.3  # from above, to the pixel
    wrong = np.abs(start.crops.astype(int) - true.crops).mean()
    assert np.abs(got.crops.astype(int) - true.crops).mean() < 0.25 * wrong


def test_nothing_leaves_the_table_and_the_action_goes_along():
    given = action((0.4, -0.2), (0.6, 0.2))
    least, most = room(_seen((0, 0), TokenForm.OBJECTS), given[[[0, 1], [6, 7]]])
    assert -0.15 < least[0] < -0.05 and 0.2 < most[1] < 0.25 and (least < most).all()
    bins = move_bins(to_bins(given[None])[0], np.array([0.05, -0.1]))
    assert from_bins(nearest_bins(bins[None])[0])[[0, 1, 6, 7]] == pytest.approx(
        [0.45, -0.3, 0.65, 0.1], abs=0.006
    )
