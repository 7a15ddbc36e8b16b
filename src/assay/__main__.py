"""``assay``, and ``python -m assay``. Worker processes import this module once more, so it holds nothing."""

from __future__ import annotations

import sys


def main() -> None:
    """Parse the command line and run its command."""
    try:
        from assay.cli.app import main as run
    except KeyboardInterrupt:  # later ones are the command's
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
