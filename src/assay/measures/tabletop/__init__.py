"""Runs on tables: success by task and level, with mistakes and without; what the prompt has to do with it."""

from assay.measures.tabletop.scores import Against, LevelScore, Mean, TaskScore
from assay.measures.tabletop.tabletop import Tabletop, tabletop
from assay.measures.tabletop.telling import Again, Kept, Modalities, Novelty

__all__ = [
    "Again",
    "Against",
    "Kept",
    "LevelScore",
    "Mean",
    "Modalities",
    "Novelty",
    "Tabletop",
    "TaskScore",
    "tabletop",
]
