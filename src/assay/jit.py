"""Inner loops as machine code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from numba import njit

Function = Callable[..., Any]


def compiled(function: Function) -> Function:
    """Compile a function, for several threads at once; kept on disk where there is a place for it."""
    try:
        return cast(Function, njit(cache=True, nogil=True)(function))
    except RuntimeError:  # neither the package's folder nor the home folder can be written
        return cast(Function, njit(nogil=True)(function))
