from __future__ import annotations

from pathlib import Path

import numpy as np

from assay.runs.queries import reading
from assay.web.divergence import FAR, Divergences, diverges


def test_a_path_diverges_where_it_is_far_from_all_of_the_others():
    way = np.stack([np.linspace(0, 0.5, 200), np.zeros(200), np.zeros(200)], axis=1)
    slower = way[np.minimum(np.arange(300) // 2, 199)]
    assert diverges(slower, way) is None, "later is the same way"
    away = way.copy()
    away[120:, 1] = FAR + 0.01
    assert diverges(away, way) == 120
    assert diverges(way[:0], way) is None and diverges(way, way[:0]) is None


def test_episodes_are_set_against_their_controls(library: Path):
    path = library / "blind.assay"
    known = Divergences()
    with reading(path) as run:
        numbers = dict(run.rows("SELECT id, condition FROM specs"))
        found = known.of(run, path)
        assert found.keys() == {number for number, condition in numbers.items() if condition != "control"}
        assert set(found.values()) == {None}, "blind goes the same way whatever it is told"
        assert known.of(run, path, [1]) is found
