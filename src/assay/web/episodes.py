"""Pages about episodes: the list, the gallery, one episode beside its control with charts, and its video."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from difflib import SequenceMatcher
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import FileResponse, JSONResponse
from scipy.spatial import cKDTree

from assay.episodes import EpisodeSpec, Trajectory, no_trajectory, task_of, world_of
from assay.errors import AssayError
from assay.measures.conduct.side_effects import LEFT_OPEN, MOVED, TOPPLED
from assay.measures.views.wording import thing
from assay.runs import replay
from assay.tasks.language.lexicon import object_of
from assay.web import queries
from assay.web.pages import RUN
from assay.web.queries import OUTCOMES, EpisodeRow, Filters, NotFoundError, OpenRun, reading
from assay.web.replays import STILL, VIDEO, EpisodeRecording, RenderStatus
from assay.web.site import Text, TheSite, render_page

router = APIRouter()

EPISODE = f"{RUN}/episodes/{{key}}"
PageNumber = Annotated[int, Query(alias="page", ge=1, lt=2**31)]
GALLERY_SIZE = 24
"""Number of episodes per page of the gallery."""
MAX_DIFF_WORDS = 400
"""Maximum number of words in instructions that are compared word by word; longer ones would take too long."""
DIVERGENCE_M = 0.05
"""Minimum distance from all points of the control's path for an episode's path to count as diverged, in metres."""
MAX_POINTS = 600
"""Maximum number of points in a drawn line; longer paths are thinned."""
VIEW_SIZE = 300
"""Width and height of a view, in SVG units."""
VIEW_MARGIN = 16
PANEL_HEIGHT = 40
"""Height of a panel of curves, in SVG units."""
MIN_VIEW_M = 0.1
"""Minimum extent of a view, in metres."""

Paths = Sequence[tuple[str, Trajectory]]
"""Trajectories with their kinds, ``mine`` and ``other``; the last is drawn on top."""
AtomSpans = Mapping[str, Sequence[Sequence[int]]]
"""Spans of steps [first, last) during which each goal atom was true, by atom."""
RequestedFilters = Annotated[Filters, Depends()]


@router.get(f"{RUN}/episodes")
@router.get(f"{RUN}/gallery")
def episode_list(
    request: Request, site: TheSite, name: str, filters: RequestedFilters, number: PageNumber = 1
) -> Response:
    """Show one page of episodes, as a table or as a gallery of their last frames."""
    path, view = site.library.path(name), request.url.path.rpartition("/")[2]
    size = GALLERY_SIZE if view == "gallery" else queries.PAGE
    with reading(path) as run:
        page = queries.read_page(run, filters, number, size)
    return render_page(
        request,
        f"{view}.html",
        name=name,
        page=page,
        filters=filters,
        choices=site.choices(path),
        outcomes=OUTCOMES,
    )


def _read_side(kind: str, title: str, name: str, run: OpenRun, row: EpisodeRow) -> dict[str, Any]:
    """Read one of the two episodes shown side by side; ``kind`` is ``mine`` or ``other``."""
    tables = ("stages", "progress", "side_effects", "aftermath")
    conduct = {table: queries.read_detail(run, row, table) for table in tables}
    contacts = queries.read_detail(run, row, "contacts")
    return {
        "kind": kind,
        "title": title,
        "run": name,
        "row": row,
        "path": read_trajectory(run, row.id),
        "touches": contacts if isinstance(contacts, dict) else {},
        "conduct": conduct,
        "side_effects": [*describe_side_effects(conduct["side_effects"])] if conduct["side_effects"] else [],
    }


@router.get(EPISODE)
def episode(
    request: Request, site: TheSite, name: str, key: str, filters: RequestedFilters, beside: Text = ""
) -> Response:
    """Show an episode beside its control, or beside the same episode in another run."""
    path = site.library.path(name)
    with reading(path) as run:
        row = queries.read_episode(run, key)
        control = queries.read_control(run, row)
        continuous = run.store.world.continuous
        sides = [_read_side("mine", "this episode", name, run, row)]
        if control is not None and not beside:
            sides.append(_read_side("other", "its control", name, run, control))
        values: dict[str, Any] = {
            "place": queries.locate(run, row, filters),
            "traceback": queries.read_detail(run, row, "traceback") or "",
            "clipped": queries.read_detail(run, row, "clipped") or 0,
            "events": queries.read_detail(run, row, "events") or [],
        }
    if beside:
        with reading(site.library.path(beside)) as run:
            row_beside = queries.read_episode(run, key)
            sides.append(_read_side("other", f"the same episode in {beside}", beside, run, row_beside))
    ways = [side["path"].end_effector for side in sides]
    paths = [(side["kind"], side["path"]) for side in reversed(sides)] if continuous else []
    original, step_seconds = "" if control is None else control.instruction, 0.05
    # Without the task, or the plugin with its world, there are no videos.
    with suppress(AssayError):
        step_seconds = world_of(row.task).frame_seconds
        if control is None:
            spec = EpisodeSpec.from_json(row.spec, row.labels)
            original = str(task_of(spec.control()).instruction.words)
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
        longest=max(side["row"].steps for side in sides),
        continuous=continuous,
        divergence=compare_paths(*ways) if len(ways) == 2 and not beside else None,
        step_seconds=step_seconds,
        views=build_views(paths),
        panels=build_panels(paths),
        strips=build_strips([(side["kind"], side["row"].truth, side["row"].steps) for side in sides]),
        touches=build_strips([(side["kind"], side["touches"], side["row"].steps) for side in sides]),
    )


def diff_words(before: str, after: str) -> tuple[tuple[Literal["same", "gone", "new"], str], ...]:
    """Return the word-by-word difference between two instructions, as a sequence of (kind, text)."""
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
    """Describe the side effects of an episode, with the largest of each kind first."""

    def largest_first(kind: str, minimum: float) -> Iterator[tuple[str, float]]:
        for name, size in sorted(effects[kind].items(), key=lambda effect: -effect[1]):
            if size > minimum:
                yield name, size

    for name, metres in largest_first("moved", MOVED):
        yield f"moved the {thing(object_of(name))} by {100 * metres:.0f} cm"
    for name, degrees in largest_first("tilted", TOPPLED):
        yield f"toppled the {thing(object_of(name))} ({degrees:.0f}\N{DEGREE SIGN})"
    for name, share in largest_first("opened", LEFT_OPEN):
        # a drawer's region is named after its cabinet: wooden_cabinet_1_middle_region
        part = name.removeprefix(object_of(name)).removesuffix("region").strip("_").replace("_", " ")
        whole = f"the {thing(object_of(name))}"
        yield f"left {f'the {part} part of {whole}' if part else whole} open ({100 * min(share, 1.0):.0f} %)"
    for name, steps in largest_first("arm", 0):
        yield f"the arm touched the {thing(object_of(name))} ({steps:.0f} {'step' if steps == 1 else 'steps'})"


def _find_replay(request: Request, site: TheSite, name: str, key: str) -> RenderStatus:
    """Return the video or last frame of an episode, or request its rendering."""
    path = site.library.path(name)
    with reading(path) as run:
        row = queries.read_episode(run, key)
        if row.outcome is None:
            raise NotFoundError("the episode has not been run yet")
        spec = EpisodeSpec.from_json(row.spec, row.labels)
        recorded = EpisodeRecording(
            spec,
            read_trajectory(run, row.id).actions,
            row.outcome,
            row.error if row.outcome == "error" else "",
            states=run.store.states,
            plugins=tuple(run.store.meta.get("plugins", ())),
            own_video=_find_own_video(path, spec, row.outcome),
        )
    wants_video = request.url.path.rpartition("/")[2].startswith("video")
    return site.replays.find(recorded, VIDEO if wants_video else STILL)


def _find_own_video(run: Path, spec: EpisodeSpec, outcome: str) -> Path | None:
    """Return the video of an episode recorded by the run, if it is in the run's video folder."""
    folder = run.with_suffix(".videos").resolve()
    path = replay.video_file(folder, spec, outcome).resolve()
    is_inside = path.is_relative_to(run.parent) and path.is_relative_to(folder)
    return path if is_inside and path.is_file() else None


