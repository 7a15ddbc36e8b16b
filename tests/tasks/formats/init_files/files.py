"""Files of initial states, sound and otherwise."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from assay.errors import StateError
from assay.tasks.formats.init_files import read_states

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
