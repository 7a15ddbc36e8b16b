"""What things are called: the surface forms of categories in LIBERO's own instructions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType

import yaml

_WORD = re.compile(r"[a-z0-9']+")
_THING = re.compile(r"((?P<category>.+)_\d+)(?:_[a-z_]+)?")
"""Names of things end in a number, those of their regions go on after it: ``wooden_cabinet_1_top_region``."""
_WORKSPACE = re.compile(r"(?P<category>\w*?(?:table|floor))_\w+")


@cache
def surface_forms() -> Mapping[str, tuple[str, ...]]:
    """Category -> what instructions call it, the usual form first."""
    text = files("assay.tasks").joinpath("names.yaml").read_text(encoding="utf-8")
    return MappingProxyType({category: tuple(forms) for category, forms in yaml.safe_load(text).items()})


def names_of(category: str) -> tuple[str, ...]:
    """What instructions call a category; for one without an entry, its own words."""
    return surface_forms().get(category, (category.replace("_", " "),))


def words(text: str) -> tuple[str, ...]:
    """The words of a text, in lower case and without punctuation."""
    return tuple(_WORD.findall(text.lower()))


def mentions(text: str, form: str) -> bool:
    """Whether a form occurs in a text, word for word."""
    return f" {' '.join(words(form))} " in f" {' '.join(words(text))} "


def thing_of(name: str) -> str:
    """The thing that a goal names, or whose region it names; any other name is its own."""
    return found[1] if (found := _THING.fullmatch(name)) else name


def category_of(name: str) -> str:
    """The category of what a goal names, from its name: ``chefmate_8_frypan_1`` is a chefmate_8_frypan.

    A region of the workspace, ``main_table_plate_region``, belongs to the table or the floor.
    """
    found = _THING.fullmatch(name) or _WORKSPACE.fullmatch(name)
    return found["category"] if found else name
