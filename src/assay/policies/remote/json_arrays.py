"""Messages as JSON, with arrays as the package json-numpy writes them: ``{"__numpy__": base64, "dtype", "shape"}``.

What is read may come from anybody: see `codec`, whose limits hold here, too.
"""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

import numpy as np

from assay.policies.remote.codec import DEEPEST, CodecError, array_of, brief


def encode(message: object) -> bytes:
    """A message as JSON. Raises TypeError for what cannot be written."""
    return json.dumps(message, default=_spelled, allow_nan=False).encode()


def decode(data: bytes) -> Any:
    """A message: maps, lists, texts, numbers and arrays. Raises CodecError."""
    try:
        plain = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise CodecError(f"not JSON ({error})") from None
    return _revived(plain, DEEPEST)


def _spelled(value: object) -> dict[str, object]:
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "biuf":
        raise TypeError(f"{brief(value)} has no form on the wire")
    data = base64.b64encode(value.tobytes()).decode()
    return {"__numpy__": data, "dtype": value.dtype.str, "shape": value.shape}


def _revived(value: Any, depth: int) -> Any:
    if depth == 0:
        raise CodecError(f"nested more than {DEEPEST} deep")
    if isinstance(value, list):
        return [_revived(each, depth - 1) for each in value]
    if not isinstance(value, dict):
        return value
    if "__numpy__" not in value:
        return {key: _revived(each, depth - 1) for key, each in value.items()}
    try:
        data = base64.b64decode(value["__numpy__"], validate=True)
    except (TypeError, ValueError, binascii.Error):
        raise CodecError("an array whose data is no base64") from None
    return array_of(data, value.get("dtype"), value.get("shape"))
