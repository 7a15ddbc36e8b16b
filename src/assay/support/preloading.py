"""Modules that the fork server imports before it forks workers. Only the fork server imports this module.

The kernel terminates the server, and with it its workers, when the process that started it ends, however busy the
machine is. If that process ends before the server has requested this from the kernel, the server has a different
parent and exits. The kernel also terminates the server when the *thread* that started it ends. If that is not the
main thread, the request is cancelled after the imports, and the server itself detects the end of its parent.
"""

from __future__ import annotations

import os
from contextlib import suppress
from importlib import import_module

from assay.support.processes import IMPORTED, MAIN, STARTED_BY, end_with_parent

end_with_parent(True)
starter, _, thread = os.environ.pop(STARTED_BY, "").partition(" ")
if starter not in ("", str(os.getppid())):
    os._exit(0)
for module in IMPORTED:
    with suppress(ImportError):  # a worker that needs it reports the error
        import_module(module)
with suppress(Exception):  # Numba is optional here
    from numba import njit

    # Numba's first function takes half a second, which each worker would need before its first step.
    njit(lambda value: value)(0.0)
end_with_parent(thread == MAIN)
