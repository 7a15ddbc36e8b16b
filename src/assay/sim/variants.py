"""Categories that are another one in another colour, pattern or size, such as LIBERO-PRO's ``yellow_cabinet``: a table.

A row of ``variants.yaml`` is all that a new one takes: what its base does it does too, and a pack that makes its
parts itself can make it from the base.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from types import MappingProxyType
from typing import TypeVar

import yaml

from assay.tasks.scene import Pattern

Value = TypeVar("Value")
Colour = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class CategoryVariant:
    """What a category is made from."""

    base: str
    """The category it is a variant of, or the blank of a book; not a variant itself."""
    colour: Colour | None = None
    """Red, green, blue of its brightest part, 0 to 1; darker parts of the base stay darker. None: the base's."""
    dark: Colour | None = None
    """Red, green, blue of its darkest part; parts between are mixed of the two. None: a shade of ``colour``."""
    size: float = 1.0
    """How large it is, as a factor on the base's lengths."""
    pattern: Pattern | None = None
    """Drawn in ``colour``, on all of it."""


def _read() -> Mapping[str, CategoryVariant]:
    rows = yaml.safe_load(files("assay.sim").joinpath("variants.yaml").read_text(encoding="utf-8"))
    return MappingProxyType(
        {
            category: CategoryVariant(
                row["base"],
                tuple(row["colour"]) if "colour" in row else None,
                tuple(row["dark"]) if "dark" in row else None,
                float(row.get("size", 1.0)),
                Pattern(row["pattern"]) if "pattern" in row else None,
            )
            for category, row in rows.items()
        }
    )


VARIANTS = _read()
"""Every variant by its category."""


def with_variants(table: Mapping[str, Value]) -> Mapping[str, Value]:
    """A table by category, in which a variant without a row of its own has that of its base."""
    inherited = {name: table[each.base] for name, each in VARIANTS.items() if each.base in table}
    return MappingProxyType(inherited | dict(table))
