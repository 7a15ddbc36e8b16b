"""How many threads numpy multiplies matrices with."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import cast

from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]


def one_thread() -> AbstractContextManager[object]:
    """One, while this is entered: the matrices are small, and threads wait for each other on busy cores."""
    return cast(AbstractContextManager[object], _controller().limit(limits=1, user_api="blas"))


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