FoundReplay = Annotated[RenderStatus, Depends(_find_replay)]


@router.get(f"{EPISODE}/video")
@router.get(f"{EPISODE}/still")
def replay_status(status: FoundReplay) -> Response:
    """Return the status of an episode's video or last frame."""
    return JSONResponse(status.as_json())


@router.get(f"{EPISODE}/video.mp4")
@router.get(f"{EPISODE}/still.jpg")
def replay_file(status: FoundReplay) -> Response:
    """Return the video or last frame of an episode."""
    if status.path is None:
        raise NotFoundError(f"the file is not ready ({status.state})")
    return FileResponse(status.path)


def compare_paths(path: np.ndarray, control: np.ndarray) -> dict[str, Any] | None:
    """Compare two paths (n, 3), in metres; None if one of them was not recorded.

    ``step`` is the first step at which the path is far from the control's entire path, or None; ``still`` is
    whether the path never leaves the vicinity of its start, so that its distance from the control's path is
    meaningless.
    """
    if not len(path) or not len(control):
        return None
    far = np.flatnonzero(cKDTree(control).query(path)[0] > DIVERGENCE_M)
    still = bool(np.linalg.norm(path - path[0], axis=1).max() <= DIVERGENCE_M)
    return {"step": int(far[0]) if len(far) else None, "still": still}


