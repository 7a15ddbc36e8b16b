"""Tasks on a table, told in words and pictures; actions are two poses.

task = make(Setting("T1", seed=0))
played = play(task, TableOracle())
"""

from assay.tabletop.episode import Played, TablePolicy, TablePrivileged, play
from assay.tabletop.goals import Progress, PutGoal, SweepGoal, Verdict
from assay.tabletop.observation import ObjectTokens, TableObservation, object_tokens, patches, shown
from assay.tabletop.oracle import TableOracle
from assay.tabletop.pools import Difficulty, Level
from assay.tabletop.prompt import Picture, Prompt
from assay.tabletop.scene import Item, TableScene, Tool
from assay.tabletop.tasks import KINDS, Kind, Setting, TableTask, make, settings
from assay.tabletop.world import ACTION_SIZE, Effect, Report, TableWorld, action

__all__ = [
    "ACTION_SIZE",
    "KINDS",
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
    "TableObservation",
    "TableOracle",
    "TablePolicy",
    "TablePrivileged",
    "TableScene",
    "TableTask",
    "TableWorld",
    "Tool",
    "Verdict",
    "action",
    "make",
    "object_tokens",
    "patches",
    "play",
    "settings",
    "shown",
]
