"""Against ActionEQA's Table 1."""

from __future__ import annotations

import numpy as np
import pytest

from assay.extensions.eqa.question import Kind
from assay.extensions.eqa.scoring.means import PARTS, Hierarchy

ROWS = {
    "Gemini-2.5-Pro": (
        [52.7, 44.6, 48.9, 70.3, 42.5, 73.9],
        [75.6, 42.2, 51.8, 77.1, 44.4, 71.3],
        [68.8, 77.8],
        58.4,
    ),
    "GLM-4.5V": (
        [35.4, 39.3, 37.5, 53.0, 30.3, 43.1],
        [74.1, 40.9, 50.2, 54.5, 29.2, 48.8],
        [70.8, 65.2],
        46.2,
    ),
    "human": (
        [95.7, 91.2, 96.7, 92.9, 95.3, 92.6],
        [99.6, 97.7, 97.3, 99.4, 95.7, 93.7],
        [96.4, 96.0],
        95.6,
    ),
}


def shares(name: str) -> dict[tuple[str, Kind], float]:
    droid, bridge, rt1, _ = ROWS[name]
    high = [Kind.H_SP, Kind.H_AI]
    return {
        **{("droid", kind): value for kind, value in zip(Kind, droid, strict=True)},
        **{("bridge", kind): value for kind, value in zip(Kind, bridge, strict=True)},
        **{("rt-1", kind): value for kind, value in zip(high, rt1, strict=True)},
    }


def mean(name: str, part: str) -> float:
    cells = shares(name)
    return round(float(Hierarchy.of(list(cells), PARTS[part]).mean(np.array(list(cells.values())))), 1)


@pytest.mark.parametrize("name", ROWS)
def test_the_papers_last_column_comes_from_its_others(name: str):
    assert mean(name, "overall") == ROWS[name][3]


def test_the_papers_profile_of_levels_comes_from_them_too():
    assert [mean("Gemini-2.5-Pro", level) for level in ("high", "mid", "low")] == [70.4, 43.4, 61.5]


def test_the_order_of_kinds_is_the_papers():
    assert [str(kind) for kind in Kind] == ["H-SP", "M-SP", "L-SP", "H-AI", "M-AI", "L-AI"]
