"""Two runs on the same specs: how they differ per condition."""

from __future__ import annotations

from pathlib import Path

from assay.measures import compare
from assay.measures.compare import Comparison
from assay.report.comparison import outcomes


def contrast(first: Path, second: Path) -> Comparison:
    """Compare two runs as "A" and "B". Raises MeasureError where they share no spec."""
    return compare({"A": outcomes(first), "B": outcomes(second)})
