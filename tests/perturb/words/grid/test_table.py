from __future__ import annotations

from pathlib import Path

import pytest

from assay import tasks
from assay.errors import PerturbationError
from assay.perturb.words.grid.cells import CELLS
from assay.perturb.words.grid.generate import grid
from assay.perturb.words.grid.table import COLUMNS, GridRow, grid_stats, read, read_grid, with_tasks, write


def test_what_is_written_is_read(tmp_path: Path) -> None:
    made = grid(tasks.suite("libero_10"), 2, 0)
    write(made, tmp_path / "new" / "grid.csv")
    rows = read(tmp_path / "new" / "grid.csv")
    assert [(row.task, row.paraphrase) for row in rows] == [(each.task.id, each.text) for each in made]
    assert [row.line for row in rows] == list(range(2, len(made) + 2))


def test_a_file_without_the_columns_is_rejected_with_their_names(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("paraphrase,object_type\nx,none\n")
    with pytest.raises(PerturbationError, match="lacks the column task or original or original_instruction"):
        read(tmp_path / "a.csv")
    with pytest.raises(
        PerturbationError, match=r"action_type or low; required: .*paraphrase or new_instruction"
    ):
        read(tmp_path / "a.csv", with_cells=True)
    (tmp_path / "b.csv").write_text("")
    with pytest.raises(PerturbationError, match="lacks the columns"):
        read(tmp_path / "b.csv")


def test_libero_paras_own_table_is_read_in_our_words(shared: Path) -> None:
    rows = with_tasks(read(shared / "libero_para" / "metadata.csv", with_cells=True))
    assert len(rows) == 2021 and len({row.task for row in rows}) == 5
    assert all(tasks.load(row.task).instruction.text == row.original for row in rows)
    assert {(row.object_type, row.action_type) for row in rows} == {
        (str(cell.object_type), str(cell.action_type)) for cell in CELLS
    }
    assert (rows[0].s_k, rows[0].parser) == (1.0, "") and rows[0].s_t == pytest.approx(14 / 15)


def test_a_table_of_ones_own_may_say_as_little_as_original_and_text(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("original,paraphrase\nTurn on  the stove,light the stove\nsing,hum\n")
    given = read(tmp_path / "a.csv")
    assert [row.task for row in given] == ["", ""]
    stove, unknown = with_tasks(given)
    assert (stove.task, stove.s_k, stove.object_type) == ("libero_goal/7", None, "")
    assert unknown.task == ""
    (tmp_path / "b.csv").write_text("task,paraphrase,s_k,s_t\nlibero_goal/7,light the stove,0.5,\n")
    (row,) = with_tasks(read(tmp_path / "b.csv"))
    assert (row.original, row.s_k, row.s_t) == ("turn on the stove", None, None), "one score is none"


@pytest.mark.parametrize("score", ["much", "-0.1", "1.1", "nan"])
def test_a_similarity_that_is_none_is_rejected_with_its_line(score: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"task,paraphrase,s_k,s_t\nlibero_goal/7,light the stove,{score},1\n")
    with pytest.raises(PerturbationError, match=r"a\.csv:2: s_k: '.*' is not a similarity: expected 0 to 1"):
        read(tmp_path / "a.csv")


def test_a_file_that_is_not_text_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(",".join(COLUMNS).encode() + b"\n\xff\xfe,,,,\n")
    with pytest.raises(PerturbationError, match="not a CSV file in UTF-8"):
        read(tmp_path / "a.csv")


HEADER = "task,object_type,action_type,original,paraphrase,s_k,s_t\n"
STOVE = "turn on the stove"
ROWS = (
    f"libero_goal/7,habitual,none,{STOVE},turn on the range,0.6,1.0\n"
    f"libero_goal/7,habitual,none,{STOVE},turn on the cooker,0.8,0.8\n"
    f"libero_goal/7,none,hint,{STOVE},the stove is off,,\n"
)
OFFICIAL = (
    "high,mid,low,eval,batch_idx,new_instruction,original_instruction,structural_similarity,keyword_similarity\n"
    f"obj,lexical,same_polarity_habitual,7,0,turn on the range,{STOVE},1.0,0.6\n"
)


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "table.csv"
    path.write_text(text)
    return path


def test_cells_and_originals_are_counted_and_distances_averaged(tmp_path: Path):
    found = grid_stats(read_grid(written(tmp_path, HEADER + ROWS)))
    renamed, hint = found.cells["habitual", "none"], found.cells["none", "hint"]
    assert (renamed.count, renamed.scored, hint.count, hint.scored) == (2, 2, 1, 0)
    assert (renamed.keyword_distance, renamed.structural_distance) == pytest.approx((0.3, 0.1))
    assert renamed.pd == pytest.approx(0.2) and hint.pd is None
    assert (
        found.originals == {STOVE: 3}
        and found.total(object="habitual") == 2
        and found.total(action="hint") == 1
    )


def test_the_release_s_columns_are_read_as_ours_are(tmp_path: Path):
    (row,) = read_grid(written(tmp_path, OFFICIAL))
    assert row == GridRow(2, "libero_goal/7", "habitual", "none", STOVE, "turn on the range", 0.6, 1.0)
    assert row.pd == pytest.approx(0.2)
