"""Messages as msgpack, with arrays as the policy servers of the field write them.

An array is a map that says so: ``{"__ndarray__": true, "data", "dtype", "shape"}``. openpi's keys are bytes,
vla-eval's are text; both are read, and so is msgpack-numpy's ``{b"nd": true, b"type", b"shape", b"data"}``. What is
read may come from anybody: only numbers become arrays, nothing is executed, and size, depth and shapes are checked
before anything is made of them.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Sized
from typing import Any, cast

import msgpack
import numpy as np
from PIL import Image

DEEPEST = 16
"""Maps and lists inside each other."""
MOST_ITEMS = 100_000
"""In all maps and lists together; a byte on the wire can be 60 in memory. Arrays are not made of items."""
MOST_AXES = 8
LARGEST_PICTURE = 4096
"""Pixels along a side."""

_NUMBERS = re.compile(r"[<>|=]?([biuf])\d{1,2}")
_SCALARS = (bool, int, float, str, bytes, type(None))


class CodecError(ValueError):
    """Bytes that are no message; says why."""


def encode_openpi(message: object) -> bytes:
    """A message as openpi-client writes it, byte for byte. Raises TypeError for what cannot be written."""
    return cast(bytes, msgpack.packb(message, default=_openpi))


def encode_vla_eval(message: object) -> bytes:
    """A message as vla-eval reads it; pictures go uncompressed."""
    return cast(bytes, msgpack.packb(message, default=_vla_eval))


def encode_msgpack_numpy(message: object) -> bytes:
    """A message as the package msgpack-numpy writes it, which GR00T's servers read."""
    return cast(bytes, msgpack.packb(message, default=_msgpack_numpy))


def decode(data: bytes, *, largest: int) -> Any:
    """A message of at most ``largest`` bytes: maps, lists, text, numbers and arrays. Raises CodecError."""
    if len(data) > largest:
        raise CodecError(f"{len(data):,} bytes; at most {largest:,} are read")
    left = MOST_ITEMS

    def counted(items: Sized) -> Sized:
        nonlocal left
        left -= 1 + len(items)
        if left < 0:
            raise CodecError(f"more than {MOST_ITEMS:,} items")
        return items

    try:
        plain = msgpack.unpackb(
            data, object_hook=counted, list_hook=counted, max_array_len=MOST_ITEMS, max_map_len=MOST_ITEMS
        )
    except CodecError:
        raise
    except Exception as error:  # msgpack raises half a dozen unrelated kinds
        raise CodecError(f"not msgpack ({type(error).__name__}: {error})") from None
    return _revived(plain, DEEPEST)


def picture(value: object) -> np.ndarray:
    """A picture, (height, width, 3) uint8, that came as an array, or as PNG or JPEG from vla-eval.

    Raises CodecError.
    """
    if isinstance(value, dict) and "__image__" in value:
        value = _array(value) if value.get("format") == "raw" else _decompressed(value)
    if not isinstance(value, np.ndarray) or value.dtype != np.uint8 or value.ndim != 3 or value.shape[2] != 3:
        raise CodecError(f"a picture should be uint8 (height, width, 3), not {brief(value)}")
    if not 1 <= min(value.shape[:2]) <= max(value.shape[:2]) <= LARGEST_PICTURE:
        raise CodecError(f"a picture should have 1 to {LARGEST_PICTURE} pixels a side, not {value.shape[:2]}")
    return value


