"""Policies of the table by address: built-in names, or ``python:pkg.module:Class``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from assay.errors import PolicyError
from assay.policies.registry import PYTHON, made_policy
from assay.policies.table.calibration import FirstObject, OrderFollower, PromptBlind, RandomPlaces
from assay.tabletop import TableOracle, TablePolicy


def _learned(checkpoint: str = "", retry: bool = True) -> TablePolicy:
    """A network of `assay tabletop train`; ``retry``: whether it tries otherwise what changed nothing."""
    from assay.policies.learned import LearnedPolicy

    policy: TablePolicy = LearnedPolicy(checkpoint, retry)
    return policy


TABLE_POLICIES: Mapping[str, Callable[..., TablePolicy]] = MappingProxyType(
    {
        "oracle": TableOracle,
        "promptblind": PromptBlind,
        "order-follower": OrderFollower,
        "first-object": FirstObject,
        "random": RandomPlaces,
        "learned": _learned,
    }
)


def load_table_policy(address: str) -> TablePolicy:
    """A new policy. Raises PolicyError that says what would be valid."""
    if "://" in address:
        valid = ", ".join(TABLE_POLICIES)
        raise PolicyError(f"'{address}': no server for tables; valid: {valid}, or python:pkg.module:Class")
    policy: TablePolicy = made_policy(address, TABLE_POLICIES)
    return policy


def check_table_address(address: str) -> dict[str, str]:
    """Raise PolicyError if an address cannot be right; nobody's own code is loaded.

    Returns what a learned policy says about itself.
    """
    if address.startswith(PYTHON):
        return {}
    said: Mapping[str, object] = getattr(load_table_policy(address), "metadata", {})
    return {name: str(value)[:200] for name, value in said.items()}
