"""Parquet files of others, read in a child process."""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl
import pytest

from assay.tasks.formats import parquet
from assay.tasks.formats.parquet import read_parquet

TABLE = pl.DataFrame({"index": range(100), "text": ["a"] * 100, "stats/x": [0.5] * 100})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    TABLE.write_parquet(tmp_path / "a.parquet")
    return tmp_path / "a.parquet"


def test_columns_are_selected_by_name_or_by_prefix(file: Path):
    assert read_parquet(file).equals(TABLE)
    assert read_parquet(file.parent / "*.parquet", without="stats/").columns == ["index", "text"]
    assert read_parquet(file, ["text"]).equals(TABLE.select("text"))


def test_a_file_that_makes_polars_panic_or_abort_is_rejected_in_one_line(
    file: Path, capfd: pytest.CaptureFixture[str]
):
    raw = file.read_bytes()
    for place in range(4, 700, 9):
        content = raw[:place] + b"\xff" * 9 + raw[place + 9 :]
        file.write_bytes(content)
        try:
            read_parquet(file)
        except ValueError as error:
            assert "\n" not in str(error)
    file.write_bytes(raw)
    assert read_parquet(file).equals(TABLE), "the reader is replaced after an abort"
    assert capfd.readouterr() == ("", "")


def test_a_table_that_would_not_fit_into_memory_is_rejected(file: Path):
    rows = parquet.MAX_TABLE_BYTES // 8 + 1
    pl.select(index=pl.repeat(0, rows // 8, dtype=pl.Int64)).write_parquet(file)
    assert file.stat().st_size < 2**20
    for number in range(8):  # eight files are one table
        shutil.copy(file, file.with_name(f"b{number}.parquet"))
    file = file.with_name("b*.parquet")
    with pytest.raises(ValueError, match="bytes of memory allowed"):
        read_parquet(file)
