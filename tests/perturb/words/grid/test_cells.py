from __future__ import annotations

import csv
from pathlib import Path

import pytest

from assay.errors import PerturbationError
from assay.perturb.words.grid.cells import CELLS, cell_of
from assay.tasks.formats.libero_para import TYPES


def test_wrong_names_are_rejected_with_the_nearest() -> None:
    with pytest.raises(PerturbationError, match="no object type 'habitul': did you mean 'habitual'"):
        cell_of("habitul", "none")
    with pytest.raises(PerturbationError, match="no action type 'hnt': did you mean 'hint'"):
        cell_of("none", "hnt")
    with pytest.raises(PerturbationError, match="is the original"):
        cell_of("none", "none")


def test_the_released_metadata_uses_exactly_these_cells(shared: Path) -> None:
    with (shared / "libero_para" / "metadata.csv").open(encoding="utf-8", newline="") as stream:
        found = {cell_of(*TYPES[row["high"], row["mid"], row["low"]]) for row in csv.DictReader(stream)}
    assert found == set(CELLS)
