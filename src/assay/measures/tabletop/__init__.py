"""Runs on tables: success by task and level, with mistakes and without; what the prompt has to do with it."""

from assay.measures.tabletop.instruction_use import Kept, Modalities, Novelty, Retried
from assay.measures.tabletop.scores import Against, LevelScore, Mean, TaskScore
from assay.measures.tabletop.tabletop import Tabletop, tabletop

__all__ = [
    "Against",
    "Kept",
    "LevelScore",
    "Mean",
    "Modalities",
    "Novelty",
    "Retried",
    "Tabletop",
    "TaskScore",
    "tabletop",
]
