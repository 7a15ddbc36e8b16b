from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from assay.measures import Paths, failures
from assay.measures.failure.failures import (
    failures_table,
    near_far_types_figure,
    types_table,
)
from assay.measures.failure.near_far import PAPER, NearFarFailures, NearFarRule
from assay.measures.views.table import Table
from assay.runs.store import Store


@pytest.fixture
def found(tmp_path: Path, made, write: Callable[..., Path]) -> Callable[..., NearFarFailures]:
    """Failures of a run with so many near and far ones beside twenty successes of one task; another has none."""

    def measured(near: int, far: int, name: str = "run", rule: NearFarRule = PAPER) -> NearFarFailures:
        line = np.linspace(0, 0.4, 60)[:, None] * (1.0, 0.5, 0.2)
        kinds = ["success"] * 20 + ["near"] * near + ["far"] * far
        episodes = [
            made(
                kind == "success",
                f"para/{number % 2}",
                {"object": ("none", "habitual")[number % 2], "action": "hint", "axis": "words"},
                seed=number,
                hand=line * (-1.0 if kind == "far" else 1.0)
                + (0.0, 0.0, (number % 20) / 500 * (kind == "success")),
            )
            for number, kind in enumerate(kinds)
        ]
        labels = {"object": "none", "action": "hint", "axis": "words"}
        episodes.append(made(False, "para/0", labels, task="libero_goal/2", hand=line))
        path = write(tmp_path / f"{name}.assay", episodes)
        with Store.reading(path) as store:
            return failures(store.frame(), Paths.read(store), rule)

    return measured


def column(table: Table, name: str) -> list[object]:
    place = [each.name for each in table.columns].index(name)
    return [row[place] for row in table.rows]


def test_shares_of_all_count_what_could_not_be_judged_and_the_note_says_so(found):
    table = failures_table(found(4, 8), None)
    assert column(table, "task") == ["libero_goal/1", "all"]
    assert (column(table, "near"), column(table, "far"), column(table, "n")) == ([4, 4], [8, 8], [32, 33])
    assert column(table, "far, of all") == pytest.approx([8 / 32, 8 / 33])
    assert column(table, "far, of failures") == pytest.approx([8 / 12, 8 / 12])
    assert "All includes 1 failure that could not be judged" in table.note


def test_types_of_paraphrase_add_up(found):
    some = found(4, 8)
    table = types_table(some, None)
    assert column(table, "axis") == ["names", "names", "action"]
    assert column(table, "n") == [17, 16, 33] and column(table, "far") == [4, 4, 8]
    drawing = near_far_types_figure(some, None)
    assert "Between 66.7 % (habitual) and 66.7 % (none) of the failures are far" in drawing.caption
    assert "1 failure could not be judged" in drawing.caption
