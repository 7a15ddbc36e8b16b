"""The pages: runs, a run, its episodes, one episode, two runs side by side."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, HTTPException, Query, Request, Response
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse

from assay.episodes import Trajectory, no_trajectory, task_of
from assay.errors import AssayError
from assay.measures import MeasureError
from assay.report.verdicts import in_a_word, verdicts
from assay.runs import queries
from assay.runs.queries import OUTCOMES, NotFoundError, Row, Run, differing, reading
from assay.runs.store import SUFFIX
from assay.web.charts import strips, views
from assay.web.difference import difference
from assay.web.episodes import Filters
from assay.web.library import is_running
from assay.web.replays import Replay, own_video
from assay.web.site import TheSite, shown

router = APIRouter()

Text = Annotated[str, Query(max_length=300)]
Number = Annotated[int | None, Query(ge=0, lt=2**63)]

REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'; sandbox"
)
"""The report holds its own styles and images; it runs nothing, and fetches nothing."""
RUN = f"/runs/{{name:path}}{SUFFIX}"


@router.get("/")
def runs(request: Request, site: TheSite) -> Response:
    """The list of runs."""
    return shown(request, "runs.html", folder=site.library.folder.name, runs=site.library.listed())


@router.get(f"{RUN}/live")
def live(name: str, site: TheSite) -> Response:
    """Where a run stands, for its page to show in place."""
    path = site.library.path(name)
    now = site.progress(path).as_json() | {"running": is_running(path)}
    return JSONResponse(now)


@router.get(f"{RUN}/episodes")
def episode_list(
    request: Request,
    site: TheSite,
    name: str,
    condition: Text = "",
    task: Text = "",
    outcome: Literal["", "success", "failure", "error", "waiting"] = "",
    object: Text = "",
    action: Text = "",
    label: Text = "",
    says: Text = "",
    after: Number = None,
    before: Number = None,
) -> Response:
    """A page of the episodes that are asked for."""
    path = site.library.path(name)
    filters = Filters(condition, task, outcome, object, action, label, says)
    with reading(path) as run:
        page = queries.page(run, filters, after=after, before=before)
    return shown(
        request,
        "episodes.html",
        name=name,
        page=page,
        filters=filters,
        choices=queries.choices(path),
        outcomes=OUTCOMES,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Side:
    """One of the two episodes that are shown side by side."""

    kind: str
    """``mine`` or ``other``."""
    title: str
    run: str
    row: Row
    path: Trajectory


@router.get(f"{RUN}/episodes/{{key}}")
def episode(request: Request, site: TheSite, name: str, key: str, beside: Text = "") -> Response:
    """One episode beside its control; or beside the same episode of another run."""
    path = site.library.path(name)
    with reading(path) as run:
        row = queries.one(run, key)
        control = queries.control_of(run, row)
        continuous = run.store.world.continuous
        mine = _side("mine", "this episode", name, run, row)
        other = None if control is None else _side("other", "its control", name, run, control)
        neighbours = queries.neighbours(run, row)
        traceback, clipped = queries.traceback_of(run, row), queries.clipped_of(run, row)
    if beside:
        with reading(site.library.path(beside)) as run:
            other = _side("other", f"the same in {beside}", beside, run, queries.one(run, key))
    original = control.instruction if control is not None else _original(row)
    return shown(
        request,
        "episode.html",
        name=name,
        beside=beside,
        row=row,
        neighbours=neighbours,
        traceback=traceback,
        clipped=clipped,
        sides=[mine] if other is None else [mine, other],
        original=original,
        pieces=difference(original, row.instruction) if row.instruction else (),
        longest=max(row.steps, 0 if other is None else other.row.steps),
        continuous=continuous,
        views=views(mine.path.end_effector, None if other is None else other.path.end_effector)
        if continuous
        else (),
        strips=strips(
            row.truth,
            row.steps,
            None if other is None else other.row.truth,
            0 if other is None else other.row.steps,
        ),
    )


@router.get(f"{RUN}/episodes/{{key}}/video")
def video(request: Request, site: TheSite, name: str, key: str) -> Response:
    """How far an episode's video is; asking orders it."""
    return JSONResponse(_replay(request, site, name, key).as_json())


