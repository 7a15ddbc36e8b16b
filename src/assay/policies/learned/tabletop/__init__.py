"""Policies for the table that learn from demonstrations: `assay tabletop demos`, `assay tabletop train`.

Torch, the extra ``learn``, is needed to train them and to let them act.
"""

from assay.policies.learned.tabletop.models import MODELS, Model
from assay.policies.learned.tabletop.policy import LearnedPolicy

__all__ = ["MODELS", "LearnedPolicy", "Model"]
