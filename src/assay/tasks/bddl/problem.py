"""Problem names: which arena, in which style, a task file asks for.

LIBERO_Kitchen_Tabletop_Manipulation                      the kitchen
Libero_Tabletop_Manipulation_tabletop_light_modified_7    the table, in the style tabletop_light_modified_7
"""

from __future__ import annotations

import re

from assay.errors import TaskError, did_you_mean
from assay.tasks.checks import quoted
from assay.tasks.scene import Arena

_PROBLEMS = {
    Arena.TABLE: "LIBERO_Tabletop_Manipulation",
    Arena.KITCHEN: "LIBERO_Kitchen_Tabletop_Manipulation",
    Arena.LIVING_ROOM: "LIBERO_Living_Room_Tabletop_Manipulation",
    Arena.STUDY: "LIBERO_Study_Tabletop_Manipulation",
    Arena.FLOOR: "LIBERO_Floor_Manipulation",
    Arena.COFFEE_TABLE: "LIBERO_Coffee_Table_Manipulation",
}
_PATTERNS = {
    arena: re.compile(re.escape(problem) + r"(?:_(?P<style>.+))?", re.IGNORECASE)
    for arena, problem in _PROBLEMS.items()
}


def workspace_category(arena: Arena) -> str:
    """What task files call the kind of thing an arena's workspace is."""
    return "table" if arena is Arena.TABLE else arena.workspace


def arena_and_style(problem: str) -> tuple[Arena, str]:
    """What a problem name stands for; the style keeps its case. TaskError if there is no such problem."""
    for arena, pattern in _PATTERNS.items():
        match = pattern.fullmatch(problem)
        if match:
            return arena, match["style"] or ""
    raise TaskError(f"unknown problem {quoted(problem)}; {did_you_mean(problem[:80], _PROBLEMS.values())}")


def problem_name(arena: Arena, style: str) -> str:
    """The other way round."""
    return f"{_PROBLEMS[arena]}_{style}" if style else _PROBLEMS[arena]
