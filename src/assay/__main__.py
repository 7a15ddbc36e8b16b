"""Entry point of ``assay`` and ``python -m assay``. Worker processes import it again, so it is kept minimal."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Parse the command line and run the requested command."""
    # The allocator of Polars would keep the memory of temporary data frames: hundreds of megabytes in large runs.
    os.environ.setdefault("_RJEM_MALLOC_CONF", "dirty_decay_ms:0,muzzy_decay_ms:0")
    try:
        from assay.cli.app import main as run
    except KeyboardInterrupt:  # later ones are the command's
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
