from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from tests.conftest import Said


def test_a_sheet_goes_out_and_comes_back(assay: Callable[..., Said], tmp_path: Path) -> None:
    grid, sheet = tmp_path / "grid.csv", tmp_path / "sheet.csv"
    assay("words", "generate", "--tasks", "libero_object", "--per-cell", "10", "--out", grid)
    said = assay("words", "agree", grid, "--export", sheet)
    assert said.status == 0 and "22 paraphrases" in said.err  # 5 % of 430
    head, *rows = sheet.read_text().splitlines()
    assert head == "item,task,original,paraphrase,same" and len(rows) == 22
    returned = []
    for name, last in (("ann", "yes"), ("bob", "no"), ("eve", "yes")):
        returned.append(tmp_path / f"{name}.csv")
        returned[-1].write_text("\n".join([head, *(f"{row}yes" for row in rows[:-1]), f"{rows[-1]}{last}\n"]))
    found = json.loads(assay("words", "agree", *returned, "--json", "-").out)
    assert (found["items"], found["annotators"], found["majority"], found["strict"]) == (22, 3, 1, 21 / 22)
    assert found["low"] < found["ac1"] < found["high"] <= 1
    said = assay("words", "agree", *returned)
    assert "AC1" in said.out and said.err == ""
    said = assay("words", "agree", *returned[:2])
    assert "22 of 22 paraphrases have fewer than three judgements" in said.err
    assert "is given 2 times" in assay("words", "agree", *returned, returned[0]).err


def test_sheets_that_are_none_are_refused_in_one_line(assay: Callable[..., Said], tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("item,original,paraphrase,same\n2,a,b,maybe\n")
    said = assay("words", "agree", tmp_path / "a.csv")
    assert said.status == 2 and "'maybe' is neither yes nor no" in said.err
    assert assay("words", "agree", tmp_path / "none.csv").status == 2
    (tmp_path / "b.csv").write_text("task,object_type,action_type,original,paraphrase\n")
    said = assay("words", "agree", tmp_path / "b.csv", "--export", tmp_path / "c.csv")
    assert said.status == 2 and "no row to sample" in said.err
