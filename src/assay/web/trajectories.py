"""An episode's trajectory beside its control's: their divergence, and the geometry of the charts that show them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from assay.episodes import Trajectory, no_trajectory
from assay.web.queries import OpenRun

DIVERGENCE_M = 0.05
"""Distance from every point of the control's path at which an episode diverges, metres."""
MAX_POINTS = 600
"""Maximum number of points of a drawn line; longer paths are thinned."""
VIEW_SIZE = 300
"""Width and height of a view, SVG units."""
VIEW_MARGIN = 16
PANEL_HEIGHT = 40
"""Height of a panel of curves, SVG units."""
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
    """Whether the path stays near its start, so that being near the control's path means nothing."""


def compare_paths(path: np.ndarray, control: np.ndarray) -> Divergence | None:
    """Compare two paths (n, 3), metres; None if one of them was not recorded."""
    if not len(path) or not len(control):
        return None
    far = np.flatnonzero(cKDTree(control).query(path)[0] > DIVERGENCE_M)
    still = bool(np.linalg.norm(path - path[0], axis=1).max() <= DIVERGENCE_M)
    return Divergence(int(far[0]) if len(far) else None, still)


def read_trajectory(run: OpenRun, number: int) -> Trajectory:
    """Return the trajectory of an episode by id; an empty one if it was not recorded."""
    return next((trajectory for _, trajectory in run.store.trajectories([number])), no_trajectory())


def build_panels(sides: Paths) -> list[dict[str, Any]]:
    """Return charts of commanded actions and gripper opening over time; none unless actions have 7 dimensions.

    A panel has a ``title``, the labels ``low`` and ``high`` of its edges, and ``curves``: their ``kind``, ``name``
    (``x``, ``y`` or ``z`` if there are several) and ``points``, in control steps and units of `PANEL_HEIGHT`.
    """
    paths = [(kind, path) for kind, path in sides if len(path.actions)]
    if not paths or any(path.actions.shape[1] != 7 for _, path in paths):
        return []

    def curve(kind: str, name: str, values: np.ndarray, low: float, high: float) -> dict[str, Any]:
        steps = np.arange(0, len(values), math.ceil(len(values) / MAX_POINTS) or 1)
        heights = 1 - (np.clip(np.nan_to_num(values[steps]), low, high) - low) / (high - low)
        points = zip(steps.tolist(), (PANEL_HEIGHT * heights).round(1).tolist(), strict=True)
        return {"kind": kind, "name": name, "points": list(points)}

    def panel(title: str, low: str, high: str, curves: list[dict[str, Any]]) -> dict[str, Any]:
        return {"title": title, "low": low, "high": high, "curves": curves}

    commands = (
        ("Commanded translation", "xyz", 0),
        ("Commanded rotation", "xyz", 3),
        ("Gripper: command (1 closes)", "g", 6),
    )
    panels = []
    for title, names, first in commands:
        columns = [(name, first + offset) for offset, name in enumerate(names)]
        curves = [
            curve(kind, name, path.actions[:, at], -1.0, 1.0) for name, at in columns for kind, path in paths
        ]
        panels.append(panel(title, "-1", "1", curves))
    widest = max([0.08, *(float(np.nanmax(path.gripper)) for _, path in paths if len(path.gripper))])
    opening = [curve(kind, "", path.gripper, 0.0, widest) for kind, path in paths if len(path.gripper)]
    return [
        *panels,
        panel("Gripper: distance between the fingers", "0", f"{100 * widest:.0f} cm", opening),
    ]


def build_views(sides: Paths) -> list[dict[str, Any]]:
    """Return two views of the end effectors' paths at one scale; none if nothing was recorded.

    From above as the outside camera sees it: the robot at the top, its left on the right. From the side: the
    robot on the left. A view has a ``title``, captions of its axes (``across``, ``along``), its ``size``, the length
    of 10 cm (``bar``) and ``lines``: their ``kind``, ``points`` and the control steps between two points (``stride``).
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
    """Return a strip for each atom and episode, those of one atom together.

    ``sides``: kind, spans and length of each episode. The ``spans`` of a strip are first step and number of steps.
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
