from __future__ import annotations

from dataclasses import replace

import polars as pl

from assay.api.searches.writing import _example
from assay.measures.world.thresholds import AtMagnitude, AxisThreshold

FOUND = AxisThreshold(
    "t", "delay", "steps", (1, 2, 3), 1, None, 2, True, (AtMagnitude(1, 0, 1),), 5, 5, 4, "budget"
)


def test_the_smallest_change_that_failed_is_filmed_though_where_success_is_lost_is_not_known():
    frame = pl.DataFrame(
        {
            "task": "t", "searched": "delay", "magnitude": [1, 3, 2, 2], "id": [0, 1, 2, 3],
            "outcome": ["failure", "failure", "success", "failure"], "key": ["a", "b", "c", "d"],
        }
    )  # fmt: skip
    assert _example(frame, FOUND) == "d"
    assert _example(frame, replace(FOUND, kept=3)) == ""  # a lapse where success is known to be kept
