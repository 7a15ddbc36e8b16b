"""Task names of each suite."""

from assay.extensions.dropin.benchmark import libero_suites, task_maps

libero_task_map = {suite: list(task_maps[suite]) for suite in libero_suites}
