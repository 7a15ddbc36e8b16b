"""What not everybody needs, and the one line that says how to install it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from types import MappingProxyType

from assay.errors import AssayError

DISTRIBUTION = "assay-robotics"
"""What Assay is called on the package index, where `assay` is another project."""
EXTRAS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "ray": ("ray",),
        "learn": ("torch",),
        "vlm": ("transformers", "torch"),
        "eqa": ("sklearn", "tfrecord", "crc32c"),
        "bleu": ("sacrebleu",),
        "gym": ("gymnasium",),
        "gr00t": ("zmq",),
        "wandb": ("wandb",),
        "trackio": ("trackio",),
        "tensorboard": ("tensorboard",),
        "track": ("wandb", "trackio", "tensorboard"),
        "rerun": ("rerun",),
    }
)
"""The modules that each extra of ``pyproject.toml`` brings."""


def require(extra: str, needs: str, error: type[AssayError] = AssayError) -> None:
    """Raise an error that says what to install, unless all of an extra is here.

    ``needs`` is the beginning of its line: ``learned policies need torch``.
    """
    if any(find_spec(module) is None for module in EXTRAS[extra]):
        raise error(f"{needs}. Install with: pip install '{DISTRIBUTION}[{extra}]'")
