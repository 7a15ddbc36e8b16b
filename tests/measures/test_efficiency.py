from __future__ import annotations

import pytest

from assay.measures import MeasureError, efficiency
from assay.runs.store import Store


def test_what_a_run_saved_by_stopping_is_told(run, made, tmp_path):
    store = run([made(True, seed=seed, decisions=seed) for seed in range(20)] + [made(True, condition="c")])
    rule = {"rule": "decided=0.5", "episodes": 8}
    found = efficiency(store.frame(), store.counts(), {"control": rule})
    assert (found.planned, found.used, found.saved) == (21, 9, 12) and found.share == pytest.approx(12 / 21)
    control, changed = found.conditions
    assert (control.used, control.saved, control.rule) == (8, 12, "decided=0.5")
    assert (changed.used, changed.saved, changed.rule) == (1, 0, None)
    assert found.decisions == pytest.approx((sum(range(20)) + 10) / 21)
    assert found.decisions_interval.low < found.decisions < found.decisions_interval.high


def test_an_empty_run_has_no_efficiency(run):
    store: Store = run([])
    with pytest.raises(MeasureError, match="there is no episode"):
        efficiency(store.frame(), store.counts(), {})
