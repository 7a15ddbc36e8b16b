"""Messages in msgpack or JSON, with arrays in the formats of policy servers.

An array is a map with a marker: ``{"__ndarray__": true, "data", "dtype", "shape"}`` for openpi (keys are bytes) and
vla-eval (keys are text), ``{b"nd": true, b"type", b"shape", b"data"}`` for msgpack-numpy, ``{"__numpy__": base64,
"dtype", "shape"}`` for json-numpy. All of these formats are read. Messages may come from untrusted peers: only numeric
arrays are restored, no code is executed, and size, depth and shapes are checked before memory is allocated.
"""

from __future__ import annotations

import base64
import binascii
import io
import json
import math
import re
from collections.abc import Callable, Sized
from functools import partial
from typing import Any, cast

import msgpack
import numpy as np
from PIL import Image

MAX_REPLY_BYTES = 4 * 2**20
"""Maximum size of a server's reply; a thousand actions take 56,000 bytes."""
MAX_DEPTH = 16
"""Maximum nesting depth of maps and lists."""
MAX_ITEMS = 100_000
"""Maximum number of items in all maps and lists, excluding arrays; a byte received may need 60 bytes in memory."""
MAX_AXES = 8
MAX_IMAGE_SIDE = 4096
"""Maximum width or height of an image, in pixels."""

_NUMERIC = re.compile(r"[<>|=]?([biuf])\d{1,2}")
Encoder = Callable[[object], bytes]
_SCALARS = (bool, int, float, str, bytes, type(None))


class CodecError(ValueError):
    """Raised when bytes are not a valid message; the message states the reason."""


def decode(data: bytes, *, max_bytes: int = MAX_REPLY_BYTES) -> Any:
    """Decode msgpack of at most ``max_bytes`` into maps, lists, text, numbers and arrays. Raises CodecError."""
    if len(data) > max_bytes:
        raise CodecError(f"{len(data):,} bytes exceed the limit of {max_bytes:,} bytes")
    left = MAX_ITEMS

    def count(items: Sized) -> Sized:
        nonlocal left
        left -= 1 + len(items)
        if left < 0:
            raise CodecError(f"the message has more than {MAX_ITEMS:,} items")
        return items

    try:
        plain = msgpack.unpackb(
            data, object_hook=count, list_hook=count, max_array_len=MAX_ITEMS, max_map_len=MAX_ITEMS
        )
    except CodecError:
        raise
    except Exception as error:  # msgpack raises several unrelated kinds of errors
        raise CodecError(f"the message is not msgpack ({type(error).__name__}: {error})") from None
    return _restore(plain, MAX_DEPTH)


def decode_json(data: bytes) -> Any:
    """Decode JSON into maps, lists, text, numbers and arrays. Raises CodecError."""
    if sum(map(data.count, (b",", b"[", b"{"))) > MAX_ITEMS:  # each item follows one of these
        raise CodecError(f"the message has more than {MAX_ITEMS:,} items")
    try:
        plain = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise CodecError(f"the message is not JSON ({error})") from None
    return _restore(plain, MAX_DEPTH)


def decode_image(value: object) -> np.ndarray:
    """Return an image, (height, width, 3) uint8, from an array or from vla-eval's PNG or JPEG. Raises CodecError."""
    if isinstance(value, dict) and "__image__" in value:
        value = _array(value) if value.get("format") == "raw" else _decompress(value)
    if not isinstance(value, np.ndarray) or value.dtype != np.uint8 or value.ndim != 3 or value.shape[2] != 3:
        raise CodecError(f"an image should be uint8 (height, width, 3), not {describe(value)}")
    if not 1 <= min(value.shape[:2]) <= max(value.shape[:2]) <= MAX_IMAGE_SIDE:
        raise CodecError(f"an image should have 1 to {MAX_IMAGE_SIDE} pixels per side, not {value.shape[:2]}")
    return value


