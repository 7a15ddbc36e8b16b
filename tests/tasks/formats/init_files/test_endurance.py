"""What must not take long or much, whatever comes."""

from __future__ import annotations

import pickle
import resource
import struct
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from assay.errors import StateError
from assay.tasks.formats.init_files import MOST_OPCODES, read_states

from .files import ARRAY, Write, array_of, packed, tensor


def bounded(file: Path, *, seconds: int = 4) -> tuple[str, int]:
    """Read a file in a process of its own; returns what it says and the most memory it took, in MB.

    The process is ended when it has computed for too long.
    """
    script = f"""
import resource
from assay.errors import StateError
from assay.tasks.formats.init_files import read_states
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    print(read_states({str(file)!r}).shape)
except StateError as error:
    print(str(error)[:500])
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""
    run = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds)),
        check=False,
    )
    assert run.returncode == 0, f"ended with {run.returncode}: {run.stderr[-200:]}"
    said, megabytes = run.stdout.strip().splitlines()
    return said, int(megabytes)


def doubling(levels: int) -> bytes:
    """Opcodes that leave a tuple of pairs of pairs ... on the stack: 2 ** levels leaves, few bytes."""
    return b"N\x94" + b"".join(b"h%ch%c\x86\x94" % (level, level) for level in range(levels))


def test_many_states_of_many_memories_do_not_take_long(write: Write):
    count = MOST_OPCODES // 3
    said, _ = bounded(write(b"\x80\x04" + b"N\x94" * count + b"b" * (count - 1) + b"."))
    assert "refused" in said


@pytest.mark.parametrize("place", ["name", "shape"])
def test_a_small_pickle_of_a_vast_tuple_does_not_take_long(write: Write, place: str):
    content = {
        "name": doubling(40) + b"\x8c\x01a\x93.",
        "shape": doubling(40) + array_of(shape=b"h\x28"),
    }[place]
    said, _ = bounded(write(b"\x80\x04" + content))
    assert "refused" in said


def test_a_long_pickle_of_deep_tuples_is_refused(write: Write):
    said, _ = bounded(write(b"\x80\x02N" + b"\x85" * 100_000 + b"."))
    assert "refused" in said
    said, _ = bounded(write(b"\x80\x04N" + b"\x85" * 100_000 + b"\x8c\x01a\x93."))
    assert "refused" in said or "not a file" in said


def test_a_member_that_unpacks_to_more_than_it_declares_takes_no_memory(tmp_path: Path):
    packer = zlib.compressobj(wbits=-15)
    block = packer.compress(bytes(2**20)) + packer.flush(zlib.Z_FULL_FLUSH)
    bomb = block * 400 + packer.flush(zlib.Z_FINISH)  # 400 MB of zeros
    raw = bytearray(packed(pickle.dumps(ARRAY, protocol=2), compression=zipfile.ZIP_DEFLATED))
    local = 30 + len("archive/data.pkl")
    directory = raw.index(b"PK\x01\x02")
    (old_size,) = struct.unpack_from("<I", raw, directory + 20)
    struct.pack_into("<I", raw, 18, len(bomb))
    struct.pack_into("<I", raw, directory + 20, len(bomb))
    raw[local : local + old_size] = bomb
    shift = len(bomb) - old_size
    end = raw.rindex(b"PK\x05\x06")
    second = raw.index(b"PK\x01\x02", raw.index(b"PK\x01\x02") + 4)
    for at in (end + 16, second + 42):  # where the directory and the second member are
        struct.pack_into("<I", raw, at, struct.unpack_from("<I", raw, at)[0] + shift)
    file = tmp_path / "bomb.init"
    file.write_bytes(raw)
    said, megabytes = bounded(file)
    assert "not a file of initial states" in said or "refused" in said
    assert megabytes < 200


def survives(file: Path, content: bytes) -> None:
    """Whatever the file holds, reading it gives finite states or a StateError."""
    file.write_bytes(content)
    try:
        states = read_states(file)
    except StateError:
        return
    assert states.ndim == 2 and states.dtype == np.float64 and np.isfinite(states).all()


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz") / "x.init"


@settings(deadline=2000)
@given(content=st.binary(max_size=200))
@example(content=b"\x80\x04\x95")
def test_any_bytes_as_a_pickle_are_survived(content: bytes, scratch: Path):
    survives(scratch, packed(content))


@settings(deadline=2000)
@given(content=st.binary(max_size=200))
def test_any_bytes_as_a_file_are_survived(content: bytes, scratch: Path):
    survives(scratch, content)


OPCODES = [
    *(bytes([each]) for each in b"(.NQRbt)0\x85\x86\x87\x88\x89\x93\x94"),
    b"K\x01",
    b"K\x08",
    b"J\xff\xff\xff\xff",
    b"h\x00",
    b"h\x01",
    b"q\x00",
    b"q\x01",
    b"X\x02\0\0\0f8",
    b"X\x01\0\0\0<",
    b"X\x06\0\0\0latin1",
    b"C\x08\0\0\0\0\0\0\xf0?",
    b"cnumpy\nndarray\n",
    b"cnumpy\ndtype\n",
    b"cnumpy.core.multiarray\n_reconstruct\n",
    b"c_codecs\nencode\n",
    b"ctorch._utils\n_rebuild_tensor_v2\n",
    b"ctorch\nDoubleStorage\n",
    b"X\x07\0\0\0storage",
    b"X\x01\0\0\x000",
    b"K\x00K\x01\x86",
]


@settings(deadline=2000)
@given(opcodes=st.lists(st.sampled_from(OPCODES), max_size=40))
def test_any_sentence_of_opcodes_is_survived(opcodes: list[bytes], scratch: Path):
    survives(scratch, packed(b"\x80\x02" + b"".join(opcodes) + b"."))


changes = st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 255)), min_size=1, max_size=4)


@settings(deadline=2000)
@given(changes=changes, protocol=st.sampled_from([2, 3, 4]))
def test_a_changed_pickle_of_an_array_is_survived(
    changes: list[tuple[int, int]], protocol: int, scratch: Path
):
    content = bytearray(pickle.dumps(ARRAY, protocol=protocol))
    for at, value in changes:
        content[at % len(content)] = value
    survives(scratch, packed(bytes(content)))


@settings(deadline=2000)
@given(changes=changes)
def test_a_changed_pickle_of_a_tensor_is_survived(changes: list[tuple[int, int]], scratch: Path):
    content = bytearray(tensor())
    for at, value in changes:
        content[at % len(content)] = value
    survives(scratch, packed(bytes(content), s0=ARRAY.tobytes()))


@settings(deadline=2000)
@given(
    changes=changes,
    cut=st.none() | st.integers(1, 500),
    compression=st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA]),
)
def test_a_changed_archive_is_survived(
    changes: list[tuple[int, int]], cut: int | None, compression: int, scratch: Path
):
    content = bytearray(packed(pickle.dumps(ARRAY, protocol=2), compression=compression))
    for at, value in changes:
        content[at % len(content)] = value
    survives(scratch, bytes(content[:cut]))
