"""Read LIBERO's stored initial states without trusting them.

The files are zip archives around a pickle. Here the pickle is *parsed*, never run: its opcodes build a tree
of plain values, names and calls that nobody makes, and the only trees that mean anything are the few shapes
in which numpy and torch spell a numeric array. Everything else is an error. Archives with one array of numpy's
own format, ``NAME.pruned_init.npz``, have no pickle and are read too.
"""

from __future__ import annotations

import io
import lzma
import math
import pickletools
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from assay.errors import StateError

MOST_BYTES = 256 * 2**20
"""The largest archive member that is read."""
MOST_OPCODES = 1_000
"""An array takes about a hundred."""

_NUMPY_RECONSTRUCT = ("numpy.core.multiarray _reconstruct", "numpy._core.multiarray _reconstruct")
_NUMPY_FROMBUFFER = ("numpy.core.numeric _frombuffer", "numpy._core.numeric _frombuffer")
_TORCH_STORAGES = {"torch DoubleStorage": "<f8", "torch FloatStorage": "<f4", "torch LongStorage": "<i8"}


_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    UnicodeDecodeError,
    ValueError,
    OSError,
    EOFError,
    NotImplementedError,
    RuntimeError,
)
"""What reading a damaged archive may raise."""


@dataclass(frozen=True)
class _Name:
    text: str


@dataclass(frozen=True)
class _Call:
    function: object
    arguments: object


@dataclass(frozen=True)
class _Built:
    target: object
    state: object


@dataclass(frozen=True)
class _Persistent:
    key: object


class _Mark:
    pass


def read_states(path: Path | str) -> np.ndarray:
    """The states in a ``.pruned_init`` or ``.init`` file, or its ``.npz``: float64, (count, 1 + nq + nv)."""
    path = Path(path)
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            pickles = [name for name in names if name == "data.pkl" or name.endswith("/data.pkl")]
            if len(names) == 1 and names[0].endswith(".npy"):
                states = _plain_array(_member(archive, names[0]))
            elif len(pickles) == 1:
                folder = pickles[0].removesuffix("data.pkl")
                tree = _parse(_member(archive, pickles[0]))
                states = _array(tree, lambda key: _member(archive, f"{folder}data/{key}"))
            else:
                raise StateError(f"{path}: not a file of initial states: it holds no single data.pkl")
    except FileNotFoundError:
        raise StateError(f"{path}: there is no such file") from None
    except IsADirectoryError:
        raise StateError(f"{path}: is a folder, not a file of initial states") from None
    except _DAMAGE as error:
        raise StateError(f"{path}: not a file of initial states: {error}") from None
    except _MalformedError as error:
        raise StateError(f"{path}: refused: {error}") from None
    if states.ndim == 1:
        states = states[None]
    if states.ndim != 2 or not np.isfinite(states).all():
        raise StateError(f"{path}: holds an array of shape {states.shape}, not finite states (count, length)")
    return np.ascontiguousarray(states, dtype=np.float64)


class _MalformedError(Exception):
    """The pickle is not one of a numeric array."""


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    try:
        size = archive.getinfo(name).file_size
    except KeyError:
        raise _MalformedError(f"it refers to '{name}', which it does not hold") from None
    if size > MOST_BYTES:
        raise _MalformedError(f"'{name}' unpacks to {size} bytes, more than the {MOST_BYTES} allowed")
    with archive.open(name) as member:
        content = member.read(size + 1)
    if len(content) != size:
        raise _MalformedError(f"'{name}' is not as long as it says")
    return content


def _plain_array(content: bytes) -> np.ndarray:
    """An array in numpy's own format; one of objects, which would be a pickle, raises ValueError."""
    array = np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
    if array.dtype.kind not in "fi":
        raise _MalformedError("its numbers have a type other than float or integer")
    return array


