"""Two runs on the same specs: how they differ per condition, and in which episodes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from assay.measures import compare
from assay.measures.compare import Comparison
from assay.report.comparison import outcomes
from assay.web.episodes import PAGE
from assay.web.reading import Run

_DIFFERING = """
FROM specs JOIN episodes USING (id)
JOIN other.specs theirs ON theirs.key = specs.key JOIN other.episodes those ON those.id = theirs.id
WHERE episodes.outcome <> those.outcome AND (:condition = '' OR specs.condition = :condition)
"""


@dataclass(frozen=True, slots=True)
class Differing:
    """An episode that ended otherwise in the other run."""

    id: int
    key: str
    condition: str
    task: str
    seed: int
    instruction: str
    first: str
    """Its outcome in the first run."""
    second: str


@dataclass(frozen=True, slots=True)
class DifferingPage:
    """Some of the episodes that differ."""

    rows: tuple[Differing, ...]
    total: int
    next: int | None
    """Ask for those after this id to go on."""


def contrast(first: Path, second: Path) -> Comparison:
    """Compare two runs as "A" and "B". Raises MeasureError where they share no spec."""
    return compare({"A": outcomes(first), "B": outcomes(second)})


def differing(run: Run, second: Path, condition: str = "", after: int = 0) -> DifferingPage:
    """The episodes of a run whose outcome is another in the second one, errors included."""
    run.beside(second)
    values = {"condition": condition, "after": after}
    rows = run.rows(
        "SELECT specs.id, specs.key, specs.condition, specs.task, specs.seed, episodes.instruction, "
        f"episodes.outcome, those.outcome {_DIFFERING} AND specs.id > :after "
        f"ORDER BY specs.id LIMIT {PAGE + 1}",
        values,
    )
    total = run.rows(f"SELECT count(*) {_DIFFERING}", values)[0][0]
    found = tuple(Differing(*row) for row in rows[:PAGE])
    return DifferingPage(found, total, found[-1].id if len(rows) > PAGE else None)
