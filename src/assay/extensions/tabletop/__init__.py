"""Tasks on a table, told in words and pictures; actions are two poses.

task = make(Setting("T1", seed=0))
played = play(task, TableOracle())
"""

from assay.extensions.tabletop.goals import Progress, PutGoal, SweepGoal, Verdict
from assay.extensions.tabletop.observation import (
    ObjectTokens,
    TableObservation,
    object_tokens,
    patches,
    shown,
)
from assay.extensions.tabletop.oracle import TableOracle
from assay.extensions.tabletop.pools import Difficulty, Level
from assay.extensions.tabletop.prompt import Picture, Prompt
from assay.extensions.tabletop.render import table_point
from assay.extensions.tabletop.scene import Item, TableScene, Tool
from assay.extensions.tabletop.selection import TableEntry, resolve_tables, table_entry
from assay.extensions.tabletop.simulation import ACTION_SIZE, Effect, Report, TableSimulation, action
from assay.extensions.tabletop.tasks import KINDS, Kind, Setting, TableTask, make, settings
from assay.extensions.tabletop.world import TABLETOP_WORLD, Played, TableEnv, play

__all__ = [
    "ACTION_SIZE",
    "KINDS",
    "TABLETOP_WORLD",
    "Difficulty",
    "Effect",
    "Item",
    "Kind",
    "Level",
    "ObjectTokens",
    "Picture",
    "Played",
    "Progress",
    "Prompt",
    "PutGoal",
    "Report",
    "Setting",
    "SweepGoal",
    "TableEntry",
    "TableEnv",
    "TableObservation",
    "TableOracle",
    "TableScene",
    "TableSimulation",
    "TableTask",
    "Tool",
    "Verdict",
    "action",
    "make",
    "object_tokens",
    "patches",
    "play",
    "resolve_tables",
    "settings",
    "shown",
    "table_entry",
    "table_point",
]
