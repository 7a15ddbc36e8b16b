"""Parquet files of others, read in a child process."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from assay.tasks.formats import parquet
from assay.tasks.formats.parquet import read_parquet

TABLE = pl.DataFrame({"index": range(100), "text": ["a"] * 100})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    TABLE.write_parquet(tmp_path / "a.parquet")
    return tmp_path / "a.parquet"


def test_all_or_some_columns_of_one_or_several_files_are_read(file: Path):
    assert read_parquet(file).equals(read_parquet(file.parent / "*.parquet")) and read_parquet(file).equals(
        TABLE
    )
    assert read_parquet(file, ["text"]).equals(TABLE.select("text"))


def test_a_file_that_makes_polars_panic_or_abort_is_rejected_in_one_line(
    file: Path, capfd: pytest.CaptureFixture[str]
):
    raw = file.read_bytes()
    for place in range(220, 450):  # the headers of pages
        file.write_bytes(raw[:place] + b"\xff" + raw[place + 1 :])
        try:
            read_parquet(file)
        except ValueError as error:
            assert "\n" not in str(error)
    file.write_bytes(raw)
    assert read_parquet(file).equals(TABLE), "the reader is replaced after an abort"
    assert capfd.readouterr() == ("", "")


def test_a_table_that_would_not_fit_into_memory_is_rejected(file: Path, monkeypatch: pytest.MonkeyPatch):
    pl.select(index=pl.repeat(0, 100_000, dtype=pl.Int64)).write_parquet(file)
    assert file.stat().st_size < 10_000
    monkeypatch.setattr(parquet, "MAX_TABLE_BYTES", 700_000)
    with pytest.raises(ValueError, match="more than the 700000 bytes of memory allowed"):
        read_parquet(file)
