"""Runs on tables: success by task and level, with mistakes and without; what the prompt has to do with it."""

from assay.extensions.tabletop.measures.instruction_use import Kept, Modalities, Novelty, Retried
from assay.extensions.tabletop.measures.scores import Against, LevelScore, Mean, TaskScore
from assay.extensions.tabletop.measures.tabletop import Tabletop, tabletop

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
