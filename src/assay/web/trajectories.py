"""An episode's trajectory beside its control's: their divergence, and the geometry of the charts that show them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from assay.episodes import Trajectory
from assay.episodes.spec import CONTROL
from assay.web.queries import OpenRun

DIVERGENCE_M = 0.05
"""Distance from every point of the control's path at which an episode diverges, metres."""
MAX_POINTS = 600
"""Maximum number of points of a drawn line; longer paths are thinned."""
VIEW_SIZE = 300
"""Width and height of a view, in its own units."""
VIEW_MARGIN = 16
PANEL_HEIGHT = 40
"""Height of a panel of curves, in its own units."""
MIN_VIEW_M = 0.1
"""Minimum extent of a view, metres."""

Paths = Sequence[tuple[str, Trajectory]]
"""Trajectories with their kinds, ``mine`` and ``other``; the last is drawn on top."""
AtomSpans = Mapping[str, Sequence[Sequence[int]]]
"""By atom: the spans of steps [first, last) during which it was true."""


class Divergence(NamedTuple):
    """Comparison of an episode's path with its control's."""

    step: int | None
    """The first step that is far from the whole path of the control; None if the path stays near."""
    still: bool
    """Whether the path never leaves its own start, so that being near the control's path means nothing."""


def compare_paths(path: np.ndarray, control: np.ndarray) -> Divergence | None:
    """Compare two paths (n, 3), metres; None if one of them was not recorded."""
    if not len(path) or not len(control):
        return None
    nearest = np.full(len(path), np.inf)
    for begin in range(0, len(control), 64):  # in blocks, to bound the memory of the distance matrix
        offsets = path[:, None] - control[None, begin : begin + 64]
        nearest = np.minimum(nearest, np.einsum("ijk,ijk->ij", offsets, offsets).min(axis=1))
    far = np.flatnonzero(nearest > DIVERGENCE_M**2)
    still = bool(np.linalg.norm(path - path[0], axis=1).max() <= DIVERGENCE_M)
    return Divergence(int(far[0]) if len(far) else None, still)


def divergences(run: OpenRun, ids: Iterable[int] | None = None) -> dict[int, Divergence | None]:
    """The divergences of finished episodes (by default all) by id; episodes without a control are left out."""
    done = {number for (number,) in run.rows("SELECT id FROM episodes")}
    wanted = done if ids is None else done.intersection(ids)
    controls = {
        (task, seed): number
        for number, task, seed in run.rows(
            "SELECT specs.id, task, seed FROM specs JOIN episodes USING (id) WHERE condition = :control "
            "ORDER BY specs.id DESC",
            {"control": CONTROL},
        )
    }
    rows = run.rows("SELECT id, task, seed FROM specs WHERE condition <> :control", {"control": CONTROL})
    pairs = [
        (controls[task, seed], number)
        for number, task, seed in rows
        if number in wanted and (task, seed) in controls
    ]
    result: dict[int, Divergence | None] = {}
    control_path, control_id = np.zeros((0, 3)), 0
    for control, number in sorted(pairs):  # by control, whose path is read once
        if control != control_id:
            control_path, control_id = _path(run, control), control
        result[number] = compare_paths(_path(run, number), control_path)
    return result


def _path(run: OpenRun, number: int) -> np.ndarray:
    """The end effector's path (n, 3) of an episode, metres; empty if it was not recorded."""
    paths = [trajectory.end_effector for _, trajectory in run.store.trajectories([number])]
    return paths[0] if paths else np.zeros((0, 3))


@dataclass(frozen=True, slots=True)
class PathLine:
    """A path in one view."""

    kind: str
    """``mine`` or ``other``."""
    points: tuple[tuple[float, float], ...]
    """Points of the line, in the view's units."""
    stride: int
    """Control steps between two points."""


@dataclass(frozen=True, slots=True)
class PathView:
    """Paths seen along one axis."""

    title: str
    lines: tuple[PathLine, ...]
    bar: float
    """Length of 10 cm in the view's units."""
    across: str
    """Caption of the horizontal axis."""
    along: str
    """Caption of the vertical axis."""
    size: int = VIEW_SIZE


@dataclass(frozen=True, slots=True)
class Strip:
    """The spans during which one atom was true."""

    atom: str
    kind: str
    """``mine`` or ``other``."""
    spans: tuple[tuple[int, int], ...]
    """First step and number of steps."""
    steps: int
    """Length of the episode."""


