from __future__ import annotations

import numpy as np

from assay.web.charts import MARGIN, MOST_POINTS, SIZE, strips, views


def test_both_paths_share_one_scale_and_fit():
    mine = np.array([[0.0, 0.0, 1.0], [0.2, 0.0, 1.0]], np.float32)
    other = np.array([[0.0, 0.0, 1.0], [0.0, 0.4, 1.1]], np.float32)
    above, side = views(mine, other)
    assert [line.kind for line in above.lines] == ["other", "mine"]
    start, end = above.lines[1].points
    scale = (SIZE - 2 * MARGIN) / 0.4
    assert abs(end[1] - start[1] - 0.2 * scale) < 0.2 and start[0] == end[0]  # away from the robot is down
    right = above.lines[0].points
    assert right[1][0] > right[0][0]  # the robot's left is on the right
    assert side.lines[0].points[1][1] < side.lines[0].points[0][1]  # higher is up
    points = [point for view in (above, side) for line in view.lines for point in line.points]
    assert all(MARGIN - 1 <= value <= SIZE - MARGIN + 1 for point in points for value in point)
    assert abs(above.bar - 0.1 * scale) < 1e-6


def test_a_long_path_is_thinned_and_one_that_stands_still_is_drawn():
    above, _ = views(np.zeros((5 * MOST_POINTS, 3), np.float32), None)
    assert len(above.lines[0].points) == MOST_POINTS and above.lines[0].stride == 5


def test_nothing_that_moved_is_nothing_to_draw():
    assert views(np.zeros((0, 3), np.float32), None) == ()
    assert views(np.full((3, 3), np.nan, np.float32), None) == ()


def test_strips_of_either_goal_stand_together():
    found = strips({"On a b": [[2, 5]]}, 9, {"On a b": [], "Open c": [[0, 1], [3, 9]]}, 8)
    assert [(each.atom, each.kind, each.spans) for each in found] == [
        ("On a b", "mine", ((2, 3),)),
        ("On a b", "other", ()),
        ("Open c", "other", ((0, 1), (3, 6))),
    ]
