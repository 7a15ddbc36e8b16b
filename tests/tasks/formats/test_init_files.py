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
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from assay.errors import StateError
from assay.tasks.formats.init_files import MAX_MEMBER_BYTES, MAX_OPCODES, read_states

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


def refused(file: Path | str) -> str:
    """Read a file that must be refused; returns the message."""
    with pytest.raises(StateError) as caught:
        read_states(file)
    message = str(caught.value)
    assert "\n" not in message and str(file) in message
    return message


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


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("kind", ["<f8", "<f4", "<i8", "<i4", ">f8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_what_numpy_pickles_is_read_back(write: Write, protocol: int, kind: str, order: str):
    array = np.array(ARRAY * 100, dtype=kind, order=order)  # type: ignore[call-overload]
    states = read_states(write(pickle.dumps(array, protocol=protocol)))
    assert states.dtype == np.float64 and states.flags.c_contiguous
    assert np.array_equal(states, array)


def test_one_state_is_a_table_of_one_row(write: Write):
    assert read_states(write(pickle.dumps(ARRAY[0], protocol=2))).shape == (1, 4)


@pytest.mark.parametrize(
    "compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
)
def test_compression_makes_no_difference(write: Write, compression: int):
    try:
        states = read_states(write(pickle.dumps(ARRAY, protocol=2), compression=compression))
    except StateError:
        assert compression not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
    else:
        assert np.array_equal(states, ARRAY)


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


@pytest.mark.parametrize(
    ("kind", "dtype"), [("DoubleStorage", "<f8"), ("FloatStorage", "<f4"), ("LongStorage", "<i8")]
)
def test_a_torch_tensor_is_read_from_its_storage(write: Write, kind: str, dtype: str):
    data = (ARRAY * 100).astype(dtype)
    file = write(tensor(kind=kind), s0=data.tobytes())
    assert np.array_equal(read_states(file), data)


def test_a_torch_tensor_may_begin_within_its_storage(write: Write):
    file = write(tensor(start=4, shape=(2, 4)), s0=ARRAY.tobytes())
    assert np.array_equal(read_states(file), ARRAY[1:])


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(tensor(key="1"), id="no such storage"),
        pytest.param(tensor(key="../data.pkl"), id="a storage beside the others"),
        pytest.param(tensor(key="/etc/passwd"), id="a storage outside of the archive"),
        pytest.param(tensor(key="../../../../../../etc/passwd"), id="a storage above the archive"),
        pytest.param(tensor(kind="UntypedStorage"), id="bytes"),
        pytest.param(tensor(kind="ComplexDoubleStorage"), id="complex numbers"),
        pytest.param(tensor(shape=(4, 4)), id="more than there is"),
        pytest.param(tensor(start=1), id="beyond the end"),
        pytest.param(tensor(start=2**30), id="far beyond the end"),
        pytest.param(tensor(strides=(1, 3)), id="transposed"),
        pytest.param(tensor(strides=(0, 0)), id="repeated"),
        pytest.param(tensor(shape=(2**31 - 1, 2**31 - 1)), id="huge"),
        pytest.param(tensor(shape=(-3, -4)), id="negative"),
        pytest.param(tensor(shape=(0, 4)), id="no states"),
        pytest.param(tensor(shape=()), id="one number"),
        pytest.param(tensor(shape=(1, 3, 4)), id="three axes"),
        pytest.param(tensor(start=-4, shape=(1, 4)), id="before the beginning"),
    ],
)
def test_a_tensor_that_does_not_fit_its_storage_is_refused(write: Write, content: bytes):
    refused(write(content, s0=ARRAY.tobytes()))


def test_an_array_in_numpys_own_format_is_read_too(tmp_path: Path):
    file = tmp_path / "turn_on_the_stove.pruned_init.npz"
    np.savez(file, states=ARRAY)
    assert np.array_equal(read_states(file), ARRAY)


def test_objects_and_words_in_numpys_format_are_refused(tmp_path: Path):
    for number, array in enumerate((np.array([{}, 1], dtype=object), np.array([["a", "b"]]))):
        file = tmp_path / f"{number}.npz"
        np.savez(file, states=array)
        with pytest.raises(StateError, match=r"npz: (not a file of initial states|refused): "):
            read_states(file)


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


@pytest.mark.parametrize("size", [MAX_MEMBER_BYTES + 1, 2**32 - 2])
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
        "builtins.eval": pickle.dumps(Payload(eval, write), protocol=2),
        "nested in a tuple": pickle.dumps((ARRAY, (1, Payload(os.system, touch))), protocol=2),
        "in an array of objects": pickle.dumps(
            np.array([Payload(os.system, touch)], dtype=object), protocol=2
        ),
        "before the array": b"\x80\x02" + system + b"0" + array[2:],
        "on the stack below the array": b"\x80\x02" + system + array[2:],
        "within the array": evil_dtype,
        "INST": f"(S'{touch}'\niposix\nsystem\n.".encode(),
        "OBJ": f"(cposix\nsystem\nS'{touch}'\no.".encode(),
        "as a persistent id": b"\x80\x02" + system + b"Q.",
        "after the end": array + b"\x80\x02" + system + b".",
        "in a dictionary": pickle.dumps({"state": Payload(os.system, touch)}, protocol=4),
    }


@pytest.mark.parametrize("name", payloads(Path("x")))
def test_a_hostile_pickle_is_never_run(name: str, write: Write, tmp_path: Path):
    trace = tmp_path / "trace"
    content = payloads(trace)[name]
    if name == "after the end":
        assert np.array_equal(read_states(write(content)), ARRAY)
    elif name == "on the stack below the array":
        with contextlib.suppress(StateError):  # nobody looks below: either way is safe
            assert np.array_equal(read_states(write(content)), ARRAY)
    else:
        refused(write(content))
    assert not trace.exists()


