"""Policies for the table that learn from demonstrations: `assay tabletop demos`, `assay tabletop train`.

Torch, the extra ``learn``, is needed to train them and to let them act.
"""

from assay.extensions.tabletop.networks.models import MODELS, Model
from assay.extensions.tabletop.networks.policy import LearnedPolicy

__all__ = ["MODELS", "LearnedPolicy", "Model"]
