"""What stands behind an environment."""

from assay.dropin.domain import Domain as BDDLBaseDomain
from assay.dropin.problems import TASK_MAPPING, register_problem

__all__ = ["TASK_MAPPING", "BDDLBaseDomain", "register_problem"]
