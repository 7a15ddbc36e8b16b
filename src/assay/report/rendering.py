"""Templates of pages, and the glossary that pages show."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined

from assay.support.console import readable

GLOSSARY: Mapping[str, str] = yaml.safe_load(
    Path(__file__).with_name("glossary.yaml").read_text(encoding="utf-8")
)
"""Definitions of the terms used in reports, the web app and the documentation, in alphabetical order."""


def render(template: str, *, keep_units: bool = False, **values: object) -> str:
    """Return the HTML rendered from a template of this package; ``keep_units`` is explained in `environment`."""
    return environment("assay.report", keep_units=keep_units).get_template(template).render(**values)


@cache
def environment(package: str, *, keep_units: bool = False) -> Environment:
    """Return the template environment of a package, which escapes values and rejects undefined ones.

    Control characters in inserted texts are replaced. With ``keep_units``, lines are not broken between a number and
    its unit. The environment is cached with its compiled templates.
    """

    def finalize(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        text = readable(value)
        for sign in (" %", "p = ", "p < ", "n = ") if keep_units else ():
            text = text.replace(sign, sign.replace(" ", "\N{NO-BREAK SPACE}"))
        return type(value)(text)

    return Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
