"""Read LIBERO's stored initial states without trusting the files.

The files are zip archives that contain a pickle. Names in the pickle are never imported: unpickling builds a tree of
plain values, names and calls that are not executed, from a short list of opcodes. Only the few trees in which numpy
and torch store a numeric array are accepted. Archives with one array in numpy's own format, ``NAME.pruned_init.npz``,
contain no pickle and are also read.
"""

from __future__ import annotations

import io
import math
import pickle
import pickletools
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from assay.errors import StateError
from assay.support.archives import DAMAGE, read_member, read_npy

MAX_OPCODES = 1_000
"""Maximum number of opcodes in a pickle; an array takes about a hundred."""

# No opcode that hashes or iterates: a small pickle can hold a tuple with 2 ** 40 leaves.
_OPCODES = re.compile(
    "PROTO|FRAME|STOP|MARK|GLOBAL|STACK_GLOBAL|BININT[12]?|LONG1|(SHORT_)?BINUNICODE|(SHORT_)?BINBYTES|BINBYTES8|"
    "BYTEARRAY8|BINFLOAT|NONE|NEWTRUE|NEWFALSE|EMPTY_TUPLE|TUPLE[123]?|(LONG_)?BINPUT|MEMOIZE|(LONG_)?BINGET|"
    "BINPERSID|REDUCE|BUILD"
)
_RECONSTRUCT = ("numpy.core.multiarray _reconstruct", "numpy._core.multiarray _reconstruct")
_FROMBUFFER = ("numpy.core.numeric _frombuffer", "numpy._core.numeric _frombuffer")
_TORCH_STORAGES = {"torch DoubleStorage": "<f8", "torch FloatStorage": "<f4", "torch LongStorage": "<i8"}
_DAMAGE = (*DAMAGE, ValueError, OSError)
_PICKLE_DAMAGE = (pickle.UnpicklingError, ArithmeticError, LookupError, TypeError, AttributeError)


class _MalformedError(Exception):
    """Raised when a pickle does not contain exactly one numeric array."""


@dataclass(slots=True, eq=False)
class _Call:
    """A function call in a pickle, and the state that the pickle sets on the result."""

    name: str
    arguments: object
    state: object = None

    def __setstate__(self, state: object) -> None:
        self.state = state


@dataclass(slots=True, eq=False)
class _Name:
    """The name of a function or class in a pickle."""

    text: str

    def __call__(self, *arguments: object) -> _Call:
        return _Call(self.text, arguments)


