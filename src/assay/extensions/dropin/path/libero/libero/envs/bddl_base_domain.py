"""The environment class that LIBERO's wrappers contain."""

from assay.extensions.dropin.domain import Domain as BDDLBaseDomain
from assay.extensions.dropin.env_wrapper import TASK_MAPPING
