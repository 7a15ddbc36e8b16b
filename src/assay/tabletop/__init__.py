"""Tasks on a table, told in words and pictures; actions are two poses.

task = make(Setting("T1", seed=0))
played = play(task, TableOracle())
"""

from assay.tabletop.goals import Progress, PutGoal, SweepGoal, Verdict
from assay.tabletop.observation import ObjectTokens, TableObservation, object_tokens, patches, shown
from assay.tabletop.oracle import TableOracle
from assay.tabletop.pools import Difficulty, Level
from assay.tabletop.prompt import Picture, Prompt
from assay.tabletop.render import table_point
from assay.tabletop.scene import Item, TableScene, Tool
from assay.tabletop.selection import TableEntry, resolve_tables, table_entry
from assay.tabletop.simulation import ACTION_SIZE, Effect, Report, TableSimulation, action
from assay.tabletop.tasks import KINDS, Kind, Setting, TableTask, make, settings
from assay.tabletop.world import TABLETOP_WORLD, Played, TableEnv, play

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
