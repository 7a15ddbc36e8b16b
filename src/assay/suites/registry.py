"""Suites by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from assay.errors import SuiteError, did_you_mean
from assay.suites.base import Suite

_SUITES: Mapping[str, Suite] = MappingProxyType(
    {
        suite.name: suite
        for suite in (Suite("libero", "The tasks as they are: the baseline.", variants=lambda task: ()),)
    }
)


def names() -> tuple[str, ...]:
    """Every suite there is."""
    return tuple(_SUITES)


def load_suite(name: str) -> Suite:
    """The suite of that name. Raises SuiteError that says what would be valid."""
    if name not in _SUITES:
        raise SuiteError(f"there is no suite '{name}': {did_you_mean(name, _SUITES)}")
    return _SUITES[name]
