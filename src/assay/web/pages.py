"""The pages: runs, a run, its episodes, one episode, two runs side by side."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, HTTPException, Query, Request, Response
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse

from assay.episodes import Trajectory, no_trajectory, task_of, world_of
from assay.errors import AssayError
from assay.measures import MeasureError
from assay.report.verdicts import in_a_word, verdicts
from assay.runs import queries
from assay.runs.description import describe_meta
from assay.runs.queries import OUTCOMES, Conduct, NotFoundError, Row, Run, differing, reading
from assay.runs.store import SUFFIX
from assay.web.charts import panels, strips, views
from assay.web.conduct import side_effects_in_words
from assay.web.difference import difference
from assay.web.episodes import Asked, Filters, Text
from assay.web.library import is_running
from assay.web.replays import Recorded, own_video
from assay.web.site import Site, TheSite, rendered, shown, theme

router = APIRouter()

Number = Annotated[int | None, Query(ge=0, lt=2**63)]
PageNumber = Annotated[int, Query(alias="page", ge=1, lt=2**31)]
CARDS = 24
"""Episodes on a page of the gallery."""

REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'; sandbox"
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
    progress, running = site.progress(path), is_running(path)
    pace = site.pace(path, progress.done, progress.planned) if running else None
    return JSONResponse(progress.as_json() | {"running": running, "pace": pace})


@router.get(f"{RUN}/finding")
def finding(name: str, site: TheSite) -> Response:
    """What the report of a run begins with; measuring takes a while, so the run's page asks for it."""
    try:
        return JSONResponse({"found": site.report(site.library.path(name)).found})
    except NotFoundError:
        raise
    except AssayError as error:
        return JSONResponse({"found": [], "problem": str(error)})


@router.get(f"{RUN}/episodes")
def episode_list(
    request: Request, site: TheSite, name: str, filters: Asked, number: PageNumber = 1
) -> Response:
    """A page of the episodes that are asked for."""
    path = site.library.path(name)
    site.replays.warm()
    with reading(path) as run:
        _tell(site, run, path, filters)
        page = queries.page(run, filters, filters.sort, number)
    return shown(
        request,
        "episodes.html",
        name=name,
        page=page,
        filters=filters,
        choices=queries.choices(path),
        outcomes=OUTCOMES,
    )


@router.get(f"{RUN}/gallery")
def gallery(request: Request, site: TheSite, name: str, filters: Asked, number: PageNumber = 1) -> Response:
    """How many episodes ended, in pictures; failures, unless something else is asked for."""
    path = site.library.path(name)
    site.replays.warm()
    with reading(path) as run:
        _tell(site, run, path, filters)
        page = queries.page(run, filters, filters.sort, number, CARDS)
        away = (
            site.divergences.of(run, path, [row.id for row in page.rows])
            if run.store.world.continuous
            else {}
        )
    return shown(
        request,
        "gallery.html",
        name=name,
        page=page,
        filters=filters,
        away=away,
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
    touches: dict[str, list[tuple[int, int]]]
    """When the robot touched each thing, steps [first, last)."""
    conduct: Conduct
    """How it went, beyond success."""
    told: tuple[str, ...]
    """What was done besides, in words, with numbers."""


@router.get(f"{RUN}/episodes/{{key}}")
def episode(
    request: Request, site: TheSite, name: str, key: str, filters: Asked, beside: Text = ""
) -> Response:
    """One episode beside its control; or beside the same episode of another run."""
    path = site.library.path(name)
    with reading(path) as run:
        row = queries.one(run, key)
        control = queries.control_of(run, row)
        continuous = run.store.world.continuous
        mine = _side("mine", "this episode", name, run, row)
        other = None if control is None else _side("other", "its control", name, run, control)
        _tell(site, run, path, filters)
        place = queries.place_of(run, row, filters, filters.sort)
        away = site.divergences.of(run, path, [row.id]).get(row.id)
        traceback, clipped = queries.traceback_of(run, row), queries.clipped_of(run, row)
        events = queries.events_of(run, row)
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
        filters=filters,
        place=place,
        away=away,
        traceback=traceback,
        clipped=clipped,
        events=events,
        sides=[mine] if other is None else [mine, other],
        original=original,
        pieces=difference(original, row.instruction) if row.instruction else (),
        longest=max(row.steps, 0 if other is None else other.row.steps),
        continuous=continuous,
        step_seconds=_step_seconds(row.task),
        views=views(mine.path.end_effector, None if other is None else other.path.end_effector)
        if continuous
        else (),
        panels=panels(mine.path, None if other is None else other.path) if continuous else (),
        strips=strips(
            row.truth,
            row.steps,
            None if other is None else other.row.truth,
            0 if other is None else other.row.steps,
        ),
        touches=strips(
            mine.touches,
            row.steps,
            None if other is None else other.touches,
            0 if other is None else other.row.steps,
        ),
    )


@router.get(f"{RUN}/episodes/{{key}}/video")
def video(request: Request, site: TheSite, name: str, key: str, ahead: bool = False) -> Response:
    """How far an episode's video is; asking orders it. ``ahead``: before anybody waits for it."""
    return JSONResponse(site.replays.video(_recorded(request, site, name, key), ahead=ahead).as_json())


@router.get(f"{RUN}/episodes/{{key}}/video.mp4")
def video_file(request: Request, site: TheSite, name: str, key: str, video: Text = "") -> Response:
    """The video of that name, which a browser reads in parts while a better one is made; or the best there is."""
    recorded = _recorded(request, site, name, key)
    replay = site.replays.video(recorded)
    path = site.replays.named(recorded, video) or replay.path
    if path is None:
        raise NotFoundError(f"the video is not ready ({replay.state})")
    return FileResponse(path, media_type="video/mp4")


