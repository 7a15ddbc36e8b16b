from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from assay.errors import TaskError
from assay.tasks import bddl, load
from assay.tasks.audit import FileProblem, audit

GOOD = bddl.write(load("libero_goal/0")).encode()
BAD = GOOD.replace(b"(:goal", b"(:gaol")


def tar(members: dict[str, bytes], mode: str = "w:", link: str = "") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        if link:
            info = tarfile.TarInfo(link)
            info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
            archive.addfile(info)
    return buffer.getvalue()


def test_files_in_folders_and_archives_are_read_and_links_are_not_followed(tmp_path: Path):
    (tmp_path / "deep/er").mkdir(parents=True)
    (tmp_path / "deep/er/one.bddl").write_bytes(GOOD)
    (tmp_path / "two.BDDL").write_bytes(GOOD)
    (tmp_path / "notes.txt").write_text("not a task")
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "gone.bddl").symlink_to(tmp_path / "nowhere")
    for suffix, mode in {
        "tar": "w:",
        "tar.gz": "w:gz",
        "tgz": "w:gz",
        "tar.bz2": "w:bz2",
        "tar.xz": "w:xz",
    }.items():
        members = {"../../b.bddl": GOOD, "a/readme.md": b"(", "/tmp/c.bddl": GOOD}
        (tmp_path / f"more.{suffix}").write_bytes(tar(members, mode, link="passwords.bddl"))
    before = sorted(tmp_path.parent.rglob("*"))
    result = audit(tmp_path)
    assert (result.files, result.read, result.round_trip) == (12, 12, 12)
    assert result.failures == [] and result.warnings == []
    assert sorted(tmp_path.parent.rglob("*")) == before


def test_failures_name_file_line_and_reason_and_warnings_do_not_fail(tmp_path: Path):
    line = GOOD[: GOOD.index(b"(:goal")].count(b"\n") + 1
    (tmp_path / "bad.bddl").write_bytes(BAD)
    (tmp_path / "odd.bddl").write_bytes(GOOD.replace(b"(:init", b"(:init (Open fridge_1)"))
    (tmp_path / "packed.tar").write_bytes(tar({"x/bad.bddl": BAD, "huge.bddl": b" " * 5_000_001}))
    result = audit(tmp_path)
    reason = "unknown section ':gaol'; did you mean ':goal'?"
    assert result.failures == [
        FileProblem(f"{tmp_path}/bad.bddl", line, reason),
        FileProblem(f"{tmp_path}/packed.tar:x/bad.bddl", line, reason),
        FileProblem(
            f"{tmp_path}/packed.tar:huge.bddl",
            None,
            "is larger than 5,000,000 bytes, so it is not a task file",
        ),
    ]
    assert (result.files, result.read, result.round_trip) == (4, 1, 1)
    assert [warning.file for warning in result.warnings] == [f"{tmp_path}/odd.bddl"]


@pytest.mark.parametrize(
    "content",
    [b"", b"text", tar({"a.bddl": GOOD}, "w:gz")[:200], b"\x1f\x8b" + b"\0" * 99, b"\xfd7zXZ\0" + b"\0" * 99],
)
def test_an_unreadable_archive_is_one_failure(tmp_path: Path, content: bytes):
    (tmp_path / "x.tar.gz").write_bytes(content)
    (tmp_path / "good.bddl").write_bytes(GOOD)
    result = audit(tmp_path)
    assert (result.files, result.round_trip) == (1, 1)
    (failure,) = result.failures
    assert (failure.file, failure.line) == (f"{tmp_path}/x.tar.gz", None) and failure.reason.isprintable()


def test_a_path_without_task_files_is_an_error(tmp_path: Path):
    (tmp_path / "notes.txt").write_text("x")
    for path in ("gone", "", "notes.txt"):
        with pytest.raises(TaskError, match=r"no such file|no \.bddl file found"):
            audit(tmp_path / path)


def test_all_published_task_files_pass(shared: Path):
    for folder, count in (("libero", 130), ("libero_x", 32), ("libero_plus", 12)):
        result = audit(shared / folder)
        assert (result.files, result.read, result.round_trip, result.failures) == (count, count, count, [])
