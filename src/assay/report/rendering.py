"""Templates of pages, and the glossary that pages show."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined

from assay.support.console import readable

GLOSSARY: Mapping[str, str] = MappingProxyType(
    yaml.safe_load(Path(__file__).with_name("glossary.yaml").read_text(encoding="utf-8"))
)
"""Definitions of the terms used in reports, the web app and the documentation, in alphabetical order."""


def render(template: str, *, finalize: Callable[..., Any] | None = None, **values: object) -> str:
    """Return the HTML of a template of this package; ``finalize`` is applied to each inserted value."""
    return environment("assay.report", finalize).get_template(template).render(**values)


@cache
def environment(package: str, finalize: Callable[..., Any] | None = None) -> Environment:
    """Return the template environment of a package, which escapes values and rejects undefined ones.

    Cached with its compiled templates.
    """
    return Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=replace_controls if finalize is None else lambda value: replace_controls(finalize(value)),
        trim_blocks=True,
        lstrip_blocks=True,
    )


def replace_controls(value: Any) -> Any:
    """Return a value for display on a page, with control characters in text replaced."""
    return type(value)(readable(value)) if isinstance(value, str) else value
