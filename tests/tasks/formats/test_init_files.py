"""Stored initial states: sound, damaged and hostile files."""

from __future__ import annotations

import contextlib
import io
import pickle
import resource
import struct
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from assay.errors import StateError
from assay.support.archives import MAX_MEMBER_BYTES
from assay.tasks.formats.init_files import MAX_OPCODES, read_states

ARRAY = np.arange(12, dtype=np.float64).reshape(3, 4) / 7
Write = Callable[..., Path]


def packed(content: bytes, *, compression: int = zipfile.ZIP_STORED, **members: bytes) -> bytes:
    """A zip archive around a pickle, as torch writes them; ``members`` are storages."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression=compression) as archive:
        archive.writestr("archive/data.pkl", content)
        for name, data in members.items():
            archive.writestr(f"archive/data/{name.removeprefix('s')}", data)
        archive.writestr("archive/version", "3\n")
    return buffer.getvalue()


def tensor(
    *,
    kind: str = "DoubleStorage",
    key: str = "0",
    start: int = 0,
    shape: tuple[int, ...] = (3, 4),
    **more: object,
) -> bytes:
    """The pickle of a torch tensor, as protocol 2 has it."""
    strides = more.get("strides", tuple(int(np.prod(shape[axis + 1 :])) for axis in range(len(shape))))

    def tupled(values: object) -> bytes:
        return b"(" + b"".join(b"J" + struct.pack("<i", each) for each in values) + b"t"  # type: ignore[attr-defined]

    def text(value: str) -> bytes:
        return b"X" + struct.pack("<I", len(value)) + value.encode()

    storage = b"(" + text("storage") + f"ctorch\n{kind}\n".encode() + text(key) + text("cpu") + b"K\x0ctQ"
    return (
        b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n("
        + storage
        + b"J"
        + struct.pack("<i", start)
        + tupled(shape)
        + tupled(strides)
        + b"\x89ccollections\nOrderedDict\n)RtR."
    )


def reject(file: Path | str) -> str:
    """Read a file that must be rejected; returns the message."""
    with pytest.raises(StateError) as caught:
        read_states(file)
    assert str(file) in str(caught.value)
    return str(caught.value)


def array_of(shape: bytes) -> bytes:
    """Opcodes of an array whose shape is what the given opcodes leave on the stack."""
    return (
        b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85C\x01b\x87R(K\x01"
        + shape
        + b"cnumpy\ndtype\nX\x02\0\0\0f8\x89\x88\x87R"
        + b"(K\x03X\x01\0\0\0<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
        + b"\x89C\x08\0\0\0\0\0\0\xf0?tb."
    )


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a file of states around a pickle."""

    def written(content: bytes, **options: object) -> Path:
        file = tmp_path / "states.init"
        file.write_bytes(packed(content, **options))  # type: ignore[arg-type]
        return file

    return written


