"""What the server that forks workers imports before it forks. Only it imports this module.

While it does so, for a second or, on a busy machine, for many, it would not notice that whoever started it is gone: the
system ends it then. Afterwards it notices by itself, and has no need of that.
"""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module

from assay.processes import IMPORTED, end_with_parent

end_with_parent(True)
for module in IMPORTED:
    with suppress(ImportError):  # who needs it, will be told
        import_module(module)
end_with_parent(False)
