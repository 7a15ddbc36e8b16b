from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from .runs_on_disk import write_run


def test_compare_fits_into_80_columns_and_counts_unmatched_episodes(assay: Callable, tmp_path: Path):
    good, bad = (
        write_run(tmp_path / "good.assay", {"control": [True] * 12}),
        write_run(tmp_path / "bad.assay", {"control": [False] * 10}),
    )
    said = assay("compare", good, bad)
    assert said.status == 0 and "A: good\nB: bad\n" in said.out
    rows = {line.split("  ")[0].strip(): line.split() for line in said.out.splitlines()}
    assert len(" ".join(rows["control"])) <= 80
    for name in ("all, including controls", "control"):
        assert {"10", "100.0", "0.0", "\N{MINUS SIGN}100.0", "0.002"} <= set(rows[name])
    assert "10 shared episodes" in said.out
    assert "good: 10 shared episodes, 2 unmatched, 0 errors" in said.out


def test_compare_gives_json(assay: Callable, tmp_path: Path):
    runs = [write_run(tmp_path / f"{name}.assay", {"control": [name == "a"] * 6}) for name in "abc"]
    told = json.loads(assay("compare", *runs, "--json", "-").out)
    assert told["shared"] == 6 and told["unmatched"] == {"a": 0, "b": 0, "c": 0}
    assert [(each["first"], each["second"], each["change"]) for each in told["overall"]] == [
        ("a", "b", -1.0),
        ("a", "c", -1.0),
        ("b", "c", 0.0),
    ]