def brief(value: object) -> str:
    """A value for an error message: its kind and shape, not its contents."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape}"
    return f"a {type(value).__name__}"


def _openpi(value: object) -> dict[bytes, object]:
    if isinstance(value, np.ndarray):
        _require_numbers(value)
        return {
            b"__ndarray__": True,
            b"data": value.tobytes(),
            b"dtype": value.dtype.str,
            b"shape": value.shape,
        }
    if isinstance(value, np.generic):
        _require_numbers(value)
        return {b"__npgeneric__": True, b"data": value.item(), b"dtype": value.dtype.str}
    raise TypeError(f"{brief(value)} has no form on the wire")


def _vla_eval(value: object) -> object:
    if isinstance(value, np.ndarray):
        _require_numbers(value)
        return {
            "__ndarray__": True,
            "data": value.tobytes(),
            "dtype": value.dtype.str,
            "shape": list(value.shape),
        }
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{brief(value)} has no form on the wire")


def _msgpack_numpy(value: object) -> dict[bytes, object]:
    if not isinstance(value, np.ndarray):
        raise TypeError(f"{brief(value)} has no form on the wire")
    _require_numbers(value)
    return {
        b"nd": True,
        b"type": value.dtype.str,
        b"kind": b"",
        b"shape": value.shape,
        b"data": value.tobytes(),
    }


def _require_numbers(value: np.ndarray | np.generic) -> None:
    if value.dtype.kind not in "biuf":
        raise TypeError(f"{value.dtype} has no form on the wire")


def _revived(value: Any, depth: int) -> Any:
    """The value with arrays in place of the maps that spell them."""
    if isinstance(value, _SCALARS):
        return value
    if depth == 0:
        raise CodecError(f"nested more than {DEEPEST} deep")
    if isinstance(value, list):
        return [_revived(each, depth - 1) for each in value]
    if not isinstance(value, dict):
        raise CodecError(f"{brief(value)} has no meaning here")
    for marker, made in _MARKED.items():
        if marker in value:
            return made(value)
    return {key: _revived(each, depth - 1) for key, each in value.items()}


def _of_msgpack_numpy(spelled: dict[Any, Any]) -> object:
    """An array, or one number, which comes as an array without sides."""
    number: dict[str, object] = {} if spelled.get(b"nd", spelled.get("nd")) else {"shape": []}
    if _part(spelled, "kind") if "kind" in spelled or b"kind" in spelled else b"":
        raise CodecError("an array of objects; only numbers are read")
    return _array({**spelled, **number, "dtype": _part(spelled, "type")})


def array_of(data: object, dtype: object, shape: object) -> np.ndarray:
    """An array of numbers from its bytes. Raises CodecError."""
    return _array({"data": data, "dtype": dtype, "shape": shape})


def _array(spelled: dict[Any, Any]) -> np.ndarray:
    data, shape, dtype = _part(spelled, "data"), _part(spelled, "shape"), _dtype(_part(spelled, "dtype"))
    if not isinstance(shape, list) or not all(type(side) is int and side >= 0 for side in shape):
        raise CodecError("an array's shape should be a list of whole numbers")
    if len(shape) > MOST_AXES:
        raise CodecError(f"an array with {len(shape)} axes; at most {MOST_AXES} are read")
    size = math.prod(shape) * dtype.itemsize
    if not isinstance(data, bytes) or len(data) != size:
        held = f"{len(data):,} bytes" if isinstance(data, bytes) else brief(data)
        raise CodecError(f"an array of {size:,} bytes ({dtype} {tuple(shape)}) that comes with {held}")
    try:
        return np.ndarray(tuple(shape), dtype, buffer=data)
    except ValueError as error:  # an empty array with absurd sides
        raise CodecError(f"an array of shape {tuple(shape)}: {error}") from None


def _scalar(spelled: dict[Any, Any]) -> np.generic:
    data, dtype = _part(spelled, "data"), _dtype(_part(spelled, "dtype"))
    if not isinstance(data, bool | int | float):
        raise CodecError(f"a number that is {brief(data)}")
    try:
        return cast(np.generic, dtype.type(data))
    except (OverflowError, ValueError):
        raise CodecError(f"a number that does not fit {dtype}") from None


def _dtype(text: object) -> np.dtype[Any]:
    if isinstance(text, bytes):
        text = text.decode("ascii", "replace")
    if not isinstance(text, str) or not _NUMBERS.fullmatch(text):
        shown = repr(text)[:40] if isinstance(text, str) else brief(text)
        raise CodecError(f"an array of dtype {shown}; only numbers are read")
    try:
        return np.dtype(text)
    except TypeError:
        raise CodecError(f"an array of dtype {text!r}, which does not exist") from None


def _part(spelled: dict[Any, Any], name: str) -> Any:
    for key in (name, name.encode()):
        if key in spelled:
            return spelled[key]
    raise CodecError(f"an array without its {name}")


def _decompressed(spelled: dict[Any, Any]) -> np.ndarray:
    data = _part(spelled, "data")
    try:
        with Image.open(io.BytesIO(data), formats=("PNG", "JPEG")) as opened:
            if max(opened.size) > LARGEST_PICTURE:
                raise CodecError(
                    f"a picture of {opened.size} pixels; at most {LARGEST_PICTURE} a side are read"
                )
            return np.array(opened)
    except CodecError:
        raise
    except Exception as error:  # decoders raise whatever broken data makes them raise
        raise CodecError(f"a picture that is no PNG or JPEG ({type(error).__name__})") from None


_MARKED: dict[str | bytes, Callable[[dict[Any, Any]], object]] = {
    b"__ndarray__": _array,
    "__ndarray__": _array,
    b"__npgeneric__": _scalar,
    b"nd": _of_msgpack_numpy,
    "__image__": lambda compressed: compressed,
}
"""Maps that stand for something else. A picture stays as it came until somebody wants it: see ``picture``."""
