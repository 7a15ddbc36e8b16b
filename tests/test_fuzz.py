"""A short slice of ``make fuzz``, always the same: the corpus, and the first cases of each kind."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import pytest
from fuzz.__main__ import fuzz, grew

SLICES = {
    "bddl": 40,
    "task-json": 40,
    "states": 60,
    "results": 20,
    "result-tables": 25,
    "rlds": 6,
}
SLICES |= {"addresses": 30, "lerobot": 12, "endpoints": 6, "websockets": 40, "zmq": 4}


@pytest.mark.extensions()
@pytest.mark.parametrize("name", SLICES)
def test_nothing_that_is_damaged_or_hostile_ends_in_a_traceback(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])  # a target adds a folder with traps
    pytest.importorskip("zmq") if name == "zmq" else None
    found = fuzz(name, tmp_path, seconds=math.inf, cases=SLICES[name])
    assert not found["defects"] and found["cases"] == SLICES[name], found["defects"]
    assert found["taken"] + found["refused"] == found["cases"]


def test_growth_is_judged_only_when_caches_had_time_to_fill():
    assert grew(200, 100) and not grew(200, 10) and not grew(100, 100)