def read_trajectory(run: OpenRun, number: int) -> Trajectory:
    """Return the trajectory of an episode by id, or an empty one if it was not recorded."""
    return next((trajectory for _, trajectory in run.store.trajectories([number])), no_trajectory())


def build_panels(sides: Paths) -> list[dict[str, Any]]:
    """Return charts of commanded actions and gripper opening over time; empty unless actions have 7 dimensions.

    A panel has a ``title``, the labels ``low`` and ``high`` of its edges, and ``curves``, each with a ``kind``, a
    ``name`` (``x``, ``y`` or ``z`` if there are several) and ``points``: control step and height, from 0 (top) to
    `PANEL_HEIGHT`.
    """
    paths = [(kind, path) for kind, path in sides if len(path.actions)]
    if not paths or any(path.actions.shape[1] != 7 for _, path in paths):
        return []

    def curve(kind: str, name: str, values: np.ndarray, low: float, high: float) -> dict[str, Any]:
        steps = np.arange(0, len(values), math.ceil(len(values) / MAX_POINTS) or 1)
        heights = 1 - (np.clip(np.nan_to_num(values[steps]), low, high) - low) / (high - low)
        points = zip(steps.tolist(), (PANEL_HEIGHT * heights).round(1).tolist(), strict=True)
        return {"kind": kind, "name": name, "points": list(points)}

    panels = []
    for title, columns in {
        "Commanded translation": {"x": 0, "y": 1, "z": 2},
        "Commanded rotation": {"x": 3, "y": 4, "z": 5},
        "Gripper: command (1 closes)": {"g": 6},
    }.items():
        commands = [(kind, name, path.actions[:, at]) for name, at in columns.items() for kind, path in paths]
        curves = [curve(*command, -1.0, 1.0) for command in commands]
        panels.append({"title": title, "low": "-1", "high": "1", "curves": curves})
    widest = max([0.08, *(float(np.nanmax(path.gripper)) for _, path in paths if len(path.gripper))])
    opening = [curve(kind, "", path.gripper, 0.0, widest) for kind, path in paths if len(path.gripper)]
    edges = {"low": "0", "high": f"{100 * widest:.0f} cm"}
    return [*panels, {"title": "Gripper: distance between the fingers", **edges, "curves": opening}]


def build_views(sides: Paths) -> list[dict[str, Any]]:
    """Return two views of the end effectors' paths at the same scale; empty if nothing was recorded.

    The view from above matches the external camera: the robot is at the top, with its left side on the right. In
    the side view, the robot is on the left. A view has a ``title``, axis captions (``across``, ``along``), its
    ``size``, the length of 10 cm (``bar``) and ``lines``, each with a ``kind``, ``points`` and the number of
    control steps between two points (``stride``).
    """
    recorded = [(kind, path.end_effector) for kind, path in sides if len(path.end_effector)]
    paths = {kind: path[np.isfinite(path).all(axis=1)] for kind, path in recorded}
    points = np.concatenate([np.zeros((0, 3)), *paths.values()])
    if not len(points):
        return []
    low, high = points.min(axis=0), points.max(axis=0)
    scale = (VIEW_SIZE - 2 * VIEW_MARGIN) / max(float((high - low).max()), MIN_VIEW_M)
    middle = (low + high) / 2
    above = ("From above", "the robot's right to its left", "away from the robot, downwards", [1, 0], [1, 1])
    side = ("From the side", "away from the robot", "height, upwards", [0, 2], [1, -1])
    views = []
    for title, across, along, axes, signs in (above, side):
        lines = []
        for kind, path in paths.items():
            stride = math.ceil(len(path) / MAX_POINTS) or 1
            drawn = VIEW_SIZE / 2 + np.array(signs) * (path[::stride, axes] - middle[axes]) * scale
            lines.append({"kind": kind, "points": drawn.round(1).tolist(), "stride": stride})
        sizes = {"size": VIEW_SIZE, "bar": 0.1 * scale}
        views.append({"title": title, "across": across, "along": along, "lines": lines, **sizes})
    return views


def build_strips(sides: Sequence[tuple[str, AtomSpans, int]]) -> list[dict[str, Any]]:
    """Return a strip for each goal atom and episode, grouped by atom.

    ``sides`` contains the kind, the spans and the number of steps of each episode. The ``spans`` of a strip are
    pairs of first step and number of steps.
    """
    return [
        {
            "atom": atom,
            "kind": kind,
            "steps": length,
            "spans": [(first, end - first) for first, end in spans[atom]],
        }
        for atom in dict.fromkeys(atom for _, spans, _ in sides for atom in spans)
        for kind, spans, length in sides
        if atom in spans
    ]
