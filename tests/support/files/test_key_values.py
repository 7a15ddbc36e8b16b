from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from assay.support.files import KeyValues


def opened(file: Path, **options: bool) -> KeyValues:
    return KeyValues(file, "things", ("room", "name"), ("size", "about"), **options)


@pytest.mark.parametrize("wal", [True, False])
def test_what_is_put_is_there_for_the_next(tmp_path: Path, wal: bool):
    file = tmp_path / "new" / "things"
    with closing(opened(file, wal=wal)) as one, closing(opened(file, wal=wal)) as two:
        assert one.get("kitchen", "bowl") is None
        one.put("kitchen", "bowl", 0.1, "red")
        two.put("kitchen", "bowl", 0.2, "blue")
        two.put_all([("study", "mug", 0.3, ""), ("study", "book", 0.4, "")])
        assert one.get("kitchen", "bowl") == (0.2, "blue")
    with closing(opened(file, wal=wal)) as again:
        assert again.get("study", "book") == (0.4, "") and again.get("study", "bowl") is None


def test_of_rows_that_are_kept_together_all_are_kept_or_none(tmp_path: Path):
    with closing(opened(tmp_path / "things")) as rows:
        with pytest.raises(sqlite3.Error):
            rows.put_all([("study", "mug", 0.3, ""), ("too", "few")])
        assert rows.get("study", "mug") is None
        rows.put("study", "mug", 0.3, "")


def test_a_table_that_was_made_otherwise_is_read_as_it_is(tmp_path: Path):
    with closing(sqlite3.connect(tmp_path / "things")) as old, old:
        old.execute(
            "CREATE TABLE things (room TEXT, name TEXT, size REAL NOT NULL, about TEXT NOT NULL, "
            "PRIMARY KEY (room, name)) WITHOUT ROWID"
        )
        old.execute("INSERT INTO things VALUES ('study', 'mug', 0.3, 'old')")
    with closing(opened(tmp_path / "things")) as rows:
        rows.put("study", "book", 1, "new")
        assert rows.get("study", "mug") == (0.3, "old") and rows.get("study", "book") == (1.0, "new")


def test_what_is_something_else_is_an_error_at_once(tmp_path: Path):
    (tmp_path / "notes").write_text("something else, and long enough that it is clear at once")
    with pytest.raises(sqlite3.DatabaseError):
        opened(tmp_path / "notes")
    with pytest.raises(OSError):
        opened(tmp_path / "notes" / "things")
