from __future__ import annotations

import numpy as np
import pytest

from assay.extensions.eqa.episode import SourceEpisode
from assay.extensions.eqa.question import QuestionError
from assay.extensions.eqa.views import CameraView

from .conftest import Drawn, walk

STATES = walk(0)
EPISODE = SourceEpisode("one", "", STATES, (Drawn(STATES), Drawn(STATES, 32)), Drawn(STATES))


def test_cameras_are_shown_side_by_side_at_one_height():
    for name, width in (("exo", 64), ("exo2", 128), ("ego", 64), ("both", 128)):
        view = CameraView.parse(name)
        (shot,) = view.images(EPISODE, [3])
        assert str(view) == name and shot.shape == (64, width, 3) and shot.dtype == np.uint8
        assert view.missing_camera(EPISODE) == ""


def test_missing_cameras_and_invalid_views_are_reported():
    assert CameraView.parse("exo3").missing_camera(EPISODE) == "3 outside, 2 there"
    blind = SourceEpisode("two", "", STATES, (Drawn(STATES),))
    assert CameraView.parse("both").missing_camera(blind) == "none on the hand"
    assert CameraView.parse("exo1") == CameraView.parse("exo")
    with pytest.raises(QuestionError, match="valid: exo, exo2"):
        CameraView.parse("exo5")
