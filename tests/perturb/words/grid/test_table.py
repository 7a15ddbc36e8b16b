from __future__ import annotations

from pathlib import Path

import pytest

from assay import tasks
from assay.errors import PerturbationError
from assay.perturb.words.grid.generate import grid
from assay.perturb.words.grid.table import COLUMNS, read, write


def test_what_is_written_is_read(tmp_path: Path) -> None:
    made = grid(tasks.suite("libero_10"), 2, 0)
    write(made, tmp_path / "new" / "grid.csv")
    rows = read(tmp_path / "new" / "grid.csv")
    assert [(row.task, row.paraphrase) for row in rows] == [(each.task.id, each.text) for each in made]
    assert [row.line for row in rows] == list(range(2, len(made) + 2))


def test_a_file_without_the_columns_is_refused_with_their_names(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("task,paraphrase\nx,y\n")
    with pytest.raises(
        PerturbationError, match="lacks the columns object_type, action_type, original"
    ) as refused:
        read(tmp_path / "a.csv")
    assert ", ".join(COLUMNS) in str(refused.value)
    (tmp_path / "b.csv").write_text("")
    with pytest.raises(PerturbationError, match="lacks the columns"):
        read(tmp_path / "b.csv")


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(",".join(COLUMNS).encode() + b"\n\xff\xfe,,,,\n")
    with pytest.raises(PerturbationError, match="no CSV file in UTF-8"):
        read(tmp_path / "a.csv")


def test_short_rows_are_read_as_empty_fields(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(",".join(COLUMNS) + "\nlibero_goal/1\n")
    (row,) = read(tmp_path / "a.csv")
    assert (row.task, row.paraphrase) == ("libero_goal/1", "")
