from __future__ import annotations

import pickle
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from PIL import Image

from assay.policies.remote import codec

LARGEST = 2**20
NUMBERS = st.one_of(
    arrays.boolean_dtypes(),
    arrays.integer_dtypes(endianness="?"),
    arrays.unsigned_integer_dtypes(endianness="?"),
    arrays.floating_dtypes(endianness="?"),
)
ARRAYS = arrays.arrays(NUMBERS, arrays.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4))
MESSAGES = {
    "observation/image": np.arange(48, dtype=np.uint8).reshape(4, 4, 3),
    "observation/state": np.linspace(-1.0, 1.0, 8),
    "prompt": "put the bowl on the stove, tout à fait",
    "scalars": [np.float32(0.5), np.int64(-3), np.bool_(True), 1.5, None, False, b"raw"],
    "nested": {"empty": np.zeros((0, 7), dtype=">f4"), "point": np.array(3, dtype="<i2")},
}


def same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray | np.generic):
        return (
            isinstance(other, np.ndarray | np.generic)
            and one.dtype == other.dtype
            and one.shape == other.shape
            and one.tobytes() == other.tobytes()
        )
    return bool(one == other)


@given(ARRAYS)
def test_arrays_survive_a_round_trip(array: np.ndarray):
    for encode in (codec.encode_openpi, codec.encode_vla_eval):
        assert same(codec.decode(encode({"a": [array]}), max_bytes=LARGEST)["a"][0], array)


def test_our_bytes_are_those_of_the_real_openpi_client(
    openpi_python: Path, peer: Callable[..., str], tmp_path: Path
):
    ours = codec.encode_openpi(MESSAGES)
    (tmp_path / "ours").write_bytes(ours)
    peer(openpi_python, "openpi_peer.py", "repack", tmp_path / "ours", tmp_path / "theirs")
    theirs = (tmp_path / "theirs").read_bytes()
    assert theirs == ours
    read = codec.decode(theirs, max_bytes=LARGEST)
    assert all(same(read[key], MESSAGES[key]) for key in ("observation/image", "observation/state", "prompt"))
    assert all(map(same, read["scalars"], MESSAGES["scalars"]))


def array(**changes: object) -> bytes:
    good: dict[str, object] = {"__ndarray__": True, "data": bytes(56), "dtype": "<f8", "shape": [1, 7]}
    return bytes(msgpack.packb({"actions": good | changes}))


def test_invalid_messages_are_rejected_with_the_reason():
    for data, words in (
        (b"\xc1", "not msgpack"),
        (b"\xdd\xff\xff\xff\xff", "not msgpack"),
        (b"\x91" * 500 + b"\x90", "nested more than 16 levels deep"),
        (bytes(LARGEST + 1), "the limit of 1,048,576 bytes"),
        (b"\xdd\x00\x0f\x00\x00" + b"\x90" * 0xF0000, "not msgpack"),
        (b"\x9f" + (b"\xdc\xff\xff" + b"\x90" * 0xFFFF) * 15, "more than 100,000 items"),
        (msgpack.packb({"a": msgpack.ExtType(5, b"x")}), "is not supported"),
        (array(dtype="|O"), "only numbers are supported"),
        (array(dtype="(1000000000,)f8"), "only numbers are supported"),
        (array(dtype="f3"), "does not exist"),
        (array(shape=[2, 7]), "112 bytes (float64 (2, 7)), not 56 bytes"),
        (array(shape=[-1, 7]), "non-negative integers"),
        (array(shape=[0, 2**62, 2**62], data=b""), "an array of shape"),
        (array(shape=[2**60, 7]), "64,563,604,257,983,430,656 bytes"),
        (array(data="text"), "not a str"),
        (msgpack.packb({"__ndarray__": True}), "has no 'data'"),
        (msgpack.packb({b"__npgeneric__": True, b"data": 300, b"dtype": "|u1"}), "does not fit uint8"),
    ):
        with pytest.raises(codec.CodecError) as caught:
            codec.decode(data, max_bytes=LARGEST)
        assert words in str(caught.value)


def test_invalid_json_is_rejected_before_it_fills_memory():
    for data, words in (
        (b"[" + b"{}," * 100_000 + b"{}]", "more than 100,000 items"),
        (b"[" * 20, "not JSON"),
        (b'{"__numpy__": "", "dtype": "f8", "shape": [1' + b"0" * 4000 + b"]}", "non-negative integers"),
        (b'{"__numpy__": "AAAA", "dtype": "f8", "shape": [1000000000]}', "8,000,000,000 bytes"),
    ):
        with pytest.raises(codec.CodecError, match=words):
            codec.decode_json(data)


class Marker:
    """An object that creates a file if it is unpickled."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.file,)


def test_pickles_are_not_executed(tmp_path: Path):
    pickled = pickle.dumps(Marker(tmp_path / "executed"))
    for data in (pickled, array(dtype="|O", data=pickled), array(dtype="O", shape=[], data=pickled)):
        with pytest.raises(codec.CodecError):
            codec.decode(data, max_bytes=LARGEST)
    assert not (tmp_path / "executed").exists()
    pickle.loads(pickled)
    assert (tmp_path / "executed").exists(), "the marker works"


def test_compressed_images_are_decoded():
    original = np.arange(60, dtype=np.uint8).reshape(4, 5, 3)
    written = BytesIO()
    Image.fromarray(original).save(written, "PNG")
    compressed = {"__image__": True, "format": "png", "data": written.getvalue(), "shape": [4, 5, 3]}
    kept = codec.decode(msgpack.packb(compressed), max_bytes=LARGEST)
    assert np.array_equal(codec.decode_image(kept), original)
    raw = {"__image__": True, "format": "raw", "dtype": "|u1", "data": original.tobytes(), "shape": [4, 5, 3]}
    assert np.array_equal(codec.decode_image(raw), original)
    assert np.array_equal(codec.decode_image(original), original)


def bomb() -> dict[str, object]:
    written = BytesIO()
    Image.new("RGB", (5000, 10)).save(written, "PNG")
    return {"__image__": True, "format": "png", "data": written.getvalue(), "shape": [10, 5000, 3]}


def test_invalid_images_are_rejected_with_the_reason():
    for value, words in (
        ({"__image__": True, "format": "png", "data": b"GIF89a"}, "not PNG or JPEG"),
        ({"__image__": True, "format": "png"}, "has no 'data'"),
        ({"__image__": True, "format": "raw", "data": b"", "dtype": "O", "shape": [0]}, "only numbers"),
        (bomb(), "at most 4096 per side"),
        (np.zeros((4, 4, 3)), "not float64 (4, 4, 3)"),
        (np.zeros((0, 4, 3), np.uint8), "1 to 4096 pixels"),
    ):
        with pytest.raises(codec.CodecError) as caught:
            codec.decode_image(value)
        assert words in str(caught.value)
