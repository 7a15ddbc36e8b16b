from __future__ import annotations

from pathlib import Path

import pytest

from assay.errors import TaskError
from assay.tasks import bddl, load
from assay.tasks.files import FileProblem, audit

GOOD = bddl.write(load("libero_goal/0")).encode()
BAD = GOOD.replace(b"(:goal", b"(:gaol")


def test_files_in_folders_are_read_and_links_to_folders_are_not_followed(tmp_path: Path):
    (tmp_path / "deep/er").mkdir(parents=True)
    (tmp_path / "deep/er/one.bddl").write_bytes(GOOD)
    (tmp_path / "two.BDDL").write_bytes(GOOD)
    (tmp_path / "notes.txt").write_text("not a task")
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "gone.bddl").symlink_to(tmp_path / "nowhere")
    result = audit(tmp_path)
    assert (result.files, result.read, result.round_trip) == (2, 2, 2)
    assert result.failures == [] and result.warnings == []


def test_failures_name_file_line_and_reason_and_warnings_do_not_fail(tmp_path: Path):
    line = GOOD[: GOOD.index(b"(:goal")].count(b"\n") + 1
    (tmp_path / "bad.bddl").write_bytes(BAD)
    (tmp_path / "huge.bddl").write_bytes(b" " * 5_000_001)
    (tmp_path / "odd.bddl").write_bytes(GOOD.replace(b"(:init", b"(:init (Open fridge_1)"))
    result = audit(tmp_path)
    assert result.failures == [
        FileProblem(f"{tmp_path}/bad.bddl", line, "unknown section ':gaol'; did you mean ':goal'?"),
        FileProblem(
            f"{tmp_path}/huge.bddl", None, "the file is larger than 5,000,000 bytes, so it is not a task file"
        ),
    ]
    assert (result.files, result.read, result.round_trip) == (3, 1, 1)
    assert [warning.file for warning in result.warnings] == [f"{tmp_path}/odd.bddl"]


def test_a_path_without_task_files_is_an_error(tmp_path: Path):
    (tmp_path / "notes.txt").write_text("x")
    for path in ("gone", "", "notes.txt"):
        with pytest.raises(TaskError, match=r"no such file|no \.bddl file found"):
            audit(tmp_path / path)


def test_all_published_task_files_pass(shared: Path):
    for folder, count in (("libero", 130), ("libero_x", 32), ("libero_plus", 12)):
        result = audit(shared / folder)
        assert (result.files, result.read, result.round_trip, result.failures) == (count, count, count, [])
