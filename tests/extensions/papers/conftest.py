from typing import Any

from tests.report.conftest import everything as everything
from tests.report.conftest import made as made
from tests.report.conftest import write as write

from assay.measures.views.table import Table
from assay.report.papers import PaperReport


def exhibit(report: PaperReport, label: str) -> Any:
    return next(part for section in report.sections for part in section.exhibits if part.label == label)


def lines(table: Table) -> list[dict[str, Any]]:
    names = [column.name for column in table.columns]
    return [dict(zip(names, row, strict=True)) for row in table.rows]