class _TreeBuilder(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> _Name:
        return _Name(f"{module} {name}")

    def persistent_load(self, key: object) -> _Call:
        return _Call("persistent", key)


def read_states(path: Path | str) -> np.ndarray:
    """Return the states in a ``.pruned_init``, ``.init`` or ``.npz`` file: float64, (count, 1 + nq + nv).

    Raises StateError if they cannot be read.
    """
    path = Path(path)
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            pickles = [name for name in names if name == "data.pkl" or name.endswith("/data.pkl")]
            if len(names) == 1 and names[0].endswith(".npy"):
                states = read_npy(read_member(archive, names[0]))
                if states.dtype.kind not in "fi":
                    raise _MalformedError("the array is neither floating-point nor integer")
            elif len(pickles) == 1:
                folder = pickles[0].removesuffix("data.pkl")
                tree = _read_tree(read_member(archive, pickles[0]))
                states = _build_array(tree, lambda key: read_member(archive, f"{folder}data/{key}"))
            else:
                raise StateError(f"{path} is not a file of initial states: expected exactly one data.pkl")
    except FileNotFoundError:
        raise StateError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise StateError(f"{path} is a folder, not a file of initial states") from None
    except _DAMAGE as error:
        raise StateError(f"{path} is not a file of initial states: {error}") from None
    except _MalformedError as error:
        raise StateError(f"{path} is rejected: {error}") from None
    if states.ndim == 1:
        states = states[None]
    if states.ndim != 2 or not np.isfinite(states).all():
        raise StateError(
            f"{path} contains an array of shape {states.shape}; expected finite states (count, length)"
        )
    return np.ascontiguousarray(states, dtype=np.float64)


def _read_tree(content: bytes) -> object:
    """Unpickle into values, names and calls; nothing is imported or executed."""
    try:
        for count, (opcode, argument, _) in enumerate(pickletools.genops(content)):
            if not _OPCODES.fullmatch(opcode.name):
                raise _MalformedError(f"the opcode {opcode.name} does not occur in a numeric array")
            # The unpickler allocates memory for the largest index of its memo.
            if count > MAX_OPCODES or ("BINPUT" in opcode.name and int(argument or 0) > MAX_OPCODES):
                raise _MalformedError("the pickle has too many opcodes for an array")
        return _TreeBuilder(io.BytesIO(content)).load()
    except (*_PICKLE_DAMAGE, *_DAMAGE) as error:
        raise _MalformedError(f"the pickle is damaged: {' '.join(str(error).split())[:200]}") from None


def _build_array(tree: object, storage: Callable[[str], bytes]) -> np.ndarray:
    match tree:
        case _Call(name, (_Name("numpy ndarray"), _, _), (int(), shape, dtype, bool(fortran), data)) if (
            name in _RECONSTRUCT
        ):
            return _shape_array(_read_bytes(data), _read_dtype(dtype), shape, fortran=fortran)
        case _Call(name, (bytes() | bytearray() as data, dtype, shape, "C" | "F" as order)) if (
            name in _FROMBUFFER
        ):
            return _shape_array(bytes(data), _read_dtype(dtype), shape, fortran=order == "F")
        case _Call(
            "torch._utils _rebuild_tensor_v2",
            (
                _Call("persistent", ("storage", _Name(kind), str(key), str(), int())),
                int(start),
                shape,
                strides,
                *_,
            ),
        ) if kind in _TORCH_STORAGES and start >= 0:
            dtype = np.dtype(_TORCH_STORAGES[kind])
            sizes = _check_shape(shape)
            if strides != tuple(math.prod(sizes[axis + 1 :]) for axis in range(len(sizes))):
                raise _MalformedError("the tensor is not contiguous")
            return _shape_array(storage(key)[start * dtype.itemsize :], dtype, shape)
        case _Call(name) | _Name(name):
            imported = ".".join(name.split())[:80]
            raise _MalformedError(f"it imports '{imported}', which a numeric array does not need")
    raise _MalformedError("it contains something other than one numeric array")


def _read_bytes(tree: object) -> bytes:
    match tree:
        case bytes() | bytearray():
            return bytes(tree)
        case _Call("_codecs encode", (str(text), "latin1")) if max(map(ord, text), default=0) < 256:
            return text.encode("latin1")
    raise _MalformedError("the numbers are not stored as bytes")


def _read_dtype(tree: object) -> np.dtype:
    match tree:
        case _Call(
            "numpy dtype", ("f8" | "f4" | "i8" | "i4" as code, *_), (_, "<" | ">" | "=" | "|" as order, *_)
        ):
            return np.dtype(order.replace("|", "=") + code)
    raise _MalformedError("the array is neither floating-point nor integer")


def _check_shape(shape: object) -> tuple[int, ...]:
    match shape:
        case tuple() if 1 <= len(shape) <= 3 and all(type(size) is int and size > 0 for size in shape):
            return shape
    raise _MalformedError("the shape is not one to three positive integers")


def _shape_array(content: bytes, dtype: np.dtype, shape: object, *, fortran: bool = False) -> np.ndarray:
    sizes = _check_shape(shape)
    needed = math.prod(sizes) * dtype.itemsize
    if needed > len(content):
        raise _MalformedError(f"it declares {needed} bytes of numbers but contains {len(content)}")
    flat = np.frombuffer(content[:needed], dtype=dtype)
    return flat.reshape(sizes, order="F" if fortran else "C").astype(np.float64)
