from __future__ import annotations

from pathlib import Path

import pytest

from assay.web.progress import RECENT, Pace, progress


def test_each_condition_has_the_success_of_its_controls_beside_it(library: Path):
    found = {line.name: line.control for line in progress(library / "blind.assay").conditions}
    assert found["control"] is None and found["para/obj=habitual,act=hint"] == (2, 2)


def test_speed_is_that_of_the_last_minutes():
    pace, run = Pace(), Path("a.assay")
    assert pace(run, 0, 100, now=0.0) is None
    assert pace(run, 0, 100, now=10.0) is None
    told = pace(run, 20, 100, now=20.0)
    assert told == {"per_minute": pytest.approx(60.0), "left": pytest.approx(80.0)}
    assert pace(run, 20, 100, now=20.0 + RECENT + 1) is None, "nothing was done for long"
    assert pace(run, 5, 100, now=500.0) is None, "it was begun anew"