@router.get(f"{RUN}/episodes/{{key}}/video.jpg")
def poster_file(request: Request, site: TheSite, name: str, key: str) -> Response:
    """The video's first picture, which is there before it."""
    replay = site.replays.video(_recorded(request, site, name, key))
    if replay.poster is None:
        raise NotFoundError(f"the picture is not ready ({replay.state})")
    return FileResponse(replay.poster, media_type="image/jpeg")


@router.get(f"{RUN}/episodes/{{key}}/still")
def still(request: Request, site: TheSite, name: str, key: str) -> Response:
    """How far the picture of an episode's end is; asking orders it."""
    return JSONResponse(site.replays.still(_recorded(request, site, name, key)).as_json())


@router.get(f"{RUN}/episodes/{{key}}/still.jpg")
def still_file(request: Request, site: TheSite, name: str, key: str) -> Response:
    """How an episode ended."""
    replay = site.replays.still(_recorded(request, site, name, key))
    if replay.path is None:
        raise NotFoundError(f"the picture is not ready ({replay.state})")
    return FileResponse(replay.path, media_type="image/jpeg")


@router.get(f"{RUN}/report")
def report_page(request: Request, site: TheSite, name: str) -> Response:
    """The report within the app: the same page, under the app's own header."""
    path = site.library.path(name)
    told = site.report(path).page
    top = rendered(request, "report.html", name=name, running=is_running(path))
    return _reported(told.replace("<body>", f"<body>{top}", 1), request, "style-src 'unsafe-inline' 'self'")


@router.get(f"{RUN}/report.html")
def report(request: Request, site: TheSite, name: str) -> Response:
    """The report as `assay report` writes it, of what is done so far."""
    return _reported(site.report(site.library.path(name)).page, request)


def _reported(page: str, request: Request, styles: str = "style-src 'unsafe-inline'") -> Response:
    chosen = theme(request)
    dressed = page.replace("<html ", f'<html data-theme="{chosen}" ', 1) if chosen else page
    policy = REPORT_POLICY.replace("style-src 'unsafe-inline'", styles)
    return HTMLResponse(dressed.encode(errors="replace"), headers={"Content-Security-Policy": policy})


@router.get(RUN)
def run_page(request: Request, site: TheSite, name: str) -> Response:
    """A run: success per condition and cell, live while it runs."""
    path = site.library.path(name)
    with reading(path) as run:
        meta, damaged = run.store.meta, run.store.damage
    site.replays.warm()
    progress, running = site.progress(path), is_running(path)
    if running:
        site.pace(path, progress.done, progress.planned)  # what the first news is set against
    return shown(
        request,
        "run.html",
        name=name,
        meta=meta,
        about=describe_meta(meta),
        others=site.library.alike(name),
        damaged=damaged,
        running=running,
        progress=progress,
    )


@router.get("/compare")
def compare_page(
    request: Request,
    site: TheSite,
    a: Text = "",
    b: Text = "",
    run: Annotated[list[str], Query(max_length=2)] = [],  # noqa: B006
    condition: Text = "",
    after: Number = None,
) -> Response:
    """Two runs on the same specs: A and B, or two that were chosen in the list."""
    a, b = (*run, a, b)[:2]
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
            with reading(first) as opened:
                values["page"] = differing(opened, second, condition, after or 0)
        except MeasureError as error:
            values["problem"] = str(error)
    names = site.library.names()
    values["alike"] = site.library.alike(a) if a in names else names
    return shown(request, "compare.html", a=a, b=b, condition=condition, names=names, **values)


def _side(kind: str, title: str, name: str, run: Run, row: Row) -> _Side:
    found = [path for _, path in run.store.trajectories([row.id])]
    conduct = queries.conduct_of(run, row)
    return _Side(
        kind,
        title,
        name,
        row,
        found[0] if found else no_trajectory(),
        queries.contacts_of(run, row),
        conduct,
        side_effects_in_words(conduct.side_effects),
    )


def _tell(site: Site, run: Run, path: Path, filters: Filters) -> None:
    """Let episodes be sorted by where they leave their control, if that is asked for."""
    if filters.sort.removeprefix(queries.DESCENDING) == "diverges":
        run.tell("diverges", site.divergences.steps(run, path).get)


def _original(row: Row) -> str:
    """What the task's instruction is, where no control tells."""
    try:
        return str(task_of(queries.spec_of(row).control()).instruction.words)
    except AssayError:
        return ""


def _step_seconds(task: str) -> float:
    """How long a control step, or an action that is a whole motion, is shown in a video, seconds."""
    try:
        return world_of(task).frame_seconds
    except AssayError:  # a plugin's world that is not here: there are no videos, either
        return 0.05


def _recorded(request: Request, site: Site, name: str, key: str) -> Recorded:
    # A page elsewhere must not be able to keep this machine busy.
    if request.headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
        raise HTTPException(403, "videos are for the pages of this app")
    path: Path = site.library.path(name)
    with reading(path) as run:
        row = queries.one(run, key)
        if row.outcome is None:
            raise NotFoundError("the episode has not been done yet")
        spec = queries.spec_of(row)
        actions = next(
            (each.actions for _, each in run.store.trajectories([row.id])), np.zeros((0, 7), np.float32)
        )
        return Recorded(
            spec,
            actions,
            row.outcome,
            row.error if row.outcome == "error" else "",
            states=run.store.states,
            plugins=tuple(str(each["module"]) for each in run.store.meta.get("plugins", ())),
            own=own_video(path, spec, row.outcome),
        )
