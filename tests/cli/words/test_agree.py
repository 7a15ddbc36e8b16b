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
    assert head == "item,task,object_type,action_type,original,paraphrase,same" and len(rows) == 22
    returned = []
    for name, last in (("ann", "yes"), ("bob", "no"), ("eve", "yes")):
        returned.append(tmp_path / f"{name}.csv")
        returned[-1].write_text("\n".join([head, *(f"{row}yes" for row in rows[:-1]), f"{rows[-1]}{last}\n"]))
    found = json.loads(assay("words", "agree", *returned, "--json", "-").out)
    assert (found["items"], found["annotators"], found["majority"], found["strict"]) == (22, 3, 1, 21 / 22)
    assert found["low"] < found["ac1"] < found["high"] <= 1
    said = assay("words", "agree", *returned)
    assert "AC1" in said.out and said.err == ""
    item, task, thing, action = rows[-1].split(",")[:4]
    assert f"item {item} ({task}, obj={thing},act={action}): 2 of 3 yes: " in said.out
    assert f"by action_type: {action} 1" in said.out and found["failing"][0]["item"]["action_type"] == action
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


def test_a_sheet_of_the_published_table_can_show_the_scene(
    assay: Callable[..., Said], tmp_path: Path
) -> None:
    table, sheet = tmp_path / "metadata.csv", tmp_path / "sheet.csv"
    table.write_text(
        "high,mid,low,original_instruction,new_instruction\n"
        "act,pragmatical,hint,turn on the stove,the stove is still off\n"
    )
    said = assay("words", "agree", table, "--export", sheet, "--pictures")
    assert said.status == 0 and sheet.read_text().splitlines() == [
        "item,task,object_type,action_type,original,paraphrase,scene,same",
        "1,libero_goal/7,none,hint,turn on the stove,the stove is still off,sheet_scenes/libero_goal_7.png,",
    ]
    assert (tmp_path / "sheet_scenes/libero_goal_7.png").read_bytes().startswith(b"\x89PNG")


def test_noughts_alone_are_refused_in_one_line(assay: Callable[..., Said], tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("item,original,paraphrase,ann,bob\n1,a,b,0,0\n2,a,c,0,0\n")
    said = assay("words", "agree", tmp_path / "a.csv")
    assert said.status == 2 and "pass --marks 0X or --marks 10" in said.err and said.err.count("\n") == 1
    assert "100.0% of judgements yes" in assay("words", "agree", tmp_path / "a.csv", "--marks", "0X").out
    assert "0.0% of judgements yes" in assay("words", "agree", tmp_path / "a.csv", "--marks", "10").out
