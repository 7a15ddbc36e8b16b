"""What stands behind an environment."""

from assay.extensions.dropin.domain import Domain as BDDLBaseDomain
from assay.extensions.dropin.problems import TASK_MAPPING, register_problem

__all__ = ["TASK_MAPPING", "BDDLBaseDomain", "register_problem"]
