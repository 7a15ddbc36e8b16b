from __future__ import annotations

from types import SimpleNamespace

import polars as pl

from assay.measures.world.thresholds import worst_cases


def test_the_error_is_shared_among_all_failures_that_were_tested_broken_ones_too():
    tested = [f"search/delay={steps}+noise=1" for steps in range(1, 7)]
    rows = [(each, "error") for each in tested[1:5]] + [(tested[5], "failure")] * 8
    rows = [(tested[0], "failure")] * 8 + rows
    frame = pl.DataFrame(
        {
            "task": "libero_goal/1",
            "condition": [condition for condition, _ in rows],
            "outcome": [outcome for _, outcome in rows],
            "key": [str(number) for number in range(len(rows))],
            "fresh": True,
        }
    )
    found = worst_cases(SimpleNamespace(meta={}, whole=frame))  # type: ignore[arg-type]
    # Eight failures of eight are odds of 56 to 1: enough for the first that is tested, not for the sixth.
    assert [(each.condition, each.confirmed) for each in found] == [(tested[0], True), (tested[5], False)]