def _parse(pickle: bytes) -> object:
    """Turn a pickle's opcodes into a tree of values, names and calls, none of which is made."""
    stack: list[object] = []
    memo: dict[int, object] = {}

    def popped_to_mark() -> tuple[object, ...]:
        for depth in range(len(stack) - 1, -1, -1):
            if isinstance(stack[depth], _Mark):
                items = tuple(stack[depth + 1 :])
                del stack[depth:]
                return items
        raise _MalformedError("a mark is missing")

    try:
        for count, (opcode, argument, _) in enumerate(pickletools.genops(pickle)):
            if count > MOST_OPCODES:
                raise _MalformedError("it has too many opcodes for an array")
            match opcode.name:
                case "PROTO" | "FRAME":
                    pass
                case "STOP":
                    return stack.pop()
                case "MARK":
                    stack.append(_Mark())
                case "GLOBAL":
                    stack.append(_Name(str(argument)))
                case "STACK_GLOBAL":
                    name, module = stack.pop(), stack.pop()
                    if not (isinstance(name, str) and isinstance(module, str)):
                        raise _MalformedError("it names something by other than text")
                    stack.append(_Name(f"{module} {name}"))
                case "BININT" | "BININT1" | "BININT2" | "LONG1" | "BINUNICODE" | "SHORT_BINUNICODE":
                    stack.append(argument)
                case "BINBYTES" | "SHORT_BINBYTES" | "BINBYTES8" | "BYTEARRAY8" | "BINFLOAT":
                    stack.append(bytes(argument) if isinstance(argument, bytearray) else argument)
                case "NONE":
                    stack.append(None)
                case "NEWTRUE" | "NEWFALSE":
                    stack.append(opcode.name == "NEWTRUE")
                case "EMPTY_TUPLE":
                    stack.append(())
                case "TUPLE1" | "TUPLE2" | "TUPLE3":
                    size = int(opcode.name[-1])
                    if len(stack) < size:
                        raise _MalformedError("a tuple lacks its items")
                    items = tuple(stack[-size:])
                    del stack[-size:]
                    stack.append(items)
                case "TUPLE":
                    stack.append(popped_to_mark())
                case "BINPUT" | "LONG_BINPUT":
                    memo[_number(argument)] = stack[-1]
                case "MEMOIZE":
                    memo[len(memo)] = stack[-1]
                case "BINGET" | "LONG_BINGET":
                    stack.append(memo[_number(argument)])
                case "BINPERSID":
                    stack.append(_Persistent(stack.pop()))
                case "REDUCE":
                    arguments, function = stack.pop(), stack.pop()
                    stack.append(_Call(function, arguments))
                case "BUILD":
                    state, target = stack.pop(), stack.pop()
                    built = _Built(target, state)
                    for key, value in memo.items():
                        if value is target:
                            memo[key] = built
                    stack.append(built)
                case other:
                    raise _MalformedError(f"its opcode {other} has no place in a numeric array")
    except (ValueError, IndexError, KeyError) as error:
        raise _MalformedError(f"its pickle is damaged: {error}") from None
    raise _MalformedError("its pickle has no end")


def _number(argument: object) -> int:
    if not isinstance(argument, int):
        raise _MalformedError("its memo is numbered by other than numbers")
    return argument


def _array(tree: object, storage: Callable[[str], bytes]) -> np.ndarray:
    match tree:
        case _Built(
            _Call(_Name(name), (_Name("numpy ndarray"), _, _)), (int(), shape, dtype, bool(fortran), content)
        ) if name in _NUMPY_RECONSTRUCT:
            return _filled(_bytes(content), _dtype(dtype), shape, "F" if fortran else "C")
        case _Call(_Name(name), (bytes(content), dtype, shape, "C" | "F" as order)) if (
            name in _NUMPY_FROMBUFFER
        ):
            return _filled(content, _dtype(dtype), shape, order)
        case _Call(
            _Name("torch._utils _rebuild_tensor_v2"),
            (_Persistent(("storage", _Name(kind), str(key), str(), int())), int(start), shape, strides, *_),
        ) if kind in _TORCH_STORAGES and start >= 0:
            dtype = np.dtype(_TORCH_STORAGES[kind])
            content = storage(key)[start * dtype.itemsize :]
            if strides != _row_major(shape):
                raise _MalformedError("its tensor is not contiguous")
            return _filled(content, dtype, shape, "C")
        case _Call(_Name(name)) | _Built(_Call(_Name(name))) | _Name(name):
            wanted = ".".join(name.split())[:80]
            raise _MalformedError(f"it wants '{wanted}', which is not how a numeric array is stored")
    raise _MalformedError("it holds something other than one numeric array")


def _bytes(tree: object) -> bytes:
    match tree:
        case bytes():
            return tree
        case _Call(_Name("_codecs encode"), (str(text), "latin1")):
            try:
                return text.encode("latin1")
            except UnicodeEncodeError:
                raise _MalformedError("its numbers are not stored as bytes") from None
    raise _MalformedError("its numbers are not stored as bytes")


def _dtype(tree: object) -> np.dtype:
    match tree:
        case _Built(_Call(_Name("numpy dtype"), (str(code), *_)), (_, str(order), *_)) if code in (
            "f8",
            "f4",
            "i8",
            "i4",
        ) and order in ("<", ">", "=", "|"):
            return np.dtype(order.replace("|", "=") + code)
    raise _MalformedError("its numbers have a type other than float or integer")


def _row_major(shape: object) -> tuple[int, ...]:
    sizes = _sizes(shape)
    return tuple(math.prod(sizes[axis + 1 :]) for axis in range(len(sizes)))


def _sizes(shape: object) -> tuple[int, ...]:
    match shape:
        case tuple() if 1 <= len(shape) <= 3 and all(type(n) is int and n > 0 for n in shape):
            return shape
    raise _MalformedError("its shape is not a few positive numbers")


def _filled(content: bytes, dtype: np.dtype, shape: object, order: str) -> np.ndarray:
    sizes = _sizes(shape)
    needed = math.prod(sizes) * dtype.itemsize
    if needed > len(content):
        raise _MalformedError(f"it promises {needed} bytes of numbers and holds {len(content)}")
    flat = np.frombuffer(content[:needed], dtype=dtype)
    return flat.reshape(sizes, order="F" if order == "F" else "C").astype(np.float64)
