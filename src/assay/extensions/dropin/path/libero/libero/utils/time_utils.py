"""A timer."""

from __future__ import annotations

import time


class Timer:
    """A context manager that measures its duration."""

    value = 0.0

    def __enter__(self) -> Timer:
        self.start_time = time.time()
        return self

    def __exit__(self, *error: object) -> None:
        self.value = time.time() - self.start_time

    def get_elapsed_time(self) -> float:
        """Return the duration in seconds."""
        return self.value
