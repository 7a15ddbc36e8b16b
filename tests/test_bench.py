"""Results of bench scripts."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from rich.console import Console

pytestmark = pytest.mark.extensions("tabletop")


@pytest.fixture(scope="module")
def vima() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "bench_vima", Path(__file__).parents[1] / "bench" / "vima.py"
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def episode(seed: int, **result: object) -> dict[str, object]:
    return {"world": "Assay", "player": "oracle", "task": "T1", "seed": seed} | result


def test_only_what_is_left_is_played(vima, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    lines = tmp_path / "lines.jsonl"
    lines.write_text("".join(json.dumps(episode(seed, success=True)) + "\n" for seed in (1, 3)))
    given = ["--seeds", "4", "--tasks", "T1", "--players", "oracle", "--lines", str(lines)]
    monkeypatch.setattr(sys, "argv", ["vima", *given])
    vima.main()
    vima.main()
    assert [json.loads(line)["seed"] for line in lines.read_text().splitlines()] == [1, 3, 0, 2]


def test_an_episode_counts_once_and_what_was_raised_apart(vima):
    known = [episode(0, success=True), episode(0, success=True), episode(1, success=False)]
    console = Console(width=200)
    with console.capture() as shown:
        console.print(vima.table([*known, episode(2, raised="no room")]))
    rows = {line.split()[1]: line for line in shown.get().splitlines() if "of 2" in line}
    assert set(rows) == {"T1", "all"}
    assert all("1 of 2 (9 to 91 %)" in row and row.split()[-2] == "1" for row in rows.values())


def test_what_vima_bench_raises_is_a_result(vima):
    name = pytest.importorskip("assay.extensions.tabletop.tasks").KINDS["T1"].name
    bench = SimpleNamespace(
        make=lambda *args, **more: SimpleNamespace(close=lambda: None),  # nothing can be played in it
        PARTITION_TO_SPECS={"test": {"placement_generalization": {name: {}}}},
    )
    ((seed, raised),) = vima.there(bench, "T1", "oracle", [7])
    assert seed == 7 and "AttributeError" in raised
