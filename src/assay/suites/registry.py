"""Suites by name; a question mark sets fields: ``para?per_cell=2``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

from assay.addresses import configured
from assay.errors import SuiteError, did_you_mean
from assay.suites.base import Suite
from assay.suites.corruption import corruption
from assay.suites.factors import factors
from assay.suites.para import para
from assay.suites.plus import plus
from assay.suites.pro import pro
from assay.suites.releases import libero_plus, libero_pro, libero_x
from assay.suites.tabletop import prompts, tabletop
from assay.suites.x import x


def libero() -> Suite:
    """The unperturbed baseline."""
    return Suite("libero", "The tasks as they are: the baseline.", variants=lambda task: ())


SUITES: Mapping[str, Callable[..., Suite]] = MappingProxyType(
    {
        "libero": libero,
        "para": para,
        "corruption": corruption,
        "pro": pro,
        "x": x,
        "libero-pro": libero_pro,
        "libero-x": libero_x,
        "libero-plus": libero_plus,
        "plus": plus,
        "factors": factors,
        "tabletop": tabletop,
        "prompts": prompts,
    }
)


def names() -> tuple[str, ...]:
    """Every suite there is."""
    return tuple(SUITES)


def load_suite(address: str) -> Suite:
    """The suite of that name, with the fields its address sets. Raises SuiteError that says what is valid."""
    name, _, query = address.partition("?")
    if name not in SUITES:
        raise SuiteError(f"there is no suite '{name}': {did_you_mean(name, SUITES)}")
    suite: Suite = configured(SUITES[name], query, address, SuiteError)
    return replace(suite, name=address)
