"""LIBERO's suites and tasks."""

from assay.extensions.dropin.benchmark import (
    BENCHMARK_MAPPING,
    Benchmark,
    Task,
    get_benchmark,
    get_benchmark_dict,
    grab_language_from_filename,
    libero_suites,
    print_benchmark,
    register_benchmark,
    task_maps,
    task_orders,
)
from assay.extensions.dropin.session import get_libero_path

globals().update({suite.__name__: suite for suite in BENCHMARK_MAPPING.values()})  # LIBERO_GOAL etc.
