"""Optional dependencies, and the error message with the command to install them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from types import MappingProxyType

from assay.errors import AssayError

DISTRIBUTION = "assay-robotics"
"""Name of this project on the package index, where `assay` is an unrelated project."""
EXTRAS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "words": ("spacy", "tokenizers", "safetensors", "threadpoolctl", "sacrebleu"),
        "video": ("av", "nanoarrow"),
        "ui": ("fastapi", "uvicorn"),
        "ray": ("ray",),
        "learn": ("torch",),
        "eqa": ("sklearn", "tfrecord", "crc32c"),
        "gym": ("gymnasium",),
        "wandb": ("wandb",),
        "trackio": ("trackio",),
        "track": ("wandb", "trackio"),
    }
)
"""Modules installed by each extra of ``pyproject.toml``."""


def require(extra: str, needs: str, error: type[AssayError] = AssayError) -> None:
    """Raise an error with the installation command unless all modules of an extra are installed.

    ``needs`` is the beginning of the message: ``learned policies need torch``.
    """
    if any(find_spec(module) is None for module in EXTRAS[extra]):
        raise error(f"{needs}. Install with: pip install '{DISTRIBUTION}[{extra}]'")


@contextmanager
def optional_import(extra: str, needs: str, error: type[AssayError] = AssayError) -> Iterator[None]:
    """Context manager in which modules of an extra are imported; a missing module raises the error of `require`."""
    try:
        yield
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in EXTRAS[extra]:
            raise
        raise error(f"{needs}. Install with: pip install '{DISTRIBUTION}[{extra}]'") from missing
