"""Assay: how much of a robot policy's success is understanding, and how much is memory?

assay.distance("turn on the stove", "turn on the range")  # how far an instruction has moved
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.perturb.words.distance import distance as distance

__version__ = "0.2.0.dev0"


def __getattr__(name: str) -> Any:
    """What takes long to import, when somebody asks for it."""
    if name == "distance":
        from assay.perturb.words.distance import distance

        return distance
    raise AttributeError(f"module 'assay' has no attribute '{name}'")
