"""The next push of a sweep, tried out on a table that is rebuilt from what is seen."""

from __future__ import annotations

import numpy as np

from assay.episodes import EpisodeSpec
from assay.extensions.tabletop.goals import SweepGoal
from assay.extensions.tabletop.oracle import TableOracle, idle
from assay.extensions.tabletop.policies.reader.perception import Thing
from assay.extensions.tabletop.policies.reader.reading import COUNTS
from assay.extensions.tabletop.pools import Level
from assay.extensions.tabletop.prompt import Prompt
from assay.extensions.tabletop.scene import Item, TableScene, Tool
from assay.extensions.tabletop.tasks import Setting, TableTask
from assay.extensions.tabletop.world import PACK, TableEnv

_MARGIN = 0.004
"""For what pixels cannot tell, metres."""
_OPEN = 0.015
"""How far a rectangle reaches beyond its open side, metres."""


def next_push(
    targets: list[Thing],
    others: list[Thing],
    rectangle: Thing,
    line: Thing,
    count: str,
    *,
    touching: bool,
    step: int,
) -> np.ndarray:
    """An action (12,) that brings so many of the targets nearer to the rectangle, minding the line."""
    if not targets:
        return idle()
    x_min, y_min, x_max, y_max = rectangle.box
    barrier = (line.box[0] - _MARGIN, line.box[1] - _MARGIN, line.box[2] + _MARGIN, line.box[3] + _MARGIN)
    near = x_min if touching else line.box[2] + _OPEN
    far = x_max if touching else x_max + _OPEN
    zone = (near + _MARGIN, y_min + _MARGIN, far - _MARGIN, y_max - _MARGIN)
    fewest = {"any": 1, "all": len(targets)}.get(count) or COUNTS.index(count) + 1
    if fewest > len(targets):
        return idle()
    items = [
        Item(f"{role}_{number}", "small block", "red", float(x), float(y), each.shape()[2])
        for role, things in (("target", targets), ("other", others))
        for number, each in enumerate(things)
        for x, y in [each.middle]
    ]
    scene = TableScene(tuple(items), Tool.SPATULA)
    names = [item.name for item in items]
    most = len(targets) if count == "any" else fewest
    goal = SweepGoal(
        tuple(names[: len(targets)]), tuple(names[len(targets) :]), fewest, most, zone, barrier, fewest
    )
    setting = Setting("T12", step, Level.L1)
    env = TableEnv(TableTask(setting, scene, Prompt("sweep"), goal, asked=goal))
    spec = EpisodeSpec("tabletop/T12/L1", step, PACK)
    observation = env.reset(spec)
    planner = TableOracle()
    planner.attach(env)
    planner.reset(Prompt("sweep"), spec)
    return np.asarray(planner.act(observation)[0])
