"""What the server that forks workers imports before it forks. Only it imports this module.

The system ends it, and by that its workers, when the process that started it is gone, however busy the machine is; who
was gone before the system was asked has left it to another parent. The system does so already when the *thread* that
started it ends: where that is not the main one, the server notices by itself, as soon as it has imported everything.
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
    with suppress(ImportError):  # who needs it, will be told
        import_module(module)
with suppress(Exception):  # likewise
    from numba import njit

    # Numba's first function takes half a second, which each worker would need before its first step.
    njit(lambda value: value)(0.0)
end_with_parent(thread == MAIN)
