"""`get_libero_path`: the folders that scripts ask for, which exist."""

from __future__ import annotations

from assay.extensions.dropin.session import session
from assay.extensions.dropin.task_files import path_of

KEYS = ("benchmark_root", "bddl_files", "init_states", "datasets", "assets")


def get_libero_path(query_key: str) -> str:
    """The folder of a name in LIBERO's configuration."""
    if query_key not in KEYS:
        raise AssertionError(f"Key {query_key} not found. Available keys are: {list(KEYS)}")
    return path_of(query_key)


def get_default_path_dict(custom_location: str | None = None) -> dict[str, str]:
    """All of them."""
    return {key: path_of(key) for key in KEYS}


def set_libero_default_path(custom_location: str | None = None) -> None:
    """Leave everything where it is: the folders are Assay's."""
    print(f"assay libero: the folders stay in {session().folder}")
