"""What the authors of LIBERO-X published: Tables II to IX."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import yaml

from assay.tasks.labels import CONFOUNDING, FAMILIES, UNSEEN

DEFAULT_LIMIT = 1.1
"""The time limit of Tables II to IV, times the human time."""
Shares = Mapping[str, float]
"""Column of a table -> success, 0 to 1."""
Row = tuple[str, float | None]
"""A model, and a time limit as a multiple of the human time; None for no limit."""


@dataclass(frozen=True, slots=True)
class Published:
    """The authors' numbers, by table: row -> shares."""

    source: str
    levels: Mapping[Row, Shares]
    unseen: Mapping[Row, Shares]
    forms: Mapping[Row, Shares]
    labels: Mapping[int, Mapping[Row, Shares]]
    """Level -> its table of labels."""


@cache
def published() -> Published:
    """What the authors published."""
    content = yaml.safe_load(files(__package__).joinpath("published.yaml").read_text(encoding="utf-8"))
    labels = [label for family in FAMILIES.values() for label in family]

    def table(name: str, columns: list[str]) -> dict[Row, Shares]:
        return {(model, DEFAULT_LIMIT): _shares(columns, row) for model, row in content[name].items()}

    return Published(
        content["source"],
        table("levels", [str(level) for level in content["labels"]]),
        table("level4", ["all", UNSEEN, CONFOUNDING]),
        table("level5", ["all", "synonym", "concise", "reorder", "passive", "verbose"]),
        {
            level: {
                (model, None if factor == "none" else float(factor)): _shares(labels, row)
                for model, rows in models.items()
                for factor, row in rows.items()
            }
            for level, models in content["labels"].items()
        },
    )


def _shares(columns: list[str], row: list[float]) -> dict[str, float]:
    return {name: value / 100 for name, value in zip(columns, row, strict=True)}