def test_arrays_pickled_by_numpy_are_read_back(write: Write):
    for protocol, dtype, order in product((2, 3, 4, 5), ("<f8", "<f4", "<i8", "<i4", ">f8"), "CF"):
        array = np.array(ARRAY * 100, dtype=dtype, order=order)  # type: ignore[call-overload]
        states = read_states(write(pickle.dumps(array, protocol=protocol)))
        assert states.dtype == np.float64 and states.flags.c_contiguous
        assert np.array_equal(states, array)
    assert read_states(write(pickle.dumps(ARRAY[0], protocol=2))).shape == (1, 4), "one state is one row"
    for compression in (zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        compressed = write(pickle.dumps(ARRAY, protocol=2), compression=compression)
        assert np.array_equal(read_states(compressed), ARRAY)


class TrustingReader(pickle.Unpickler):
    """Python's own way to read a stored array; only for files that we trust."""

    def __init__(self, archive: zipfile.ZipFile, member: str) -> None:
        super().__init__(io.BytesIO(archive.read(member)))
        self._archive, self._folder = archive, member.removesuffix("data.pkl")

    def find_class(self, module: str, name: str) -> object:
        if module == "torch._utils":
            return self.tensor
        return name if module == "torch" else super().find_class(module, name)

    def persistent_load(self, key: tuple[str, ...]) -> np.ndarray:
        assert key[1] == "DoubleStorage"
        return np.frombuffer(self._archive.read(f"{self._folder}data/{key[2]}"))

    @staticmethod
    def tensor(storage: np.ndarray, start: int, shape: tuple[int, ...], *_: object) -> np.ndarray:
        return storage[start : start + int(np.prod(shape))].reshape(shape)


def test_every_published_file_is_read_as_python_reads_it(shared: Path):
    files = [*(shared / "libero/init").rglob("*.pruned_init"), *(shared / "libero_x/init").rglob("*.init")]
    assert len(files) >= 46
    for file in files:
        with zipfile.ZipFile(file) as archive:
            member = next(name for name in archive.namelist() if name.endswith("data.pkl"))
            expected = TrustingReader(archive, member).load()
        states = read_states(file)
        assert states.dtype == np.float64
        assert np.array_equal(states, np.atleast_2d(expected)), file


def test_a_torch_tensor_is_read_from_its_storage(write: Write):
    for kind, dtype in (("DoubleStorage", "<f8"), ("FloatStorage", "<f4"), ("LongStorage", "<i8")):
        data = (ARRAY * 100).astype(dtype)
        assert np.array_equal(read_states(write(tensor(kind=kind), s0=data.tobytes())), data)
    within = write(tensor(start=4, shape=(2, 4)), s0=ARRAY.tobytes())
    assert np.array_equal(read_states(within), ARRAY[1:])


BAD_TENSORS: dict[str, dict[str, Any]] = {
    "a storage outside the storage folder": {"key": "../data.pkl"},
    "a storage outside the archive": {"key": "/etc/passwd"},
    "bytes": {"kind": "UntypedStorage"},
    "larger than its storage": {"shape": (4, 4)},
    "beyond the end": {"start": 1},
    "transposed": {"strides": (1, 3)},
    "repeated": {"strides": (0, 0)},
    "no states": {"shape": (0, 4)},
    "before the beginning": {"start": -4, "shape": (1, 4)},
}


@pytest.mark.parametrize("options", BAD_TENSORS.values(), ids=BAD_TENSORS)
def test_a_tensor_that_does_not_fit_its_storage_is_rejected(write: Write, options: dict[str, Any]):
    reject(write(tensor(**options), s0=ARRAY.tobytes()))


def test_arrays_in_numpy_format_are_read_and_objects_and_text_rejected(tmp_path: Path):
    file = tmp_path / "turn_on_the_stove.pruned_init.npz"
    np.savez(file, states=ARRAY)
    assert np.array_equal(read_states(file), ARRAY)
    for array in (np.array([{}, 1], dtype=object), np.array([["a", "b"]])):
        np.savez(file, states=array)
        reject(file)


@pytest.mark.parametrize("ending", ["init", "pruned_init.npz"])
def test_a_header_that_declares_more_than_the_file_holds_is_rejected(tmp_path: Path, ending: str):
    file = tmp_path / f"a.{ending}"
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1099511627776,)}\n"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("states.npy", b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header)
    with pytest.raises(StateError, match="declares 8796093022208 bytes of numbers but contains 0"):
        read_states(file)


def damage(compression: int, change: Callable[[bytearray, int], None]) -> bytes:
    """An archive changed at the offset of its directory."""
    numbers = pickle.dumps(np.random.default_rng(0).random((40, 40)), protocol=2)
    raw = bytearray(packed(numbers, compression=compression))
    change(raw, raw.index(b"PK\x01\x02"))
    return bytes(raw)


def encrypt(raw: bytearray, directory: int) -> None:
    raw[6] |= 1
    raw[directory + 8] |= 1


def flip(raw: bytearray, directory: int) -> None:
    raw[80:200] = bytes(byte ^ 0x55 for byte in raw[80:200])


def break_name(raw: bytearray, directory: int) -> None:
    raw[directory + 9] |= 0x08  # The name is declared as UTF-8 ...
    raw[directory + 46] = 0xFF  # ... and is not.


def declare(size: int) -> Callable[[bytearray, int], None]:
    return lambda raw, directory: struct.pack_into("<I", raw, directory + 24, size)