def describe(value: object) -> str:
    """Describe a value for an error message: its type and shape, not its contents."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape}"
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def _fields_of(value: object) -> dict[str, Any]:
    """Return the data, dtype and shape of an array or a number. Raises TypeError for anything else."""
    if not isinstance(value, np.ndarray | np.generic) or value.dtype.kind not in "biuf":
        raise TypeError(f"{describe(value)} cannot be sent")
    return {"data": value.tobytes(), "dtype": value.dtype.str, "shape": value.shape}


def _to_openpi(value: object) -> dict[bytes, object]:
    fields = _fields_of(value)
    if isinstance(value, np.generic):
        return {b"__npgeneric__": True, b"data": value.item(), b"dtype": fields["dtype"]}
    return {b"__ndarray__": True, **{name.encode(): part for name, part in fields.items()}}


def _to_vla_eval(value: object) -> object:
    return value.item() if isinstance(value, np.generic) else {"__ndarray__": True, **_fields_of(value)}


def _to_msgpack_numpy(value: object) -> dict[bytes, object]:
    fields = _fields_of(value)
    shape = {b"shape": fields["shape"], b"data": fields["data"]}
    return {b"nd": True, b"type": fields["dtype"], b"kind": b"", **shape}


encode_openpi: Encoder = partial(msgpack.packb, default=_to_openpi)
"""Encode a message exactly as openpi-client does. Raises TypeError for values other than numbers and text."""
encode_vla_eval: Encoder = partial(msgpack.packb, default=_to_vla_eval)
"""Encode a message for vla-eval; images are not compressed."""
encode_msgpack_numpy: Encoder = partial(msgpack.packb, default=_to_msgpack_numpy)
"""Encode a message in the format of the msgpack-numpy package, for GR00T."""


def encode_json(message: object) -> bytes:
    """Encode a message as JSON, with arrays in the format of the json-numpy package, for OpenVLA-OFT."""

    def to_json_numpy(value: object) -> dict[str, object]:
        fields = _fields_of(value)
        return {"__numpy__": base64.b64encode(fields.pop("data")).decode(), **fields}

    return json.dumps(message, default=to_json_numpy, allow_nan=False).encode()


def _restore(value: Any, depth: int) -> Any:
    """Replace the maps that represent arrays in a value with the arrays."""
    if isinstance(value, _SCALARS):
        return value
    if depth == 0:
        raise CodecError(f"the message is nested more than {MAX_DEPTH} levels deep")
    if isinstance(value, list):
        return [_restore(item, depth - 1) for item in value]
    if not isinstance(value, dict):
        raise CodecError(f"{describe(value)} is not supported")
    for marker, restore in _MARKERS.items():
        if marker in value:
            return restore(value)
    return {key: _restore(item, depth - 1) for key, item in value.items()}


def _msgpack_numpy_array(fields: dict[Any, Any]) -> object:
    """Restore an array, or a single number as an array without axes."""
    number: dict[str, object] = {} if fields.get(b"nd", fields.get("nd")) else {"shape": []}
    if _field(fields, "kind") if "kind" in fields or b"kind" in fields else b"":
        raise CodecError("an array contains objects; only numbers are supported")
    return _array({**fields, **number, "dtype": _field(fields, "type")})


def _json_numpy_array(fields: dict[Any, Any]) -> np.ndarray:
    try:
        data = base64.b64decode(fields["__numpy__"], validate=True)
    except (TypeError, ValueError, binascii.Error):
        raise CodecError("an array's data is not base64") from None
    return _array({"data": data, "dtype": fields.get("dtype"), "shape": fields.get("shape")})


def _array(fields: dict[Any, Any]) -> np.ndarray:
    data, shape, dtype = _field(fields, "data"), _field(fields, "shape"), _dtype(_field(fields, "dtype"))
    if not isinstance(shape, list) or not all(type(side) is int and 0 <= side < 2**63 for side in shape):
        raise CodecError("an array's shape should be a list of non-negative integers")
    if len(shape) > MAX_AXES:
        raise CodecError(f"an array has {len(shape)} axes; at most {MAX_AXES} are supported")
    size = math.prod(shape) * dtype.itemsize
    if not isinstance(data, bytes) or len(data) != size:
        actual = f"{len(data):,} bytes" if isinstance(data, bytes) else describe(data)
        raise CodecError(f"an array should have {size:,} bytes ({dtype} {tuple(shape)}), not {actual}")
    try:
        return np.ndarray(tuple(shape), dtype, buffer=data)
    except ValueError as error:  # an empty array with absurd sides
        raise CodecError(f"an array of shape {tuple(shape)} is invalid: {error}") from None


def _scalar(fields: dict[Any, Any]) -> np.generic:
    data, dtype = _field(fields, "data"), _dtype(_field(fields, "dtype"))
    if not isinstance(data, bool | int | float):
        raise CodecError(f"expected a number, not {describe(data)}")
    try:
        return cast(np.generic, dtype.type(data))
    except (OverflowError, ValueError):
        raise CodecError(f"a number does not fit {dtype}") from None


def _dtype(text: object) -> np.dtype[Any]:
    if isinstance(text, bytes):
        text = text.decode("ascii", "replace")
    if not isinstance(text, str) or not _NUMERIC.fullmatch(text):
        shown = f"text of {len(text)} characters" if isinstance(text, str) else describe(text)
        raise CodecError(f"an array's dtype is {shown}; only numbers are supported, such as '<f4'")
    try:
        return np.dtype(text)
    except TypeError:
        raise CodecError(f"an array has dtype {text!r}, which does not exist") from None


def _field(fields: dict[Any, Any], name: str) -> Any:
    for key in (name, name.encode()):
        if key in fields:
            return fields[key]
    raise CodecError(f"an array or image has no '{name}'")


def _decompress(fields: dict[Any, Any]) -> np.ndarray:
    data = _field(fields, "data")
    try:
        with Image.open(io.BytesIO(data), formats=("PNG", "JPEG")) as image:
            if max(image.size) > MAX_IMAGE_SIDE:
                raise CodecError(
                    f"an image has {image.size} pixels; at most {MAX_IMAGE_SIDE} per side are allowed"
                )
            return np.array(image)
    except CodecError:
        raise
    except Exception as error:  # decoders raise errors of many kinds for damaged data
        raise CodecError(f"an image is not PNG or JPEG ({type(error).__name__})") from None


_MARKERS: dict[str | bytes, Callable[[dict[Any, Any]], object]] = {
    b"__ndarray__": _array,
    "__ndarray__": _array,
    b"__npgeneric__": _scalar,
    b"nd": _msgpack_numpy_array,
    "__numpy__": _json_numpy_array,
    "__image__": lambda compressed: compressed,
}
"""Keys that mark maps as arrays. Compressed images are decoded only when they are used: see `decode_image`."""
