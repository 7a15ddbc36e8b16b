from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.episodes import CONTROL

from .runs_on_disk import write_run

pytestmark = pytest.mark.usefixtures("no_assets")
DUEL = "duel idle idle --experiment libero --tasks libero_goal/7 --steps 1 --workers 0"


def test_undecided_duel_continues_with_more_seeds_and_can_be_compared(assay: Callable, tmp_path: Path):
    folder, text = tmp_path / "d", tmp_path / "verdict.md"
    more = ("--out", folder, "--margin", "0.8", "--markdown", text)
    said = assay(*DUEL.split(), *more, "--seeds", "1")
    assert said.status == 3 and said.out.startswith("It is undecided whether B (idle) or A (idle) is better")
    assert "A and B are the same policy" in said.err
    said = assay(*DUEL.split(), *more, "--seeds", "8", "--json", "-", "--label-b", "new")
    told = json.loads(said.out)
    assert said.status == 0 and told["verdict"] == "equivalent" and told["second"] == "new"
    assert told["played"] < told["planned"] == 16
    assert "| control |" in text.read_text() and "equivalent" in text.read_text()
    assert assay("compare", folder / "A.assay", folder / "B.assay").status == 0


def test_gate_passes_better_policies_and_stops_worse_ones(assay: Callable, tmp_path: Path):
    base = write_run(tmp_path / "base.assay", {CONTROL: [True] * 12 + [False] * 8, "rude": [True] * 20})
    better = write_run(tmp_path / "better.assay", {CONTROL: [True] * 20, "rude": [True] * 20})
    broken = write_run(tmp_path / "broken.assay", {CONTROL: [True] * 20, "rude": [False] * 12 + [True] * 8})
    said = assay("gate", better, "--baseline", base)
    assert said.status == 0 and said.out.startswith("B (better) is better than A (base)")
    assert len(max(said.out.splitlines()[2:7], key=len)) <= 80
    assert assay("gate", base, "--baseline", better).status == 1
    assert assay("gate", broken, "--baseline", base).status == 3
    said = assay("gate", broken, "--baseline", base, "--each", "--json", "-")
    told = json.loads(said.out)
    assert said.status == 1 and told["verdict"] == "worse"
    assert {line["condition"]: line["verdict"] for line in told["conditions"]} == {
        CONTROL: "better",
        "rude": "worse",
    }


def test_gate_decides_equivalence_by_the_margin(assay: Callable, tmp_path: Path):
    base = write_run(tmp_path / "base.assay", {CONTROL: [True, False] * 30})
    same = write_run(tmp_path / "same.assay", {CONTROL: [True, False] * 30})
    ahead = write_run(tmp_path / "ahead.assay", {CONTROL: [True, False] * 28 + [True] * 4})
    assert (
        "are equivalent, to within 20.0 points"
        in assay("gate", same, "--baseline", base, "--margin", "0.2").out
    )
    said = assay("gate", ahead, "--baseline", base, "--margin", "0.05")
    assert said.status == 0 and "not worse" in said.out
