from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path

import pytest

from assay.errors import TaskError
from assay.tasks import audit as archives
from assay.tasks import bddl, load
from assay.tasks.audit import Finding, audit

GOOD = bddl.write(load("libero_goal/0")).encode()
BAD = GOOD.replace(b"(:goal", b"(:gaol")


def tar(members: dict[str, bytes], mode: str) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def test_files_folders_and_archives_are_all_read(tmp_path: Path):
    (tmp_path / "deep/er").mkdir(parents=True)
    (tmp_path / "deep/er/one.bddl").write_bytes(GOOD)
    (tmp_path / "two.BDDL").write_bytes(GOOD)
    (tmp_path / "notes.txt").write_text("not a task")
    for ending, mode in {
        "tar": "w:",
        "tar.gz": "w:gz",
        "tgz": "w:gz",
        "tar.bz2": "w:bz2",
        "tar.xz": "w:xz",
    }.items():
        (tmp_path / f"more.{ending}").write_bytes(
            tar({"a/b.bddl": GOOD, "a/readme.md": b"(", "c.bddl": GOOD}, mode)
        )
    result = audit(tmp_path)
    assert (result.files, result.read, result.round_trip) == (12, 12, 12)
    assert result.failures == [] and result.warnings == []


def test_failures_name_file_line_and_reason(tmp_path: Path):
    line = GOOD[: GOOD.index(b"(:goal")].count(b"\n") + 1
    (tmp_path / "bad.bddl").write_bytes(BAD)
    (tmp_path / "good.bddl").write_bytes(GOOD)
    (tmp_path / "packed.tar").write_bytes(tar({"x/bad.bddl": BAD, "huge.bddl": b" " * 5_000_001}, "w:"))
    result = audit(tmp_path)
    reason = "unknown section ':gaol'; did you mean ':goal'?"
    assert result.failures == [
        Finding(f"{tmp_path}/bad.bddl", line, reason),
        Finding(f"{tmp_path}/packed.tar:x/bad.bddl", line, reason),
        Finding(f"{tmp_path}/packed.tar:huge.bddl", None, "is larger than 5,000,000 bytes: not a task file"),
    ]
    assert (result.files, result.read, result.round_trip) == (4, 1, 1)


def test_warnings_do_not_fail_a_file(tmp_path: Path):
    file = tmp_path / "odd.bddl"
    file.write_bytes(GOOD.replace(b"(:init", b"(:init (Open fridge_1)"))
    result = audit(file)
    assert (result.files, result.read, result.round_trip, result.failures) == (1, 1, 1, [])
    assert [warning.reason for warning in result.warnings] == [
        "'Open fridge_1' has no effect: nothing it names is in the scene"
    ]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "cannot be read as a tar archive"),
        (b"not an archive", "cannot be read as a tar archive"),
        (tar({"a.bddl": GOOD}, "w:gz")[:200], "cannot be read as a tar archive"),
        (b"\x1f\x8b" + b"\0" * 100, "cannot be read as a tar archive"),
        (b"\xfd7zXZ\0" + b"\0" * 100, "cannot be read as a tar archive"),
        (b"\x28\xb5\x2f\xfd" + b"\0" * 100, "is packed with zstd, which is not supported: unpack it first"),
    ],
    ids=["empty", "text", "cut off", "gzip", "xz", "zstd"],
)
def test_an_archive_that_cannot_be_read_is_one_failure(tmp_path: Path, content: bytes, reason: str):
    (tmp_path / "x.tar.gz").write_bytes(content)
    (tmp_path / "good.bddl").write_bytes(GOOD)
    result = audit(tmp_path)
    assert (result.files, result.round_trip) == (1, 1)
    (failure,) = result.failures
    assert (failure.file, failure.line) == (f"{tmp_path}/x.tar.gz", None)
    assert failure.reason.startswith(reason) and failure.reason.isprintable()


def test_an_archive_never_writes_outside_itself(tmp_path: Path):
    packed = tmp_path / "in/evil.tar"
    packed.parent.mkdir()
    packed.write_bytes(tar({"../../escaped.bddl": GOOD, "/tmp/absolute.bddl": GOOD}, "w:"))
    before = sorted(tmp_path.rglob("*"))
    assert audit(packed).round_trip == 2
    assert sorted(tmp_path.rglob("*")) == before


def test_links_in_an_archive_are_not_followed(tmp_path: Path):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:") as archive:
        link = tarfile.TarInfo("passwords.bddl")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
        info = tarfile.TarInfo("good.bddl")
        info.size = len(GOOD)
        archive.addfile(info, io.BytesIO(GOOD))
    (tmp_path / "x.tar").write_bytes(buffer.getvalue())
    assert audit(tmp_path).files == 1


def test_an_archive_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(archives, "MAX_UNPACKED", 50_000_000)
    bomb = tmp_path / "bomb.tar.gz"
    big = tarfile.TarInfo("zeros.bin")
    big.size = 60_000_000
    with gzip.open(bomb, "wb", compresslevel=1) as stream:
        stream.write(big.tobuf())
        stream.write(b"\0" * big.size)
        stream.write(tar({"late.bddl": GOOD}, "w:"))
    (failure,) = audit(bomb).failures
    assert failure.reason == "unpacks to more than 50,000,000 bytes"


def test_a_header_that_would_fill_the_memory_is_refused(tmp_path: Path):
    name = tarfile.TarInfo("././@LongLink")
    name.type, name.size = tarfile.GNUTYPE_LONGNAME, 4_000_000_000
    (tmp_path / "x.tar").write_bytes(name.tobuf() + b"\0" * 10_000)
    (failure,) = audit(tmp_path).failures
    assert failure.reason == "has a header that is too large"


def test_a_folder_that_contains_itself_is_read_once(tmp_path: Path):
    (tmp_path / "good.bddl").write_bytes(GOOD)
    (tmp_path / "loop").symlink_to(tmp_path)
    assert audit(tmp_path).files == 1


def test_a_broken_link_is_not_a_file(tmp_path: Path):
    (tmp_path / "good.bddl").write_bytes(GOOD)
    (tmp_path / "gone.bddl").symlink_to(tmp_path / "nowhere")
    assert audit(tmp_path).files == 1


def test_nothing_to_read_is_an_error(tmp_path: Path):
    with pytest.raises(TaskError, match=r"gone: there is no such file or folder"):
        audit(tmp_path / "gone")
    with pytest.raises(TaskError, match=r"no \.bddl file there"):
        audit(tmp_path)
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(TaskError, match=r"notes\.txt: no \.bddl file there"):
        audit(tmp_path / "notes.txt")


@pytest.mark.parametrize(("folder", "count"), [("libero", 130), ("libero_x", 32), ("libero_plus", 12)])
def test_everything_published_passes(shared: Path, folder: str, count: int):
    result = audit(shared / folder)
    assert (result.files, result.read, result.round_trip, result.failures) == (count, count, count, [])