@router.get(f"{RUN}/episodes/{{key}}/video.mp4")
def film_file(request: Request, site: TheSite, name: str, key: str) -> Response:
    """The video, when it is ready."""
    replay = _replay(request, site, name, key)
    if replay.path is None or not replay.path.is_file():
        raise NotFoundError(f"the video is not ready ({replay.state})")
    return FileResponse(replay.path, media_type="video/mp4")


@router.get(f"{RUN}/report")
def report_page(request: Request, site: TheSite, name: str) -> Response:
    """The report, within the app."""
    return shown(request, "report.html", name=name, running=is_running(site.library.path(name)))


@router.get(f"{RUN}/report.html")
def report(site: TheSite, name: str) -> Response:
    """The report as `assay report` writes it, of what is done so far."""
    page = site.report(site.library.path(name))
    return HTMLResponse(page.encode(errors="replace"), headers={"Content-Security-Policy": REPORT_POLICY})


@router.get(RUN)
def run_page(request: Request, site: TheSite, name: str) -> Response:
    """A run: success per condition and cell, live while it runs."""
    path = site.library.path(name)
    with reading(path) as run:
        meta, damaged = run.store.meta, run.store.damaged()
    others = [each for each in site.library.names() if each != name]
    return shown(
        request,
        "run.html",
        name=name,
        meta=meta,
        others=others,
        damaged=damaged,
        running=is_running(path),
        progress=site.progress(path),
    )


@router.get("/compare")
def compare_page(
    request: Request, site: TheSite, a: Text = "", b: Text = "", condition: Text = "", after: Number = None
) -> Response:
    """Two runs on the same specs."""
    values: dict[str, Any] = {"comparison": None, "page": None, "problem": "", "said": (), "drops": ()}
    if a and b:
        first, second = (site.library.path(each) for each in (a, b))
        try:
            found = site.contrast(first, second)
            every = (*found.robustness, *found.robustness_by_condition)
            values |= {
                "comparison": found,
                "said": verdicts(found),
                "drops": [(each, in_a_word(each)) for each in every if each.aspect == "drop"],
            }
            with reading(first) as run:
                values["page"] = differing(run, second, condition, after or 0)
        except MeasureError as error:
            values["problem"] = str(error)
    return shown(request, "compare.html", a=a, b=b, condition=condition, names=site.library.names(), **values)


def _side(kind: str, title: str, name: str, run: Run, row: Row) -> _Side:
    found = [path for _, path in run.store.trajectories([row.id])]
    return _Side(kind, title, name, row, found[0] if found else no_trajectory())


def _original(row: Row) -> str:
    """What the task's instruction is, where no control tells."""
    try:
        return str(task_of(queries.spec_of(row).control()).instruction.words)
    except AssayError:
        return ""


def _replay(request: Request, site: TheSite, name: str, key: str) -> Replay:
    # A page elsewhere must not be able to keep this machine busy.
    if request.headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
        raise HTTPException(403, "videos are for the pages of this app")
    path: Path = site.library.path(name)
    with reading(path) as run:
        row = queries.one(run, key)
        if row.outcome is None:
            raise NotFoundError("the episode has not been done yet")
        spec = queries.spec_of(row)
        made = own_video(path, spec, row.outcome)
        if made is not None:
            return Replay("ready", path=made)
        actions = next(
            (each.actions for _, each in run.store.trajectories([row.id])), np.zeros((0, 7), np.float32)
        )
        states = run.store.states
        plugins = tuple(str(each["module"]) for each in run.store.meta.get("plugins", ()))
    error = row.error if row.outcome == "error" else ""
    return site.replays.video(spec, actions, row.outcome, error, states=states, plugins=plugins)
