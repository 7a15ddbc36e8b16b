from __future__ import annotations

from pathlib import Path

import numpy as np

from assay.runs.queries import reading
from assay.web.divergence import FAR, Divergences, Way, diverges, way


def test_a_path_diverges_where_it_is_far_from_all_of_the_others():
    path = np.stack([np.linspace(0, 0.5, 200), np.zeros(200), np.zeros(200)], axis=1)
    slower = path[np.minimum(np.arange(300) // 2, 199)]
    assert diverges(slower, path) is None, "later is the same way"
    apath = path.copy()
    apath[120:, 1] = FAR + 0.01
    assert diverges(apath, path) == 120
    assert diverges(path[:0], path) is None and diverges(path, path[:0]) is None


def test_an_arm_that_stands_still_is_not_on_its_controls_path():
    going = np.stack([np.linspace(0, 0.5, 200), np.zeros(200), np.zeros(200)], axis=1)
    standing = np.full((50, 3), 0.01)
    assert way(standing, going) == Way(None, True)
    assert way(going[:150], going) == Way(None, False) and way(going, standing) == Way(24, False)
    assert way(going[:0], going) is None and way(going, going[:0]) is None


def test_episodes_are_set_against_their_controls(library: Path):
    path = library / "blind.assay"
    known = Divergences()
    with reading(path) as run:
        numbers = dict(run.rows("SELECT id, condition FROM specs"))
        found = known.of(run, path)
        assert found.keys() == {number for number, condition in numbers.items() if condition != "control"}
        assert set(found.values()) == {Way(None, False)}, "blind goes the same way whatever it is told"
        assert known.of(run, path, [1]) is found
