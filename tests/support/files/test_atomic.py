from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from assay.errors import FileError
from assay.support.files import check_writable, making, replacing


def test_what_was_written_takes_the_place_at_the_end(tmp_path: Path):
    path = tmp_path / "new" / "out.csv"
    with replacing(path) as unfinished:
        unfinished.write_text("all of it")
        assert not path.exists()
    assert path.read_text() == "all of it" and list(path.parent.iterdir()) == [path]


def test_what_breaks_off_leaves_what_was_there(tmp_path: Path):
    path = tmp_path / "out.csv"
    path.write_text("before")
    with pytest.raises(KeyboardInterrupt), replacing(path) as unfinished:
        unfinished.write_text("half")
        raise KeyboardInterrupt
    assert path.read_text() == "before" and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("place", ["folder", "file/out.csv"])
def test_a_place_that_cannot_be_written_is_refused_at_once(tmp_path: Path, place: str):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(FileError, match=f"{place} cannot be written: "), replacing(tmp_path / place):
        raise AssertionError("work was done for it")


def test_a_folder_is_there_when_it_is_whole(tmp_path: Path):
    folder = tmp_path / "new" / "set"
    with making(folder, ours={"a"}) as unfinished:
        (unfinished / "a").touch()
        assert not folder.exists()
    assert [each.name for each in folder.iterdir()] == ["a"] and list(folder.parent.iterdir()) == [folder]
    with pytest.raises(FileError, match="is not empty; choose another"), making(folder, ours={"a"}):
        raise AssertionError("work was done for it")


def test_a_folder_that_breaks_off_is_gone_and_an_empty_one_is_taken(tmp_path: Path):
    (tmp_path / "set").mkdir()
    with pytest.raises(KeyboardInterrupt), making(tmp_path / "set", ours={"a"}) as unfinished:
        (unfinished / "a").touch()
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == [tmp_path / "set"] and not list((tmp_path / "set").iterdir())


def test_only_what_an_earlier_one_left_is_taken_away(tmp_path: Path):
    left = tmp_path / "set.part"
    left.mkdir()
    (left / "a").write_text("half")
    with making(tmp_path / "set", ours={"a"}) as unfinished:
        assert not list(unfinished.iterdir())
    (tmp_path / "set").rename(tmp_path / "done")
    left.mkdir()
    (left / "thesis.txt").touch()
    with (
        pytest.raises(FileError, match="was not left by an interrupted command"),
        making(tmp_path / "set", ours={"a"}),
    ):
        raise AssertionError("work was done for it")
    assert (left / "thesis.txt").exists()


def test_links_pipes_and_rights_stay(tmp_path: Path):
    file, link, pipe = (tmp_path / name for name in ("file", "link", "pipe"))
    file.touch(mode=0o600)
    link.symlink_to(file)
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    for path in (link, pipe):
        with replacing(path) as unfinished:
            unfinished.write_text("all of it")
    assert os.read(reader, 100) == b"all of it" and pipe.is_fifo()
    os.close(reader)
    assert link.is_symlink() and file.read_text() == "all of it" and file.stat().st_mode & 0o777 == 0o600
    assert {each.name for each in tmp_path.iterdir()} == {"file", "link", "pipe"}


def test_a_run_is_not_replaced_by_something_else(tmp_path: Path):
    with sqlite3.connect(tmp_path / "run.assay") as made:
        made.execute("CREATE TABLE a(b)")
    before = (tmp_path / "run.assay").read_bytes()
    with pytest.raises(FileError, match="it is a run"), replacing(tmp_path / "run.assay"):
        raise AssertionError("nothing is begun")
    assert (tmp_path / "run.assay").read_bytes() == before
    with replacing(tmp_path / "run.assay", database=True) as unfinished:
        unfinished.write_bytes(before)


def test_what_cannot_be_written_is_told_before_the_work_and_nothing_is_made(tmp_path: Path):
    file = tmp_path / "file"
    file.touch()
    check_writable(file)
    check_writable(tmp_path / "new" / "out.csv")
    check_writable(tmp_path / "new", folder=True)
    for path, folder in (
        (tmp_path, False),
        (file, True),
        (file / "out.csv", False),
        (file / "new", True),
        (Path("/proc/x"), True),
    ):
        with pytest.raises(FileError, match="cannot be written"):
            check_writable(path, folder=folder)
    assert list(tmp_path.iterdir()) == [file]
