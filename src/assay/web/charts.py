"""The geometry of an episode's drawings: the end effector's trajectory in two views; predicates, contacts, actions and
the gripper over time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.episodes import Trajectory

MOST_POINTS = 600
"""Points of a line that is drawn; a longer path is thinned."""
SIZE = 300
"""Width and height of a view, in its own units."""
MARGIN = 16
TALL = 40
"""Height of a panel of curves, in its own units."""
NEAREST = 0.1
"""A view shows this many metres at least."""

Truth = Mapping[str, Sequence[Sequence[int]]]
"""When each atom was true: steps [first, last)."""


@dataclass(frozen=True, slots=True)
class Line:
    """A path in one view."""

    kind: str
    """``mine`` or ``other``."""
    points: tuple[tuple[float, float], ...]
    """In the view's units."""
    stride: int
    """One point for each so many control steps."""


@dataclass(frozen=True, slots=True)
class View:
    """Paths seen along one axis."""

    title: str
    lines: tuple[Line, ...]
    bar: float
    """How long 10 cm are, in the view's units."""
    across: str
    """What the horizontal axis is, in words."""
    along: str
    size: int = SIZE


@dataclass(frozen=True, slots=True)
class Strip:
    """When one atom was true."""

    atom: str
    kind: str
    """``mine`` or ``other``."""
    spans: tuple[tuple[int, int], ...]
    """First step and how many."""
    steps: int
    """How long the episode was."""


@dataclass(frozen=True, slots=True)
class Curve:
    """One quantity over time, in a panel of `TALL` units whose horizontal unit is a control step."""

    kind: str
    """``mine`` or ``other``."""
    name: str
    """What the line is, where a panel has several of a kind: ``x``, ``y``, ``z``."""
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Panel:
    """Curves over one time axis."""

    title: str
    low: str
    """What the lower edge stands for, and the upper one."""
    high: str
    curves: tuple[Curve, ...]


def panels(mine: Trajectory, other: Trajectory | None) -> tuple[Panel, ...]:
    """What a policy commanded and how far the gripper was open, beside another episode's."""
    sides = [("other", other), ("mine", mine)]
    paths = [(kind, path) for kind, path in sides if path is not None and len(path.actions)]
    if not paths or any(path.actions.shape[1] != 7 for _, path in paths):
        return ()

    def commanded(title: str, names: str, first: int) -> Panel:
        curves = [
            _curve(kind, name, path.actions[:, first + place], -1.0, 1.0)
            for place, name in enumerate(names)
            for kind, path in paths
        ]
        return Panel(title, "-1", "1", tuple(curves))

    widest = max([0.08, *(float(np.nanmax(path.gripper)) for _, path in paths if len(path.gripper))])
    opening = [_curve(kind, "", path.gripper, 0.0, widest) for kind, path in paths if len(path.gripper)]
    return (
        commanded("Commanded translation", "xyz", 0),
        commanded("Commanded rotation", "xyz", 3),
        Panel("Gripper: command (1 closes)", "-1", "1", commanded("", "g", 6).curves),
        Panel("Gripper: distance between the fingers", "0", f"{100 * widest:.0f} cm", tuple(opening)),
    )


def _curve(kind: str, name: str, values: np.ndarray, low: float, high: float) -> Curve:
    stride = math.ceil(len(values) / MOST_POINTS) or 1
    steps = np.arange(0, len(values), stride)
    heights = TALL * (1 - (np.clip(np.nan_to_num(values[steps]), low, high) - low) / (high - low))
    return Curve(kind, name, tuple((int(x), round(float(y), 1)) for x, y in zip(steps, heights, strict=True)))


def views(mine: np.ndarray, other: np.ndarray | None) -> tuple[View, ...]:
    """Both views of a path (n, 3), metres, over another's, at one scale. Empty where nothing moved.

    From above as the outside camera sees it: the robot at the top, its left on the right. From the side: the
    robot on the left.
    """
    paths = {"other": other, "mine": mine}
    found = {
        kind: path[np.isfinite(path).all(axis=1)]
        for kind, path in paths.items()
        if path is not None and len(path)
    }
    if not any(len(path) for path in found.values()):
        return ()
    everything = np.concatenate(list(found.values()))
    low, high = everything.min(axis=0), everything.max(axis=0)
    scale = (SIZE - 2 * MARGIN) / max(float((high - low).max()), NEAREST)
    middle = (low + high) / 2

    def view(title: str, across: tuple[int, int], down: tuple[int, int], axes: tuple[str, str]) -> View:
        """``across`` and ``down``: which coordinate, and its sign."""
        lines = []
        for kind, path in found.items():
            stride = math.ceil(len(path) / MOST_POINTS) or 1
            place = [
                SIZE / 2 + sign * (path[::stride, axis] - middle[axis]) * scale
                for axis, sign in (across, down)
            ]
            points = np.stack(place, axis=1).round(1)
            lines.append(Line(kind, tuple((float(x), float(y)) for x, y in points), stride))
        return View(title, tuple(lines), 0.1 * scale, *axes)

    return (
        view(
            "From above", (1, 1), (0, 1), ("the robot's right to its left", "away from the robot, downwards")
        ),
        view("From the side", (0, 1), (2, -1), ("away from the robot", "height, upwards")),
    )


def strips(mine: Truth, steps: int, other: Truth | None, other_steps: int) -> tuple[Strip, ...]:
    """For every atom of either goal its strip, and the other episode's below it."""
    sides = [("mine", mine, steps)] + ([("other", other, other_steps)] if other is not None else [])
    return tuple(
        Strip(atom, kind, tuple((int(first), int(last) - int(first)) for first, last in truth[atom]), length)
        for atom in dict.fromkeys([*mine, *(other or ())])
        for kind, truth, length in sides
        if atom in truth
    )
