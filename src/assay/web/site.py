"""What the pages share: the runs, the videos, what is known already, and the templates."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Depends, Request, Response
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from assay import __version__
from assay.measures.compare import Comparison
from assay.measures.views.wording import between, p_value, percent, points, thing
from assay.report.page import build
from assay.report.rendering import in_page
from assay.report.run_report import RunReport
from assay.web.contrast import contrast
from assay.web.divergence import Divergences
from assay.web.library import Library, run_address
from assay.web.memo import Memo
from assay.web.progress import Pace, Progress, progress
from assay.web.replays import Replays

SHADES = 10
"""Steps of the heat map's colours."""


@dataclass(frozen=True, slots=True)
class Site:
    """One app's belongings."""

    library: Library
    replays: Replays
    progress: Memo[Progress] = field(default_factory=lambda: Memo(progress))
    report: Memo[Told] = field(default_factory=lambda: Memo(_report))
    contrast: Memo[Comparison] = field(default_factory=lambda: Memo(contrast))
    divergences: Divergences = field(default_factory=Divergences)
    pace: Pace = field(default_factory=Pace)


@dataclass(frozen=True, slots=True)
class Told:
    """What a report says."""

    page: str
    found: tuple[str, ...]
    """What it begins with: the findings, or why there are none."""


def _report(path: Path) -> Told:
    built = build([RunReport.read(path)])
    diagnosis = built.parts[0].diagnosis
    return Told(built.html(), tuple(diagnosis.found or diagnosis.unsure))


def _site(request: Request) -> Site:
    found = request.app.state.site
    assert isinstance(found, Site)
    return found


TheSite = Annotated[Site, Depends(_site)]

_BREAKS = re.compile(r"[,/+_]|=(?!&)")
"""After what an id may go on in the next line."""
_templates = Environment(
    loader=PackageLoader("assay.web"),
    autoescape=True,
    undefined=StrictUndefined,
    finalize=in_page,
    trim_blocks=True,
    lstrip_blocks=True,
)
_templates.filters |= {
    "percent": percent,
    "between": between,
    "points": points,
    "p_value": p_value,
    "thing": thing,
    "part": lambda text: quote(str(text), safe=""),
    "breaks": lambda text: Markup(_BREAKS.sub(r"\g<0><wbr>", str(escape(text)))),
    "shade": lambda rate: round(rate * SHADES),
    "when": lambda text: str(text)[:16].replace("T", " "),
}
_templates.globals |= {"version": __version__, "address": run_address}


def warm(site: Site) -> None:
    """Make what the first page would wait for: the list of runs, with all of them examined, and the templates."""
    with suppress(OSError):  # the folder may be gone; whoever asks is told
        site.library.listed()
    for name in _templates.list_templates():
        _templates.get_template(name)


def theme(request: Request) -> str:
    """Whether a person chose light or dark; empty to follow the system."""
    chosen = request.cookies.get("theme", "")
    return chosen if chosen in ("light", "dark") else ""


def rendered(request: Request, template: str, **values: Any) -> str:
    """A page's text."""
    return _templates.get_template(template).render(request=request, theme=theme(request), **values)


def shown(request: Request, template: str, *, status: int = 200, **values: Any) -> Response:
    """A page."""
    text = rendered(request, template, **values)
    # What a file holds need not be Unicode; a lone surrogate cannot be sent.
    return HTMLResponse(text.encode(errors="replace"), status)
