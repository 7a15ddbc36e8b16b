"""What the authors of CoGeLoT published: success of four networks in per cent of 200 episodes, task by task."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

SOURCE = "Parekh et al., arXiv:2407.03967v2, Tables F.2 to F.14 and 8; 200 episodes of each task and level"
KINDS = tuple(f"T{number}" for number in range(1, 18))


@dataclass(frozen=True, slots=True)
class Score:
    """One network under one condition at one level."""

    table: str
    """Where it stands in the paper: F.2 to F.14, or 8 where the paper gives the mean alone."""
    trained: str
    """On original instructions, on paraphrases, or on paraphrases with permuted objects."""
    condition: str
    mistakes: bool
    """Whether they were allowed."""
    model: str
    level: str
    tasks: Mapping[str, float]
    """Kind -> success, 0 to 1."""
    mean: float


@cache
def published() -> tuple[Score, ...]:
    """Everything, in the order of the paper's tables."""
    text = files(__package__).joinpath("published.csv").read_text(encoding="utf-8")
    return tuple(
        Score(
            row["table"],
            row["trained"],
            row["condition"],
            row["mistakes"] == "allowed",
            row["model"],
            row["level"],
            {kind: float(row[kind]) / 100 for kind in KINDS if row[kind]},
            float(row["average"]) / 100,
        )
        for row in csv.DictReader(text.splitlines())
    )
