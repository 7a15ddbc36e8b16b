from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conftest import Said

TABLE = (
    "task,object_type,action_type,original,paraphrase,s_k,s_t\n"
    "libero_goal/7,habitual,none,turn on the stove,turn on the range,0.6,1.0\n"
    "libero_goal/7,habitual,none,turn on the stove,turn on the cooker,,\n"
)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    (tmp_path / "table.csv").write_text(TABLE)
    return tmp_path / "table.csv"


def test_counts_and_distances_are_printed(assay: Callable[..., Said], table: Path):
    said = assay("words", "stats", table)
    assert said.status == 0 and "mean PD" in said.out and "0.20" in said.out
    assert "turn on the stove" in said.out and "1 objects are named, 1 of them by one name" in said.out
    assert "1 paraphrases have no s_k and s_t" in said.err


def test_json_has_the_same(assay: Callable[..., Said], table: Path):
    found = json.loads(assay("words", "stats", table, "--json", "-").out)
    assert found["paraphrases"] == 2 and found["originals"] == {"turn on the stove": 2}
    assert found["cells"][0] | {"pd": None} == {
        **{"object": "habitual", "action": "none", "count": 2, "scored": 1, "pd": None},
        **{"keyword_distance": pytest.approx(0.4), "structural_distance": pytest.approx(0.0)},
    }


def test_figures_and_tables_are_written_where_asked_for(
    assay: Callable[..., Said], table: Path, tmp_path: Path
):
    assay("words", "stats", table, "--out", tmp_path / "out")
    assert {file.name for file in (tmp_path / "out" / "figures").iterdir()} == {
        "figure-5.svg",
        "figure-10.svg",
        "figure-11.svg",
    }
    assert (tmp_path / "out" / "tables" / "table-8.csv").read_text().splitlines()[-1].endswith(",2")


def test_a_table_without_rows_is_one_line(assay: Callable[..., Said], table: Path):
    table.write_text(TABLE.splitlines()[0] + "\n")
    said = assay("words", "stats", table)
    assert said.status == 2 and "there is nothing to count" in said.err
