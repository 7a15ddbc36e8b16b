"""Archives of arrays whose declared sizes cannot be trusted."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from assay.support import archives
from assay.support.archives import read_npy, read_npz


def npy(header: str, content: bytes = bytes(96)) -> bytes:
    """An array in numpy's format with this header."""
    return b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header.encode() + content


@pytest.mark.parametrize("shape", ["(3, 4)", "(12,)", "()"])
def test_arrays_are_read(shape: str):
    array = read_npy(npy(f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}}}"))
    assert array.dtype == np.float64 and not array.any()


@pytest.mark.parametrize(
    ("descr", "shape"),
    [
        ("'<f8'", "(1099511627776,)"),
        ("'<f8'", "(13,)"),
        ("'<f8'", f"(1{'0' * 4000},)"),
        ("'<f8'", "(-1,)"),
        ("'|V0'", "(1099511627776,)"),
        ("'|S1073741824'", "(1,)"),
        ("'(100000000,)f8'", "(1,)"),
        ("'(10'", "(1,)"),
        ("5", "(1,)"),
        ("'|O'", "(1,)"),
        ("'<f8'", "(" * 90),
    ],
)
def test_headers_with_impossible_or_invalid_claims_are_rejected(descr: str, shape: str):
    with pytest.raises(ValueError, match=r"declares|header|shape|allow_pickle|descr"):
        read_npy(npy(f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}"))


def test_only_requested_arrays_are_unpacked_and_their_total_is_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    file = tmp_path / "a.npz"
    np.savez_compressed(file, a=np.arange(3), b=np.zeros(1000))
    assert [*read_npz(file)] == ["a", "b"]
    monkeypatch.setattr(archives, "MAX_ARCHIVE_BYTES", 4000)
    assert read_npz(file, "a")["a"].tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="more than the 4000 bytes allowed"):
        read_npz(file)
    monkeypatch.setattr(archives, "MAX_MEMBER_BYTES", 100)
    with pytest.raises(ValueError, match="more than the 100 allowed"):
        read_npz(file, "a")


def test_a_damaged_archive_is_a_value_error(tmp_path: Path):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", npy("x" * 500))
    raw = bytearray(buffer.getvalue())
    raw[40:60] = bytes(20)
    for content in (bytes(raw), b"text"):
        (tmp_path / "a.npz").write_bytes(content)
        with pytest.raises(ValueError, match=r"\w"):
            read_npz(tmp_path / "a.npz")