@dataclass(frozen=True, slots=True)
class PanelCurve:
    """One quantity over time, in a panel of `PANEL_HEIGHT` units whose horizontal unit is a control step."""

    kind: str
    """``mine`` or ``other``."""
    name: str
    """``x``, ``y`` or ``z`` if the panel has several curves of a kind."""
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class ActionPanel:
    """Curves over one time axis."""

    title: str
    low: str
    """Label of the lower edge."""
    high: str
    """Label of the upper edge."""
    curves: tuple[PanelCurve, ...]


def build_panels(sides: Paths) -> tuple[ActionPanel, ...]:
    """Commanded actions and gripper opening over time; empty unless actions have 7 dimensions."""
    paths = [(kind, path) for kind, path in sides if len(path.actions)]
    if not paths or any(path.actions.shape[1] != 7 for _, path in paths):
        return ()

    def plot_actions(title: str, names: str, first: int) -> ActionPanel:
        curves = [
            _curve(kind, name, path.actions[:, first + offset], -1.0, 1.0)
            for offset, name in enumerate(names)
            for kind, path in paths
        ]
        return ActionPanel(title, "-1", "1", tuple(curves))

    widest = max([0.08, *(float(np.nanmax(path.gripper)) for _, path in paths if len(path.gripper))])
    opening = [_curve(kind, "", path.gripper, 0.0, widest) for kind, path in paths if len(path.gripper)]
    return (
        plot_actions("Commanded translation", "xyz", 0),
        plot_actions("Commanded rotation", "xyz", 3),
        plot_actions("Gripper: command (1 closes)", "g", 6),
        ActionPanel("Gripper: distance between the fingers", "0", f"{100 * widest:.0f} cm", tuple(opening)),
    )


def _curve(kind: str, name: str, values: np.ndarray, low: float, high: float) -> PanelCurve:
    steps = np.arange(0, len(values), math.ceil(len(values) / MAX_POINTS) or 1)
    heights = PANEL_HEIGHT * (1 - (np.clip(np.nan_to_num(values[steps]), low, high) - low) / (high - low))
    points = tuple((int(x), round(float(y), 1)) for x, y in zip(steps, heights, strict=True))
    return PanelCurve(kind, name, points)


def build_views(sides: Paths) -> tuple[PathView, ...]:
    """Two views of the end effectors' paths at one scale; empty if nothing was recorded.

    From above as the outside camera sees it: the robot at the top, its left on the right. From the side: the
    robot on the left.
    """
    recorded = [(kind, path.end_effector) for kind, path in sides if len(path.end_effector)]
    paths = {kind: path[np.isfinite(path).all(axis=1)] for kind, path in recorded}
    points = np.concatenate([np.zeros((0, 3)), *paths.values()])
    if not len(points):
        return ()
    low, high = points.min(axis=0), points.max(axis=0)
    scale = (VIEW_SIZE - 2 * VIEW_MARGIN) / max(float((high - low).max()), MIN_VIEW_M)
    middle = (low + high) / 2

    def view(title: str, across: tuple[int, int], down: tuple[int, int], axes: tuple[str, str]) -> PathView:
        """Build one view; ``across`` and ``down`` are the index of a coordinate and its sign."""
        lines = []
        for kind, path in paths.items():
            stride = math.ceil(len(path) / MAX_POINTS) or 1
            coordinates = [
                VIEW_SIZE / 2 + sign * (path[::stride, axis] - middle[axis]) * scale
                for axis, sign in (across, down)
            ]
            drawn = np.stack(coordinates, axis=1).round(1)
            lines.append(PathLine(kind, tuple((float(x), float(y)) for x, y in drawn), stride))
        return PathView(title, tuple(lines), 0.1 * scale, *axes)

    above = ("the robot's right to its left", "away from the robot, downwards")
    return (
        view("From above", (1, 1), (0, 1), above),
        view("From the side", (0, 1), (2, -1), ("away from the robot", "height, upwards")),
    )


def build_strips(sides: Sequence[tuple[str, AtomSpans, int]]) -> tuple[Strip, ...]:
    """The strips of all atoms, those of one atom together; ``sides``: kind, spans and length of each episode."""
    return tuple(
        Strip(atom, kind, tuple((int(first), int(last) - int(first)) for first, last in spans[atom]), length)
        for atom in dict.fromkeys(atom for _, spans, _ in sides for atom in spans)
        for kind, spans, length in sides
        if atom in spans
    )
