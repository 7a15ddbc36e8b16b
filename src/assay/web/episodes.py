"""The pages about episodes: the list, the gallery, one episode beside its control, and its video."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from difflib import SequenceMatcher
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

import numpy as np
from fastapi import APIRouter, Depends, HTTPException, Query, Request, Response
from fastapi.responses import FileResponse, JSONResponse

from assay.episodes import EpisodeSpec, Trajectory, no_trajectory, task_of, world_of
from assay.errors import AssayError
from assay.measures.conduct.side_effects import LEFT_OPEN, MOVED, TOPPLED
from assay.measures.views.wording import thing
from assay.runs import replay
from assay.tasks.language.lexicon import thing_of
from assay.web import queries
from assay.web.pages import RUN
from assay.web.queries import OUTCOMES, EpisodeConduct, EpisodeRow, NotFoundError, OpenRun, reading
from assay.web.replays import EpisodeRecording, RenderStatus
from assay.web.site import Site, Text, TheSite, render_page
from assay.web.trajectories import build_panels, build_strips, build_views, divergences

router = APIRouter()

EPISODE = f"{RUN}/episodes/{{key}}"
PageNumber = Annotated[int, Query(alias="page", ge=1, lt=2**31)]
GALLERY_SIZE = 24
"""Episodes on a page of the gallery."""
MAX_DIFF_WORDS = 400
"""Maximum number of words of instructions that are compared word by word; longer ones would take too long."""
SORT_KEYS = "task|condition|seed|outcome|steps|diverges"
Sort = Annotated[str, Query(pattern=f"^(-?({SORT_KEYS}))?$")]


@dataclass(frozen=True, slots=True)
class SortedFilters(queries.Filters):
    """Requested episodes and their order; empty means all, in plan order."""

    sort: str = ""

    def query(self, **more: int | str) -> str:
        """The query string of an address."""
        values: dict[str, str | int] = {field.name: getattr(self, field.name) for field in fields(self)}
        return urlencode({name: value for name, value in (values | more).items() if value != ""})

    def sorted_by(self, name: str) -> str:
        """Return the query string that sorts by a column; descending if the page is already sorted by it."""
        return self.query(sort=f"{queries.DESCENDING}{name}" if self.sort == name else name)

    def direction(self, name: str) -> str:
        """The value of ``aria-sort`` of a column."""
        directions = {name: "ascending", f"{queries.DESCENDING}{name}": "descending"}
        return directions.get(self.sort, "none")

    @property
    def active(self) -> bool:
        """Whether any episodes are filtered out."""
        return bool(self.query(sort=""))


def _parse_filters(
    condition: Text = "",
    task: Text = "",
    outcome: Literal["", "success", "failure", "error", "waiting"] = "",
    object: Text = "",
    action: Text = "",
    label: Text = "",
    says: Text = "",
    sort: Sort = "",
) -> SortedFilters:
    return SortedFilters(condition, task, outcome, object, action, label, says, sort)


RequestedFilters = Annotated[SortedFilters, Depends(_parse_filters)]


@router.get(f"{RUN}/episodes")
@router.get(f"{RUN}/gallery")
def episode_list(
    request: Request, site: TheSite, name: str, filters: RequestedFilters, number: PageNumber = 1
) -> Response:
    """A page of episodes: a table, or a gallery of their last frames."""
    path, view = site.library.path(name), request.url.path.rpartition("/")[2]
    size = GALLERY_SIZE if view == "gallery" else queries.PAGE
    with reading(path) as run:
        _provide_divergences(site, run, path, filters)
        page = queries.page(run, filters, filters.sort, number, size)
        shows_divergence = view == "gallery" and run.store.world.continuous
        ways = divergences(run, [row.id for row in page.rows]) if shows_divergence else {}
    return render_page(
        request,
        f"{view}.html",
        name=name,
        page=page,
        filters=filters,
        divergences=ways,
        choices=queries.choices(path),
        outcomes=OUTCOMES,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _EpisodeSide:
    """One of the two episodes that are shown side by side."""

    kind: str
    """``mine`` or ``other``."""
    title: str
    run: str
    row: EpisodeRow
    path: Trajectory
    touches: dict[str, list[tuple[int, int]]]
    """Intervals in which the robot touched each object, steps [first, last)."""
    conduct: EpisodeConduct
    side_effects: tuple[str, ...]

    @staticmethod
    def read(kind: str, title: str, name: str, run: OpenRun, row: EpisodeRow) -> _EpisodeSide:
        """Read one side from its run."""
        paths = [path for _, path in run.store.trajectories([row.id])]
        tables = ("stages", "progress", "side_effects", "aftermath")
        conduct = EpisodeConduct(*(queries.detail(run, row, table) for table in tables))
        effects = tuple(describe_side_effects(conduct.side_effects)) if conduct.side_effects else ()
        contacts = queries.detail(run, row, "contacts")
        touches = contacts if isinstance(contacts, dict) else {}
        return _EpisodeSide(
            kind, title, name, row, paths[0] if paths else no_trajectory(), touches, conduct, effects
        )


@router.get(EPISODE)
def episode(
    request: Request, site: TheSite, name: str, key: str, filters: RequestedFilters, beside: Text = ""
) -> Response:
    """One episode beside its control, or beside the same episode of another run."""
    path = site.library.path(name)
    with reading(path) as run:
        row = queries.one(run, key)
        control = queries.control_of(run, row)
        continuous = run.store.world.continuous
        mine = _EpisodeSide.read("mine", "this episode", name, run, row)
        other = control and _EpisodeSide.read("other", "its control", name, run, control)
        _provide_divergences(site, run, path, filters)
        values: dict[str, Any] = {
            "place": queries.place_of(run, row, filters, filters.sort),
            "divergence": divergences(run, [row.id]).get(row.id),
            "traceback": queries.detail(run, row, "traceback") or "",
            "clipped": queries.detail(run, row, "clipped") or 0,
            "events": queries.detail(run, row, "events") or [],
        }
    if beside:
        with reading(site.library.path(beside)) as run:
            row_beside = queries.one(run, key)
            other = _EpisodeSide.read("other", f"the same episode in {beside}", beside, run, row_beside)
    original = control.instruction if control is not None else _original_instruction(row)
    sides = [mine, other] if other else [mine]
    paths = [(side.kind, side.path) for side in reversed(sides)] if continuous else []
    return render_page(
        request,
        "episode.html",
        **values,
        name=name,
        beside=beside,
        row=row,
        filters=filters,
        sides=sides,
        original=original,
        diff=diff_words(original, row.instruction) if row.instruction else (),
        longest=max(side.row.steps for side in sides),
        continuous=continuous,
        step_seconds=_step_seconds(row.task),
        views=build_views(paths),
        panels=build_panels(paths),
        strips=build_strips([(side.kind, side.row.truth, side.row.steps) for side in sides]),
        touches=build_strips([(side.kind, side.touches, side.row.steps) for side in sides]),
    )


def _provide_divergences(site: Site, run: OpenRun, path: Path, filters: SortedFilters) -> None:
    """Define the SQL function ``diverges`` if the episodes are sorted by it."""
    if filters.sort.removeprefix(queries.DESCENDING) == "diverges":
        run.tell("diverges", site.divergence_steps(path).get)


def _original_instruction(row: EpisodeRow) -> str:
    """The instruction of the unperturbed task; empty if the task is not installed."""
    try:
        return str(task_of(queries.spec_of(row).control()).instruction.words)
    except AssayError:
        return ""


def _step_seconds(task: str) -> float:
    """Seconds of video per step: a control step, or an action that is a whole motion."""
    try:
        return world_of(task).frame_seconds
    except AssayError:  # the world's plugin is not installed, so there are no videos
        return 0.05


def diff_words(before: str, after: str) -> tuple[tuple[Literal["same", "gone", "new"], str], ...]:
    """Word-by-word difference of two instructions, as kinds and texts in order."""
    old, new = before.split(), after.split()
    if max(len(old), len(new)) > MAX_DIFF_WORDS:
        return (("gone", before), ("new", after))
    matcher = SequenceMatcher(None, before.lower().split(), after.lower().split(), autojunk=False)
    pieces: list[tuple[Literal["same", "gone", "new"], str]] = []
    for kind, i, j, k, m in matcher.get_opcodes():
        if kind == "equal":
            pieces.append(("same", " ".join(new[k:m])))
            continue
        if i < j:
            pieces.append(("gone", " ".join(old[i:j])))
        if k < m:
            pieces.append(("new", " ".join(new[k:m])))
    return tuple(pieces)


def describe_side_effects(effects: Mapping[str, Any]) -> Iterator[str]:
    """Describe the side effects of an episode, the largest of each kind first."""

    def largest_first(kind: str, minimum: float) -> Iterator[tuple[str, float]]:
        for name, size in sorted(effects[kind].items(), key=lambda effect: -effect[1]):
            if size > minimum:
                yield name, size

    for name, metres in largest_first("moved", MOVED):
        yield f"moved the {thing(thing_of(name))} by {100 * metres:.0f} cm"
    for name, degrees in largest_first("tilted", TOPPLED):
        yield f"toppled the {thing(thing_of(name))} ({degrees:.0f}\N{DEGREE SIGN})"
    for name, share in largest_first("opened", LEFT_OPEN):
        # a drawer's region is named after its cabinet: wooden_cabinet_1_middle_region
        part = name.removeprefix(thing_of(name)).removesuffix("region").strip("_").replace("_", " ")
        whole = f"the {thing(thing_of(name))}"
        yield f"left {f'the {part} part of {whole}' if part else whole} open ({100 * min(share, 1.0):.0f} %)"
    for name, steps in largest_first("arm", 0):
        yield f"the arm touched the {thing(thing_of(name))} ({steps:.0f} {'step' if steps == 1 else 'steps'})"


def _read_recording(request: Request, site: TheSite, name: str, key: str) -> EpisodeRecording:
    # Pages of other sites must not be able to keep this machine busy.
    if request.headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
        raise HTTPException(403, "videos are only served to the pages of this app")
    path = site.library.path(name)
    with reading(path) as run:
        row = queries.one(run, key)
        if row.outcome is None:
            raise NotFoundError("the episode has not been run yet")
        spec = queries.spec_of(row)
        paths = [path.actions for _, path in run.store.trajectories([row.id])]
        return EpisodeRecording(
            spec,
            paths[0] if paths else np.zeros((0, 7), np.float32),
            row.outcome,
            row.error if row.outcome == "error" else "",
            states=run.store.states,
            plugins=tuple(str(plugin["module"]) for plugin in run.store.meta.get("plugins", ())),
            own_video=_find_own_video(path, spec, row.outcome),
        )


def _find_own_video(run: Path, spec: EpisodeSpec, outcome: str) -> Path | None:
    """The video that the run itself recorded of an episode, if it lies in the run's video folder."""
    folder = run.with_suffix(".videos").resolve()
    path = replay.video_file(folder, spec, outcome).resolve()
    is_inside = path.is_relative_to(run.parent) and path.is_relative_to(folder)
    return path if is_inside and path.is_file() else None


