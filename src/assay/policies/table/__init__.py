"""Policies for the table: the demonstrator, and some with known flaws.

policy = load_table_policy("order-follower")
"""

from assay.policies.table.calibration import FirstObject, OrderFollower, PromptBlind, RandomPlaces
from assay.policies.table.registry import TABLE_POLICIES, check_table_address, load_table_policy
from assay.policies.table.rollout import TableRollout, table_rollout

__all__ = [
    "TABLE_POLICIES",
    "FirstObject",
    "OrderFollower",
    "PromptBlind",
    "RandomPlaces",
    "TableRollout",
    "check_table_address",
    "load_table_policy",
    "table_rollout",
]
