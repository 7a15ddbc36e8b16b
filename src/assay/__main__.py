"""``assay``, and ``python -m assay``. Worker processes import this module once more, so it holds nothing."""

from __future__ import annotations


def main() -> None:
    """Parse the command line and run its command."""
    from assay.cli.app import main as run

    run()


if __name__ == "__main__":
    main()