FILES: dict[str, tuple[bytes, str]] = {
    "empty": (b"", ""),
    "not an archive": (b"not a zip", ""),
    "a bare pickle": (pickle.dumps(ARRAY), ""),
    "two pickles": (packed(pickle.dumps(ARRAY), **{"s1/data.pkl": pickle.dumps(ARRAY)}), "data.pkl"),
    "encrypted": (damage(zipfile.ZIP_STORED, encrypt), ""),
    "declared too large": (
        damage(zipfile.ZIP_DEFLATED, declare(MAX_MEMBER_BYTES + 1)),
        str(MAX_MEMBER_BYTES + 1),
    ),
    "damaged deflate stream": (damage(zipfile.ZIP_DEFLATED, flip), ""),
    "damaged LZMA stream": (damage(zipfile.ZIP_LZMA, flip), ""),
    "damaged name": (damage(zipfile.ZIP_STORED, break_name), ""),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_not_a_sound_archive_is_rejected(name: str, tmp_path: Path):
    content, reason = FILES[name]
    file = tmp_path / "x.init"
    file.write_bytes(content)
    assert reason in reject(file)


def test_a_path_that_is_not_a_file_is_rejected(tmp_path: Path):
    assert "no such file" in reject(tmp_path / "gone.init")
    assert "folder" in reject(tmp_path)
    reject(f"{tmp_path}/a\0b.init")


class Payload:
    """What runs when it is unpickled: it leaves a file behind."""

    def __init__(self, function: object, *arguments: object) -> None:
        self._call = (function, arguments)

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return self._call


def payloads(trace: Path) -> dict[str, bytes]:
    """Pickles that leave ``trace`` behind when they are run."""
    import os

    touch = f"touch {trace}"
    write = f"open({str(trace)!r}, 'w').close()"
    array = pickle.dumps(ARRAY, protocol=2)
    system = f"cposix\nsystem\n(X{chr(len(touch))}\0\0\0{touch}tR".encode()
    evil_dtype = array.replace(b"cnumpy\ndtype\n", system + b"cnumpy\ndtype\n")
    everything = {
        f"os.system, protocol {protocol}": pickle.dumps(Payload(os.system, touch), protocol=protocol)
        for protocol in range(6)
    }
    return everything | {
        "builtins.exec": pickle.dumps(Payload(exec, write), protocol=4),
        "within the array": evil_dtype,
        "INST": f"(S'{touch}'\niposix\nsystem\n.".encode(),
        "OBJ": f"(cposix\nsystem\nS'{touch}'\no.".encode(),
        "as a persistent id": b"\x80\x02" + system + b"Q.",
        "after the end": array + b"\x80\x02" + system + b".",
    }


@pytest.mark.parametrize("name", payloads(Path("x")))
def test_a_hostile_pickle_is_never_run(name: str, write: Write, tmp_path: Path):
    trace = tmp_path / "trace"
    content = payloads(trace)[name]
    if name == "after the end":
        assert np.array_equal(read_states(write(content)), ARRAY)
    else:
        message = reject(write(content))
        assert name != "os.system, protocol 2" or "posix.system" in message
    assert not trace.exists()
    if name in ("os.system, protocol 2", "builtins.exec", "within the array", "INST"):
        with contextlib.suppress(Exception):
            pickle.loads(content)
        assert trace.exists(), "the payload is not hostile: the test proves nothing"


def changed(old: bytes, new: bytes, protocol: int = 2) -> bytes:
    """The pickle of an array with some bytes replaced."""
    content = pickle.dumps(ARRAY, protocol=protocol)
    assert old in content
    return content.replace(old, new)


BAD_PICKLES = {
    "empty": b"",
    "a memory that was never made": b"\x80\x02h\x05.",
    "a name that is not text": b"\x80\x02cnumpy\n\xff\n.",
    "endless": b"\x80\x02" + b"N" * (MAX_OPCODES + 1) + b".",
    "a shape beyond its numbers": changed(b"K\x03K\x04", b"K\xffK\xff"),
    "a negative shape": changed(b"K\x03K\x04", b"J\xff\xff\xff\xffK\x04"),
    "no states": changed(b"K\x03K\x04", b"K\x00K\x04"),
    "a huge shape": changed(b"K\x03K\x04", b"\x8a\xff" + b"\x7f" * 255 + b"K\x04"),
    "three axes": changed(b"K\x03K\x04\x86", b"K\x02K\x02K\x03\x87"),
    "true as a length": changed(b"K\x03K\x04\x86", b"\x88K\x0c\x86"),
    "objects": changed(b"f8", b"O8"),
    "complex numbers": pickle.dumps(ARRAY.astype(complex), 2),
    "not a number": pickle.dumps(np.where(ARRAY > 1, np.nan, ARRAY), 2),
    "another class": changed(b"numpy\nndarray", b"numpy\nmatrix_"),
    "another codec": changed(b"_codecs\nencode", b"_codecs\ndecode"),
    "cut off": changed(b"\nencode\n", b"\nencode\n")[:-40],
    "two byte orders": changed(b"X\x01\0\0\0<", b"X\x02\0\0\0<>"),
    "a name with line breaks": b"\x80\x04\x8c\x03a\nb\x8c\x03c\nd\x93.",
}


@pytest.mark.parametrize("content", BAD_PICKLES.values(), ids=BAD_PICKLES)
def test_a_pickle_that_is_not_an_array_of_numbers_is_rejected(write: Write, content: bytes):
    reject(write(content))


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


EXPENSIVE = {
    "many states of many memos": b"N\x94" * (MAX_OPCODES // 3) + b"b" * (MAX_OPCODES // 3 - 1) + b".",
    "a vast tuple as a name": doubling(40) + b"\x8c\x01a\x93.",
    "a vast tuple as a shape": doubling(40) + array_of(shape=b"h\x28"),
    "deep tuples as a name": b"N" + b"\x85" * 100_000 + b"\x8c\x01a\x93.",
}


@pytest.mark.parametrize("content", EXPENSIVE.values(), ids=EXPENSIVE)
def test_a_small_pickle_of_a_vast_value_is_rejected_quickly(write: Write, content: bytes):
    assert read_states(write(b"\x80\x04" + array_of(shape=b"K\x01K\x01\x86"))).tolist() == [[1.0]]
    message, _ = bounded(write(b"\x80\x04" + content))
    assert "rejected" in message or "not a file" in message


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
    assert "not a file of initial states" in said or "rejected" in said
    assert megabytes < 200


OPCODES = [
    *(bytes([code]) for code in b"(.NQRbt)0\x85\x86\x87\x88\x89\x93\x94"),
    *(b"K\x01", b"K\x08", b"J\xff\xff\xff\xff", b"h\x00", b"h\x01", b"q\x00", b"q\x01", b"K\x00K\x01\x86"),
    *(b"X\x02\0\0\0f8", b"X\x01\0\0\0<", b"X\x06\0\0\0latin1", b"X\x07\0\0\0storage", b"X\x01\0\0\x000"),
    *(
        b"cnumpy\nndarray\n",
        b"cnumpy\ndtype\n",
        b"cnumpy.core.multiarray\n_reconstruct\n",
        b"c_codecs\nencode\n",
    ),
    *(b"ctorch._utils\n_rebuild_tensor_v2\n", b"ctorch\nDoubleStorage\n", b"C\x08\0\0\0\0\0\0\xf0?"),
]


OPCODE_SEQUENCES = st.lists(st.sampled_from(OPCODES), max_size=40).map(
    lambda opcodes: b"\x80\x02" + b"".join(opcodes) + b"."
)


@settings(deadline=2000)
@given(content=st.binary(max_size=200) | OPCODE_SEQUENCES)
@example(content=b"\x80\x04\x95")
def test_any_bytes_and_any_opcodes_are_read_as_finite_states_or_rejected(
    content: bytes, tmp_path_factory: pytest.TempPathFactory
):
    for number, written in enumerate((packed(content), content)):
        file = tmp_path_factory.getbasetemp() / f"{number}.init"
        file.write_bytes(written)
        with contextlib.suppress(StateError):
            states = read_states(file)
            assert states.ndim == 2 and states.dtype == np.float64 and np.isfinite(states).all()
