from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from assay.episodes import Trajectory, no_trajectory
from assay.web.queries import reading
from assay.web.trajectories import (
    DIVERGENCE_M,
    VIEW_MARGIN,
    VIEW_SIZE,
    Divergence,
    build_views,
    compare_paths,
    divergences,
)


def line(steps: int, length: float = 0.5) -> np.ndarray:
    return np.stack([np.linspace(0, length, steps), np.zeros(steps), np.zeros(steps)], axis=1)


def trajectory(points: np.ndarray) -> Trajectory:
    return replace(no_trajectory(), end_effector=np.asarray(points, np.float32))


def test_a_path_diverges_where_it_is_far_from_the_whole_control_path():
    path = line(200)
    slower = path[np.minimum(np.arange(300) // 2, 199)]
    assert compare_paths(slower, path) == Divergence(None, False), "only the time differs"
    detour = path.copy()
    detour[120:, 1] = DIVERGENCE_M + 0.01
    assert compare_paths(detour, path) == Divergence(120, False)
    still = np.full((50, 3), 0.01)
    assert compare_paths(still, path) == Divergence(None, True)
    assert compare_paths(path, still) == Divergence(24, False)
    assert compare_paths(path[:0], path) is None and compare_paths(path, path[:0]) is None


def test_episodes_are_compared_with_their_controls(library: Path):
    with reading(library / "blind.assay") as run:
        conditions = dict(run.rows("SELECT id, condition FROM specs"))
        result = divergences(run)
        assert result.keys() == {number for number, name in conditions.items() if name != "control"}
        assert set(result.values()) == {Divergence(None, False)}, "blind ignores the instruction"
        assert divergences(run, [1]).keys() <= {1}


def test_both_paths_share_one_scale_and_fit():
    mine, other = ([[0.0, 0.0, 1.0], [0.2, 0.0, 1.0]], [[0.0, 0.0, 1.0], [0.0, 0.4, 1.1]])
    above, side = build_views([("other", trajectory(other)), ("mine", trajectory(mine))])
    assert [path.kind for path in above.lines] == ["other", "mine"]
    start, end = above.lines[1].points
    scale = (VIEW_SIZE - 2 * VIEW_MARGIN) / 0.4
    assert abs(end[1] - start[1] - 0.2 * scale) < 0.2 and start[0] == end[0]  # away from the robot is down
    right = above.lines[0].points
    assert right[1][0] > right[0][0]  # the robot's left is on the right
    assert side.lines[0].points[1][1] < side.lines[0].points[0][1]  # higher is up
    points = [point for view in (above, side) for path in view.lines for point in path.points]
    assert all(VIEW_MARGIN - 1 <= value <= VIEW_SIZE - VIEW_MARGIN + 1 for point in points for value in point)
    assert abs(above.bar - 0.1 * scale) < 1e-5
