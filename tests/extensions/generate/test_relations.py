from __future__ import annotations

import pytest

from assay.extensions.generate.words import Side, gap_between, is_at, may_be_at
from assay.perturb.world.ground import Spot

PLATE = Spot(0.0, 0.0, 0.06, 0.06)


@pytest.mark.parametrize(
    ("x", "y", "side"),
    [(0.0, -0.13, Side.LEFT), (0.0, 0.13, Side.RIGHT), (0.13, 0.0, Side.FRONT), (-0.13, 0.02, Side.BEHIND)],
)
def test_sides_are_those_of_the_camera(x: float, y: float, side: Side):
    obj = Spot(x, y, 0.03, 0.03)
    assert [each for each in Side if is_at(obj, each, PLATE)] == [side]
    assert may_be_at(obj, side, PLATE)


def test_diagonal_or_distant_objects_only_may_stand_at_a_side():
    askew, far = Spot(0.12, -0.13, 0.03, 0.03), Spot(0.0, -0.28, 0.03, 0.03)
    assert not any(is_at(askew, side, PLATE) or is_at(far, side, PLATE) for side in Side)
    assert may_be_at(askew, Side.LEFT, PLATE) and may_be_at(askew, Side.FRONT, PLATE)
    assert may_be_at(far, Side.LEFT, PLATE) and not may_be_at(far, Side.RIGHT, PLATE)


def test_gap_between_measures_free_space():
    assert gap_between(PLATE, Spot(0.0, 0.2, 0.04, 0.04)) == pytest.approx(0.1)
    assert gap_between(PLATE, Spot(0.05, 0.05, 0.04, 0.04)) == 0
