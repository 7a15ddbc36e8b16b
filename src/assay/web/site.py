"""State and templates shared by the pages."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Depends, Query, Request, Response
from fastapi.responses import HTMLResponse
from markupsafe import Markup, escape

from assay import __version__
from assay.measures.compare import Comparison, compare
from assay.measures.views.wording import between, p_value, percent, points, thing
from assay.report.comparison import read_outcomes
from assay.report.page import build
from assay.report.rendering import GLOSSARY, environment
from assay.report.run_report import RunReport
from assay.web.library import Library, cached, run_address
from assay.web.queries import read_choices
from assay.web.replays import Replays

SHADES = 10
"""Number of colour steps in the heat map."""
Text = Annotated[str, Query(max_length=300)]


def _build_report(path: Path) -> tuple[str, tuple[str, ...]]:
    """Return the report on a run as HTML, and its findings or, if there are none, the uncertain losses."""
    report = RunReport.read(path)
    return build([report]).html(), report.conclusions.found or report.conclusions.unsure


class Site:
    """The runs of a web app, and cached results computed from them."""

    def __init__(self, library: Library, replays: Replays) -> None:
        self.library, self.replays = library, replays
        self.report: Callable[[Path], tuple[str, tuple[str, ...]]] = cached(_build_report)
        """Function that returns the report on a run as HTML, and its findings."""
        self.comparison: Callable[[Path, Path], Comparison] = cached(
            lambda first, second: compare({"A": read_outcomes(first), "B": read_outcomes(second)})
        )
        """Function that compares two runs, "A" and "B". Raises MeasureError if they share no episode."""
        self.choices: Callable[[Path], dict[str, Any]] = cached(read_choices)


def _site(request: Request) -> Site:
    site = request.app.state.site
    assert isinstance(site, Site)
    return site


TheSite = Annotated[Site, Depends(_site)]

_BREAK_AFTER = re.compile(r"[,/+_]|=(?!&)")
"""Pattern of the characters in an id after which a line break is allowed."""
_templates = environment("assay.web")
_templates.filters |= {
    "percent": percent,
    "between": between,
    "points": points,
    "p_value": p_value,
    "thing": thing,
    "part": lambda text: quote(str(text), safe=""),
    "breaks": lambda text: Markup(_BREAK_AFTER.sub(r"\g<0><wbr>", str(escape(text)))),
    "shade": lambda rate: round(rate * SHADES),
    "when": lambda text: str(text)[:16].replace("T", " "),
}
_templates.globals |= {"version": __version__, "address": run_address, "glossary": GLOSSARY}


def render(request: Request, template: str, **values: Any) -> str:
    """Return the HTML rendered from a template."""
    return _templates.get_template(template).render(request=request, **values)


def render_page(request: Request, template: str, *, status: int = 200, **values: Any) -> Response:
    """Return a response with the page rendered from a template."""
    html = render(request, template, **values)
    # Texts from run files may contain lone surrogates, which UTF-8 cannot encode.
    return HTMLResponse(html.encode(errors="replace"), status)
