"""What is no archive of initial states."""

from __future__ import annotations

import pickle
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

from assay.tasks.formats.init_files import MOST_BYTES

from .files import ARRAY, packed, refused


def test_a_missing_file_is_named(tmp_path: Path):
    assert "no such file" in refused(tmp_path / "gone.init")


def test_a_folder_is_named(tmp_path: Path):
    assert "folder" in refused(tmp_path)


@pytest.mark.parametrize("content", [b"", b"PK", b"not a zip", pickle.dumps(ARRAY), b"\0" * 4096])
def test_what_is_no_archive_is_refused(tmp_path: Path, content: bytes):
    file = tmp_path / "x.init"
    file.write_bytes(content)
    refused(file)


def test_an_archive_without_a_pickle_is_refused(tmp_path: Path):
    file = tmp_path / "x.init"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/version", "3")
    assert "data.pkl" in refused(file)


def test_an_archive_with_two_pickles_is_refused(tmp_path: Path):
    file = tmp_path / "x.init"
    with zipfile.ZipFile(file, "w") as archive:
        for folder in ("a", "b"):
            archive.writestr(f"{folder}/data.pkl", pickle.dumps(ARRAY, protocol=2))
    refused(file)


def test_an_encrypted_archive_is_refused(tmp_path: Path):
    raw = bytearray(packed(pickle.dumps(ARRAY, protocol=2)))
    raw[6] |= 1
    directory = raw.index(b"PK\x01\x02")
    raw[directory + 8] |= 1
    file = tmp_path / "x.init"
    file.write_bytes(raw)
    refused(file)


@pytest.mark.parametrize("size", [MOST_BYTES + 1, 2**32 - 2])
def test_a_member_that_declares_too_much_is_refused_unread(tmp_path: Path, size: int):
    raw = bytearray(packed(pickle.dumps(ARRAY, protocol=2), compression=zipfile.ZIP_DEFLATED))
    directory = raw.index(b"PK\x01\x02")
    raw[directory + 24 : directory + 28] = struct.pack("<I", size)
    file = tmp_path / "x.init"
    file.write_bytes(raw)
    assert str(size) in refused(file)


@pytest.mark.parametrize("damage", ["deflate", "lzma", "name", "nul"])
def test_a_damaged_archive_is_refused(damage: str, tmp_path: Path):
    file = tmp_path / "x.init"
    if damage == "nul":
        refused(f"{tmp_path}/a\0b.init")
        return
    numbers = pickle.dumps(np.random.default_rng(0).random((40, 40)), protocol=2)
    kinds = {"deflate": zipfile.ZIP_DEFLATED, "lzma": zipfile.ZIP_LZMA, "name": zipfile.ZIP_STORED}
    raw = bytearray(packed(numbers, compression=kinds[damage]))
    if damage == "name":
        directory = raw.index(b"PK\x01\x02")
        raw[directory + 9] |= 0x08  # the name is UTF-8 ...
        raw[directory + 46] = 0xFF  # ... and is not
    else:
        raw[80:200] = bytes(each ^ 0x55 for each in raw[80:200])
    file.write_bytes(raw)
    refused(file)
