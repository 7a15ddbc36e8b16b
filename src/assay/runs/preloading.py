"""What the server that forks workers imports before it forks. Only it imports this module.

While it does so, for a second or, on a busy machine, for many, it would not notice that whoever started it is gone: the
system ends it then. Afterwards it notices by itself, and has no need of that. Who was gone before the system was asked
has left it to another parent.
"""

from __future__ import annotations

import os
from contextlib import suppress
from importlib import import_module

from assay.processes import IMPORTED, STARTED_BY, end_with_parent

end_with_parent(True)
if os.environ.pop(STARTED_BY, None) not in (None, str(os.getppid())):
    os._exit(0)
for module in IMPORTED:
    with suppress(ImportError):  # who needs it, will be told
        import_module(module)
end_with_parent(False)
