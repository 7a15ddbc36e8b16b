"""Just-in-time compilation of inner loops.

Numba takes longer to import than most commands take to run, so it is imported when a loop is first called.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from threading import RLock
from typing import Any, cast

Function = Callable[..., Any]

_LOCK = RLock()
"""Lock that lets one thread at a time compile functions."""


class machine_code:  # noqa: N801  # a decorator
    """Decorator that compiles a function on its first call; thread-safe.

    The function may call other compiled functions in its module by name. The machine code is cached on disk if
    possible.
    """

    def __init__(self, function: Function) -> None:
        self._function = function
        self._code: Function | None = None
        update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        """Run the compiled function."""
        return (self._code or self.code())(*arguments)

    def code(self) -> Function:
        """Return the function compiled by Numba.

        The compiled functions that it calls, which Numba looks up by name, are compiled first.
        """
        with _LOCK:
            if self._code is None:
                names_of_module = self._function.__globals__
                for name in self._function.__code__.co_names:
                    if isinstance(called := names_of_module.get(name), machine_code):
                        names_of_module[name] = called.code()
                from numba import njit

                try:
                    self._code = cast(Function, njit(cache=True, nogil=True)(self._function))
                except RuntimeError:  # neither the package's folder nor the home folder can be written
                    self._code = cast(Function, njit(nogil=True)(self._function))
            return self._code
