"""Policies that learn from demonstrations.

    schedule, checkpoint, loop    what every training shares: how long, how far, the file that comes of it
    visuomotor/                   for LIBERO's world: two cameras, proprioception and words; `assay learn`
    tabletop/                     for tables: prompts of words and pictures; `assay tabletop demos`, `train`

Torch, the extra ``learn``, is needed to train them and to let them act.
"""

from assay.errors import PolicyError
from assay.support.extras import require

__all__ = ["require_torch"]


def require_torch() -> None:
    """Raise PolicyError that says what to install, if torch is not there."""
    require("learn", "learned policies need torch", PolicyError)
