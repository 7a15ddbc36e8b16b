"""The movable objects of the primitives: one module per family, tables of sizes and colours in each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from xml.etree.ElementTree import Element

from assay.sim.packs.primitives.objects import (
    abstract,
    books,
    bottles,
    boxes,
    cans,
    containers,
    drinks,
    moka,
    mugs,
    tableware,
)

_FAMILIES = (cans, boxes, drinks, bottles, tableware, mugs, moka, books, containers, abstract)

BUILDERS: Mapping[str, Callable[[], Element]] = MappingProxyType(
    {category: builder for family in _FAMILIES for category, builder in family.BUILDERS.items()}
)
"""From category to a function that returns a fresh ``<mujoco>`` document of it."""

BLANKS: Mapping[str, Callable[[], Element]] = books.BLANKS
"""Bases of variants that are no categories themselves: from name to document."""
