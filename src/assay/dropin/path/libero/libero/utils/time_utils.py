"""How long something takes."""

import time


class Timer:
    """A context manager that measures."""

    def __enter__(self):  # noqa: D105
        self.start_time = time.time()
        return self

    def __exit__(self, *error):  # noqa: D105
        self.value = time.time() - self.start_time

    def get_elapsed_time(self):
        """Seconds."""
        return self.value