@pytest.mark.parametrize("name", ["os.system, protocol 2", "builtins.exec", "within the array", "INST"])
def test_the_hostile_pickles_are_hostile(name: str, tmp_path: Path):
    trace = tmp_path / "trace"
    content = payloads(trace)[name]
    try:
        pickle.loads(content)
    except Exception as error:
        assert trace.exists(), error
    assert trace.exists()


def test_the_message_names_what_a_hostile_pickle_wants(write: Write, tmp_path: Path):
    message = refused(write(payloads(tmp_path / "trace")["os.system, protocol 2"]))
    assert "posix.system" in message or "nt.system" in message


def test_a_name_with_line_breaks_is_one_line(write: Write):
    refused(write(b"\x80\x04\x8c\x03a\nb\x8c\x03c\nd\x93."))


def changed(old: bytes, new: bytes, protocol: int = 2) -> bytes:
    """The pickle of an array with some bytes replaced."""
    content = pickle.dumps(ARRAY, protocol=protocol)
    assert old in content
    return content.replace(old, new)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b".", id="only an end"),
        pytest.param(b"\x80\x02N.", id="none"),
        pytest.param(b"\x80\x02K\x01.", id="a number"),
        pytest.param(b"\x80\x02t.", id="a tuple without its mark"),
        pytest.param(b"\x80\x02h\x05.", id="a memory that was never made"),
        pytest.param(b"\x80\x02q\x05.", id="nothing to remember"),
        pytest.param(b"\x80\x04\x94.", id="nothing to memoize"),
        pytest.param(b"\x80\x02R.", id="a call of nothing"),
        pytest.param(b"\x80\x02b.", id="a state of nothing"),
        pytest.param(b"\x80\x02Q.", id="a persistent id of nothing"),
        pytest.param(b"\x80\x04\x93.", id="a name of nothing"),
        pytest.param(b"\x80\x02\x86.", id="a pair of nothing"),
        pytest.param(b"\x80\x02(.", id="a mark"),
        pytest.param(b"\xff\xff\xff", id="no opcodes"),
        pytest.param(b"\x80\x02cnumpy\n\xff\n.", id="a name that is not text"),
        pytest.param(b"\x80\x02" + b"N" * (MAX_OPCODES + 1) + b".", id="endless"),
        pytest.param(changed(b"K\x03K\x04", b"K\xffK\xff"), id="a shape beyond its numbers"),
        pytest.param(changed(b"K\x03K\x04", b"J\xff\xff\xff\xffK\x04"), id="a negative shape"),
        pytest.param(changed(b"K\x03K\x04", b"K\x00K\x04"), id="no states"),
        pytest.param(changed(b"K\x03K\x04", b"\x8a\xff" + b"\x7f" * 255 + b"K\x04"), id="a huge shape"),
        pytest.param(changed(b"K\x03K\x04\x86", b"K\x02K\x02K\x03\x87"), id="three axes"),
        pytest.param(changed(b"K\x03K\x04\x86", b")"), id="no axes"),
        pytest.param(changed(b"K\x03K\x04\x86", b"\x88K\x0c\x86"), id="true as a length"),
        pytest.param(changed(b"f8", b"O8"), id="objects"),
        pytest.param(changed(b"f8", b"V8"), id="void"),
        pytest.param(changed(b"f8", b"S8"), id="strings"),
        pytest.param(changed(b"f8", b"M8"), id="dates"),
        pytest.param(pickle.dumps(ARRAY.astype(complex), 2), id="complex numbers"),
        pytest.param(pickle.dumps(ARRAY > 0, 2), id="truth values"),
        pytest.param(pickle.dumps(np.where(ARRAY > 1, np.nan, ARRAY), 2), id="not a number"),
        pytest.param(pickle.dumps(np.where(ARRAY > 1, np.inf, ARRAY), 2), id="infinity"),
        pytest.param(pickle.dumps(ARRAY.tolist(), 2), id="lists"),
        pytest.param(pickle.dumps(ARRAY[0, 0], 2), id="one numpy number"),
        pytest.param(pickle.dumps(np.ma.masked_array(ARRAY), 2), id="a masked array"),
        pytest.param(pickle.dumps(np.rec.array([(1, 2.0)]), 2), id="a record array"),
        pytest.param(changed(b"numpy\nndarray", b"numpy\nmatrix_"), id="another class"),
        pytest.param(changed(b"_codecs\nencode", b"_codecs\ndecode"), id="another codec"),
        pytest.param(changed(b"\nencode\n", b"\nencode\n", 2)[:-40], id="cut off"),
        pytest.param(
            changed(b"X\x01\0\0\0<", b"X\x02\0\0\0<>"),
            id="two byte orders",
        ),
    ],
)
def test_a_pickle_that_is_no_array_is_refused(write: Write, content: bytes):
    refused(write(content))


def test_the_arrays_of_this_file_are_arrays(write: Write):
    assert read_states(write(b"\x80\x04" + array_of(shape=b"K\x01K\x01\x86"))).tolist() == [[1.0]]


def test_text_in_place_of_bytes_is_refused(write: Write):
    content = pickle.dumps(np.full((1, 1), 1.0), protocol=2)
    number = "".join(map(chr, np.float64(1.0).tobytes())).encode()
    assert number in content
    refused(write(content.replace(b"X\x09\0\0\0" + number[:1], b"X\x09\0\0\0\xe2"[:6])))


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
    count = MAX_OPCODES // 3
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
