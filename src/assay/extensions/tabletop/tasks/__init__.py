"""The seventeen tasks.

task = make(Setting("T1", seed=0))
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from assay.errors import PlacementError, TaskError, did_you_mean
from assay.extensions.tabletop.tasks import learning, placing  # noqa: F401 - they register their tasks
from assay.extensions.tabletop.tasks.task import (
    REGISTERED_KINDS,
    Difficulty,
    Draw,
    Level,
    Setting,
    TableTask,
    TaskKind,
    parse_level,
)
from assay.support.streams import stream

_DRAWS = 200

KINDS: Mapping[str, TaskKind] = MappingProxyType(
    dict(sorted(REGISTERED_KINDS.items(), key=lambda item: int(item[0][1:])))
)
"""Task kinds by id."""


def make(setting: Setting) -> TableTask:
    """Build the task of a setting. Raise TaskError for an unknown task or a level that the task does not have."""
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
    """Return the settings of every task for some seeds, at all of its levels or at one."""
    return [
        Setting(kind.id, seed, task_level, difficulty)
        for kind in KINDS.values()
        for task_level in kind.levels
        if level in (None, task_level)
        for seed in seeds
    ]


PREFIX = "tabletop/"


@dataclass(frozen=True, slots=True)
class TableEntry:
    """A kind of task at a level."""

    kind: str
    level: Level

    @property
    def id(self) -> str:
        """The id of the task: ``tabletop/T1/L1``."""
        return f"{PREFIX}{self.kind}/{self.level}"

    def setting(self, seed: int, difficulty: Difficulty = Difficulty.DEFAULT) -> Setting:
        """Return the setting of a seed."""
        return Setting(self.kind, seed, self.level, difficulty)


def table_entry(task_id: str) -> TableEntry:
    """Return the task with an id. Raise TaskError with the valid ids for an unknown one."""
    parts = task_id.removeprefix(PREFIX).split("/")
    if len(parts) != 2 or parts[0] not in KINDS:
        raise TaskError(f"there is no tabletop task '{task_id}': {did_you_mean(task_id, table_ids())}")
    kind, level = KINDS[parts[0]], parse_level(Level, parts[1])
    if level not in kind.levels:
        raise TaskError(f"{kind.id} has no level {level}; valid: {', '.join(kind.levels)}")
    return TableEntry(kind.id, level)


def table_ids() -> list[str]:
    """Return all task ids, level by level."""
    return [
        f"{PREFIX}{kind.id}/{level}" for level in Level for kind in KINDS.values() if level in kind.levels
    ]
