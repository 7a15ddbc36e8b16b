"""Pages about whole runs: the list, one run, its report, and the comparison of two runs."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse

from assay.errors import AssayError
from assay.measures.result import MeasureError
from assay.runs.provenance import describe_meta
from assay.runs.store import SUFFIX
from assay.web.library import is_running
from assay.web.queries import NotFoundError, read_differing, reading
from assay.web.site import Text, TheSite, render, render_page

router = APIRouter()

RUN = f"/runs/{{name:path}}{SUFFIX}"
RowId = Annotated[int | None, Query(ge=0, lt=2**63)]


@router.get("/")
def run_list(request: Request, site: TheSite) -> Response:
    """Show the list of runs."""
    return render_page(request, "runs.html", folder=site.library.folder.name, runs=site.library.summaries())


@router.get("/glossary")
def glossary(request: Request) -> Response:
    """Show the definitions of all terms."""
    return render_page(request, "glossary.html")


@router.get(f"{RUN}/finding")
def findings(name: str, site: TheSite) -> Response:
    """Return the findings of a run's report, which the run page fetches separately because measuring takes a while."""
    try:
        return JSONResponse({"findings": site.report(site.library.path(name))[1]})
    except NotFoundError:
        raise
    except AssayError as error:
        return JSONResponse({"findings": [], "problem": str(error)})


@router.get(f"{RUN}/report")
@router.get(f"{RUN}/report.html")
def report(request: Request, site: TheSite, name: str) -> Response:
    """Show the report on the finished episodes, under the app's navigation bar or as `assay report` writes it."""
    path = site.library.path(name)
    html, _ = site.report(path)
    styles = "'unsafe-inline'"
    if not request.url.path.endswith(".html"):
        bar = render(request, "report_bar.html", name=name, running=is_running(path))
        html, styles = html.replace("<body>", f"<body>{bar}", 1), f"{styles} 'self'"
    # The report embeds its styles and images, and runs no scripts. It keeps its origin, so that its links to other
    # pages do not count as links from another site.
    policy = f"default-src 'none'; style-src {styles}; img-src data:; frame-ancestors 'none'; sandbox allow-same-origin"
    return HTMLResponse(html.encode(errors="replace"), headers={"Content-Security-Policy": policy})


@router.get(RUN)
def run_page(request: Request, site: TheSite, name: str) -> Response:
    """Show success by condition and paraphrase type; the page polls for updates while the run is in progress."""
    path = site.library.path(name)
    with reading(path) as run:
        meta, damaged = run.store.meta, run.store.damage
    experiment = str(meta.get("experiment", ""))
    return render_page(
        request,
        "run.html",
        name=name,
        meta=meta,
        about=describe_meta(meta),
        others=[other for other in site.library.names(experiment) if other != name],
        damaged=damaged,
        running=is_running(path),
        progress=site.library.progress(path),
    )


@router.get("/compare")
def compare_page(
    request: Request,
    site: TheSite,
    a: Text = "",
    b: Text = "",
    run: Annotated[list[str], Query(max_length=2)] = [],  # noqa: B006
    condition: Text = "",
    after: RowId = None,
) -> Response:
    """Compare two runs on the same episodes: ``a`` and ``b``, or two values of ``run`` from the list's checkboxes."""
    a, b = (*run, a, b)[:2]
    values: dict[str, Any] = {"comparison": None, "page": None, "problem": "", "verdicts": (), "drops": ()}
    if a and b:
        first, second = (site.library.path(name) for name in (a, b))
        try:
            comparison = site.comparison(first, second)
            contrasts = (*comparison.robustness, *comparison.robustness_by_condition)
            values |= {
                "comparison": comparison,
                "verdicts": comparison.verdicts(),
                "drops": [(drop, drop.verdict) for drop in contrasts if drop.aspect == "drop"],
            }
            with reading(first) as opened:
                values["page"] = read_differing(opened, second, condition, after or 0)
        except MeasureError as error:
            values["problem"] = str(error)
    names = site.library.names()
    return render_page(request, "compare.html", a=a, b=b, condition=condition, names=names, **values)
