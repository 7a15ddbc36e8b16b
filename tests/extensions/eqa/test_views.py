from __future__ import annotations

import numpy as np
import pytest

from assay.extensions.eqa.episode import Episode
from assay.extensions.eqa.errors import QuestionError
from assay.extensions.eqa.views import View, all_of

from .conftest import Drawn, walk

STATES = walk(0)
EPISODE = Episode("one", "", STATES, (Drawn(STATES), Drawn(STATES, 32)), Drawn(STATES))


@pytest.mark.parametrize(("name", "width"), [("exo", 64), ("exo2", 128), ("ego", 64), ("both", 128)])
def test_cameras_stand_side_by_side_at_one_height(name: str, width: int):
    view = View.parse(name)
    (shot,) = view.pictures(EPISODE, [3])
    assert str(view) == name and shot.shape == (64, width, 3) and shot.dtype == np.uint8
    assert view.missing(EPISODE) == ""


def test_what_is_missing_is_named():
    assert View.parse("exo3").missing(EPISODE) == "3 outside, 2 there"
    blind = Episode("two", "", STATES, (Drawn(STATES),))
    assert View.parse("both").missing(blind) == "none on the hand"
    assert all_of([View.parse("exo3"), View.parse("ego")]) == View(3, hand=True)


def test_a_wrong_view_is_refused():
    with pytest.raises(QuestionError, match="valid: exo, exo2"):
        View.parse("exo5")
