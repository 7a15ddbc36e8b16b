"""Pages from the templates of this package: what a run holds is escaped, what is missing is an error."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from assay.support.console import readable


def rendered(template: str, *, finalize: Callable[..., Any] | None = None, **values: object) -> str:
    """The page that a template gives; ``finalize`` is applied to each value that is put in."""
    return _environment(finalize).get_template(template).render(**values)


@cache
def _environment(finalize: Callable[..., Any] | None) -> Environment:
    """Holds the templates that were compiled; one for each way to finalize, which is a module's function."""
    return Environment(
        loader=PackageLoader("assay.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=in_page if finalize is None else lambda value: in_page(finalize(value)),
        trim_blocks=True,
        lstrip_blocks=True,
    )


def in_page(value: Any) -> Any:
    """What is put into a page: of a text, what a browser shows and does not obey."""
    return type(value)(readable(value)) if isinstance(value, str) else value