Recording = Annotated[EpisodeRecording, Depends(_read_recording)]


@router.get(f"{EPISODE}/video")
def video_status(site: TheSite, recorded: Recording) -> Response:
    """The status of an episode's video; asking for it requests the video."""
    return JSONResponse(site.replays.video(recorded).as_json())


@router.get(f"{EPISODE}/still")
def still_status(site: TheSite, recorded: Recording) -> Response:
    """The status of an episode's last frame; asking for it requests the frame."""
    return JSONResponse(site.replays.still(recorded).as_json())


@router.get(f"{EPISODE}/video.mp4")
def video_file(site: TheSite, recorded: Recording, video: Text = "") -> Response:
    """Return the video with that file name, or the best available one."""
    status = site.replays.video(recorded)
    return _file(site.replays.video_named(recorded, video) or status.path, "video/mp4", status)


@router.get(f"{EPISODE}/video.jpg")
def poster_file(site: TheSite, recorded: Recording) -> Response:
    """The first frame, which is rendered before the video."""
    status = site.replays.video(recorded)
    return _file(status.poster, "image/jpeg", status)


@router.get(f"{EPISODE}/still.jpg")
def still_file(site: TheSite, recorded: Recording) -> Response:
    """The last frame of an episode."""
    status = site.replays.still(recorded)
    return _file(status.path, "image/jpeg", status)


def _file(path: Path | None, media_type: str, status: RenderStatus) -> Response:
    if path is None:
        raise NotFoundError(f"the file is not ready ({status.state})")
    return FileResponse(path, media_type=media_type)
