"""The seventeen kinds of task in VIMA-Bench.

task = make(Setting("T1", seed=0))
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from assay.errors import PlacementError, TaskError, did_you_mean
from assay.extensions.tabletop.tasks import learning, placing
from assay.extensions.tabletop.tasks.task import HELD_OUT, Draw, Level, Setting, TableTask, TaskKind
from assay.support.streams import stream

_MAX_DRAWS = 200
PREFIX = "tabletop/"
KINDS: Mapping[str, TaskKind] = MappingProxyType(
    {
        "T1": TaskKind("T1", placing.visual_manipulation),
        "T2": TaskKind("T2", placing.scene_understanding),
        "T3": TaskKind("T3", placing.rotate),
        "T4": TaskKind("T4", placing.rearrange),
        "T5": TaskKind("T5", placing.rearrange_then_restore),
        "T6": TaskKind("T6", learning.novel_adj),
        "T7": TaskKind("T7", learning.novel_noun),
        "T8": TaskKind("T8", learning.novel_adj_and_noun, HELD_OUT),
        "T9": TaskKind("T9", learning.twist),
        "T10": TaskKind("T10", learning.follow_motion, HELD_OUT),
        "T11": TaskKind("T11", learning.follow_order),
        "T12": TaskKind("T12", placing.sweep_without_exceeding, (Level.L1, Level.L2)),
        "T13": TaskKind("T13", placing.sweep_without_touching, HELD_OUT),
        "T14": TaskKind("T14", placing.same_texture, HELD_OUT),
        "T15": TaskKind("T15", placing.same_shape),
        "T16": TaskKind("T16", placing.manipulate_old_neighbor),
        "T17": TaskKind("T17", placing.pick_in_order_then_restore),
    }
)
"""Task kinds by id."""


@dataclass(frozen=True, slots=True)
class TableEntry:
    """A kind of task at one level of novelty."""

    id: str
    """Task id, such as ``tabletop/T1/L1``."""
    kind: str
    level: Level


ENTRIES: Mapping[str, TableEntry] = MappingProxyType(
    {
        f"{PREFIX}{kind.id}/{level}": TableEntry(f"{PREFIX}{kind.id}/{level}", kind.id, level)
        for level in Level
        for kind in KINDS.values()
        if level in kind.levels
    }
)
"""All tasks by id, level by level."""


def table_entry(task_id: str) -> TableEntry:
    """Return the task with an id, with or without ``tabletop/``. Raise TaskError with the nearest valid id."""
    full = PREFIX + task_id.removeprefix(PREFIX)
    if full not in ENTRIES:
        raise TaskError(f"unknown tabletop task '{task_id}': {did_you_mean(full, ENTRIES)}")
    return ENTRIES[full]


def make(setting: Setting) -> TableTask:
    """Build the task of a setting. Raise TaskError for an unknown task or a level that the task does not have."""
    kind = KINDS[table_entry(f"{setting.task}/{setting.level}").kind]
    for attempt in range(_MAX_DRAWS):
        rng = stream("tabletop", setting.id, "draw", attempt)
        try:
            scene, prompt, goal = kind.make(Draw(rng, setting.level, setting.difficulty))
        except PlacementError:
            continue
        return TableTask(setting, scene, prompt, goal, asked=goal)
    raise PlacementError(f"{setting.id}: no layout fits on the table after {_MAX_DRAWS} draws")
