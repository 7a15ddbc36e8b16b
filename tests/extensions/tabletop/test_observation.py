from __future__ import annotations

import numpy as np
import pytest

from assay.errors import RenderingError
from assay.extensions.tabletop.prompts.prompt import Picture, portrait
from assay.extensions.tabletop.world.observation import TableObservation, cut_patches
from assay.extensions.tabletop.world.render import render_picture
from assay.extensions.tabletop.world.scene import TableItem, TableScene
from assay.extensions.tabletop.world.simulation import TableSimulation
from assay.extensions.tabletop.world.textures import COLOURS

HIDDEN = TableItem("hidden", "shorter block", "green", 0.5, 0.0, fixed=True)
COVER = TableItem("cover", "block", "red", 0.5, 0.0, z=0.03, size=(1.4, 1.4, 1.0), fixed=True)
SEEN = TableItem("seen", "L-shaped block", "blue", 0.3, -0.4, fixed=True)


@pytest.fixture(scope="module")
def observation(drawing: str) -> TableObservation:
    return TableSimulation(TableScene((HIDDEN, COVER, SEEN))).observe()


def test_the_top_view_shows_objects_in_their_places_and_colours(observation: TableObservation) -> None:
    rows, columns = np.nonzero(observation.segmentation("top") == 2)
    assert np.isclose(rows.mean(), 63.5, atol=1.5) and np.isclose(columns.mean(), 127.5, atol=1.5)
    rows, columns = np.nonzero(observation.segmentation("top") == 3)
    assert np.isclose((rows.min() + rows.max()) / 2, (0.3 - 0.245) / 0.51 * 128, atol=1.5)
    assert np.isclose((columns.min() + columns.max()) / 2, (-0.4 + 0.51) / 1.02 * 256, atol=1.5)
    inside = observation.image("top")[observation.segmentation("top") == 3]
    assert np.abs(np.median(inside, axis=0) - COLOURS["blue"]).max() < 12


def test_objects_come_in_the_given_order_with_the_invisible_last(observation: TableObservation) -> None:
    tokens, ordered = observation.objects("top"), observation.reorder(np.array([2, 0, 1]))
    assert tokens.items.tolist() == [1, 2, 0] and ordered.objects("top").items.tolist() == [2, 1, 0]
    assert tokens.visible.tolist() == ordered.objects("top").visible.tolist() == [True, True, False]
    assert (tokens.crops[2] == 0).all() and observation.order is None
    assert np.allclose(tokens.boxes[0], (0.5, 0.5, 0.098 / 0.51, 0.098 / 1.02), atol=0.02)
    own, other = observation.segmentation("top"), ordered.segmentation("top")
    assert ((own == 3) == (other == 1)).all() and ((own == 2) == (other == 3)).all() and (own == 2).any()
    with pytest.raises(RenderingError, match=r"\[0, 0, 1\] is no order of 3 objects"):
        observation.reorder([0, 0, 1]).objects()


def test_patches_cover_the_picture_row_by_row(observation: TableObservation) -> None:
    picture = observation.image("front")
    cut = cut_patches(picture)
    assert cut.shape == (8, 32, 32, 3)
    assert np.isclose(cut[5].mean(), picture[64:, 64:128].mean(), atol=1.0)


def test_a_portrait_shows_one_object_on_white(drawing: str) -> None:
    picture = portrait(SEEN)
    assert isinstance(picture, Picture)
    colour, labels = render_picture(picture)["top"]
    assert set(np.unique(labels)) == {0, 1}
    assert (colour[labels == 0] > 240).all()


def test_brightness_is_independent_of_size(drawing: str) -> None:
    def brightness(*size: float) -> float:
        item = TableItem("a", "letter A", "red", 0.5, 0.0, size=size, fixed=True)  # type: ignore[arg-type]
        seen = TableSimulation(TableScene((item,))).observe()
        return float(seen.image("top")[seen.segmentation("top") == 1].mean())

    usual = brightness(1, 1, 1)
    assert brightness(1, 1, 2.35) == pytest.approx(usual, rel=0.02) == brightness(1, 1, 0.35)
    assert brightness(1.5, 1.5, 1) == pytest.approx(usual, rel=0.05)
