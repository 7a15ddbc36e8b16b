"""The seventeen kinds of task in VIMA-Bench.

task = make(Setting("T1", seed=0))
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from assay.errors import PlacementError, TaskError, did_you_mean
from assay.extensions.tabletop.tasks import learning, placing  # noqa: F401 (register the kinds)
from assay.extensions.tabletop.tasks.task import REGISTERED, Draw, Level, Setting, TableTask, TaskKind
from assay.support.streams import stream

_MAX_DRAWS = 200
PREFIX = "tabletop/"
KINDS: Mapping[str, TaskKind] = MappingProxyType(
    {kind.id: kind for kind in sorted(REGISTERED, key=lambda kind: int(kind.id[1:]))}
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
    """Build the task that a setting specifies. Raise TaskError for an unknown task or level."""
    kind = KINDS[table_entry(f"{setting.task}/{setting.level}").kind]
    for attempt in range(_MAX_DRAWS):
        rng = stream("tabletop", setting.id, "draw", attempt)
        try:
            scene, prompt, goal = kind.make(Draw(rng, setting.level, setting.difficulty))
        except PlacementError:
            continue
        return TableTask(setting, scene, prompt, goal, asked=goal)
    raise PlacementError(f"{setting.id}: no layout that fits on the table was found in {_MAX_DRAWS} attempts")
