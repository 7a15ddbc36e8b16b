"""What a file of initial states must never run, and pickles that make no sense."""

from __future__ import annotations

import contextlib
import pickle
from pathlib import Path

import numpy as np
import pytest

from assay.errors import StateError
from assay.tasks.formats.init_files import MOST_OPCODES, read_states

from .files import ARRAY, Write, array_of, refused


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
        pytest.param(b"\x80\x02" + b"N" * (MOST_OPCODES + 1) + b".", id="endless"),
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
