"""The seventeen tasks.

task = make(Setting("T1", seed=0))
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from assay.errors import PlacementError, TaskError, did_you_mean
from assay.extensions.tabletop.draw import Draw
from assay.extensions.tabletop.pools import Difficulty, Level
from assay.extensions.tabletop.tasks import arranging, learning, motions, placing, sorting, sweeping
from assay.extensions.tabletop.tasks.base import Kind, Setting, TableTask
from assay.support.streams import stream

__all__ = ["KINDS", "Kind", "Setting", "TableTask", "make", "settings"]

_TRAINED = (Level.L1, Level.L2, Level.L3)
_SEEN = (Level.L1, Level.L2)
_NEW = (Level.L4,)
_DRAWS = 200

KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        kind.id: kind
        for kind in (
            Kind("T1", "visual_manipulation", placing.t1, _TRAINED),
            Kind("T2", "scene_understanding", placing.t2, _TRAINED),
            Kind("T3", "rotate", placing.t3, _TRAINED),
            Kind("T4", "rearrange", arranging.t4, _TRAINED),
            Kind("T5", "rearrange_then_restore", arranging.t5, _TRAINED),
            Kind("T6", "novel_adj", learning.t6, _TRAINED),
            Kind("T7", "novel_noun", learning.t7, _TRAINED),
            Kind("T8", "novel_adj_and_noun", learning.t8, _NEW),
            Kind("T9", "twist", motions.t9, _TRAINED),
            Kind("T10", "follow_motion", motions.t10, _NEW),
            Kind("T11", "follow_order", motions.t11, _TRAINED),
            Kind("T12", "sweep_without_exceeding", sweeping.t12, _SEEN),
            Kind("T13", "sweep_without_touching", sweeping.t13, _NEW),
            Kind("T14", "same_texture", sorting.t14, _NEW),
            Kind("T15", "same_shape", sorting.t15, _TRAINED),
            Kind("T16", "manipulate_old_neighbor", sorting.t16, _TRAINED),
            Kind("T17", "pick_in_order_then_restore", sorting.t17, _TRAINED),
        )
    }
)
"""By their id."""


def make(setting: Setting) -> TableTask:
    """The task of a setting. Raises TaskError if there is none, or not at that level."""
    if setting.task not in KINDS:
        raise TaskError(f"there is no tabletop task '{setting.task}': {did_you_mean(setting.task, KINDS)}")
    kind = KINDS[setting.task]
    if setting.level not in kind.levels:
        raise TaskError(f"{kind.id} has no level {setting.level}; valid: {', '.join(kind.levels)}")
    for attempt in range(_DRAWS):
        rng = stream("tabletop", setting.id, "draw", attempt)
        try:
            scene, prompt, goal = kind.make(Draw(rng, setting.level, setting.difficulty))
        except PlacementError:
            continue
        return TableTask(setting, scene, prompt, goal, asked=goal)
    raise PlacementError(f"{setting.id}: in {_DRAWS} draws there was no room on the table for everything")


def settings(
    seeds: range, *, difficulty: Difficulty = Difficulty.DEFAULT, level: Level | None = None
) -> list[Setting]:
    """Every task at every level it has, or at one level, for some seeds."""
    return [
        Setting(kind.id, seed, each, difficulty)
        for kind in KINDS.values()
        for each in kind.levels
        if level in (None, each)
        for seed in seeds
    ]
