"""What a run says about where it comes from."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.errors import RunError
from assay.runs.provenance import describe, provenance
from assay.runs.store import Store

HERE = provenance("libero", "oracle", "primitives")


def test_a_run_resumed_elsewhere_says_so_once(tmp_path: Path):
    elsewhere = HERE | {"host": "another", "started": "later"}
    with Store.writing(tmp_path / "run.assay") as store:
        for now in (HERE, HERE | {"started": "a little later"}, elsewhere, elsewhere):
            describe(store, now)
        assert store.meta["host"] == HERE["host"]
        assert [each["host"] for each in store.meta["resumed"]] == ["another"]


def test_another_experiment_is_not_resumed(tmp_path: Path):
    with Store.writing(tmp_path / "run.assay") as store:
        describe(store, HERE)
        with pytest.raises(RunError, match="holds a run with policy oracle, not idle"):
            describe(store, HERE | {"policy": "idle"})
