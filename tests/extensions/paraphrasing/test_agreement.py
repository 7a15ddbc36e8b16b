from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from assay.errors import PerturbationError
from assay.extensions.paraphrasing.human_check import (
    ANNOTATION_COLUMNS,
    agreement,
    read_sheets,
    sample,
    write_sheet,
)
from assay.perturb.words.grid.table import GridRow
from assay.support.stats.significance import gwet_ac1


def rows(count: int) -> list[GridRow]:
    return [
        GridRow(line, "libero_goal/1", "none", "hint", "original", f"text {line}")
        for line in range(2, count + 2)
    ]


def filled(path: Path, source: Path, **columns: list[str]) -> Path:
    """A returned sheet: a copy with annotators' columns."""
    with source.open(newline="") as stream:
        sheet = list(csv.DictReader(stream))
    for name, cells in columns.items():
        for row, cell in zip(sheet, cells, strict=True):
            row[name] = cell
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(sheet[0]))
        writer.writeheader()
        writer.writerows(sheet)
    return path


@pytest.fixture
def sheet(tmp_path: Path) -> Path:
    write_sheet(tmp_path / "sheet.csv", sample(rows(80), 0.05, 0), ANNOTATION_COLUMNS)
    return tmp_path / "sheet.csv"


def test_a_sample_is_random_and_repeatable_and_its_size_valid() -> None:
    for share in (0, -1, 1.01, float("nan")):
        with pytest.raises(PerturbationError, match="greater than 0 and at most 1"):
            sample(rows(3), share, 0)
    grid = rows(4300)
    chosen = sample(grid, 0.05, 0)
    assert len(chosen) == len(set(chosen.values())) == 215
    assert all(grid[item - 1] == row for item, row in chosen.items())
    assert chosen == sample(grid, 0.05, 0) != sample(grid, 0.05, 1)
    assert abs(np.mean(list(chosen)) - 2150) < 350
    assert len(sample(rows(3), 0.05, 0)) == 1


def test_ac1_is_that_of_the_literature() -> None:
    # Krippendorff's example with missing ratings; the values are those that the R package irrCAC gives.
    by_rater = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, 0, 0, 0],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, 0, 3],
        [0, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 0],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, 0],
    ]
    value, low, high = gwet_ac1(np.array(by_rater).T - 1, 5, 0.95)
    assert (round(value, 5), round(low, 5), high) == (0.77544, 0.46081, 1.0)


def test_sheets_come_back_from_one_annotator_each(sheet: Path, tmp_path: Path) -> None:
    one = filled(tmp_path / "1.csv", sheet, same=["yes", "Yes ", "y", "1"])
    two = filled(tmp_path / "2.csv", sheet, same=["yes", "no", "O", "x"])
    three = filled(tmp_path / "3.csv", sheet, same=["yes", "no", "", "same"])
    judged = read_sheets([one, two, three])
    assert list(judged.values()) == [[1, 1, 1], [1, 0, 0], [1, 1, -1], [1, 0, 1]]
    found = agreement(judged)
    assert (found.items, found.annotators) == (4, 3)
    assert (found.yes, found.majority, found.strict) == (8 / 11, 0.75, 0.5)
    assert found.low < found.ac1 < found.high <= 1


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"paraphrase": ["other"] * 4, "same": ["yes"] * 4}, "has different texts"),
        ({"same": [""] * 4}, r"1\.csv contains no judgements yet: annotators enter"),
    ],
)
def test_a_sheet_that_does_not_fit_the_others_is_rejected(
    columns: dict[str, list[str]], reason: str, sheet: Path, tmp_path: Path
) -> None:
    sound = filled(tmp_path / "0.csv", sheet, same=["yes"] * 4)
    with pytest.raises(PerturbationError, match=reason):
        read_sheets([sound, filled(tmp_path / "1.csv", sheet, **columns)])


def test_sheets_and_items_given_twice_and_single_annotators_are_rejected(sheet: Path, tmp_path: Path) -> None:
    returned = filled(tmp_path / "1.csv", sheet, same=["yes"] * 4)
    with pytest.raises(PerturbationError, match="at least two items"):
        agreement(read_sheets([returned]))
    with pytest.raises(PerturbationError, match=r"1\.csv was given 2 times"):
        read_sheets([returned, tmp_path / "." / "1.csv"])
    (tmp_path / "a.csv").write_text("task,paraphrase\n")
    with pytest.raises(PerturbationError, match="lacks the columns item, original"):
        read_sheets([tmp_path / "a.csv"])
    lines = returned.read_text().splitlines()
    returned.write_text("\n".join([*lines, lines[2]]) + "\n")
    with pytest.raises(PerturbationError, match=r"1\.csv:6: item \d+ is already on line 3"):
        read_sheets([returned])


def test_the_meaning_of_zero_is_an_option(sheet: Path, tmp_path: Path) -> None:
    returned = filled(tmp_path / "1.csv", sheet, same=["0", "yes", "X", "1"])
    for marks, judged in {"0X": [1, 1, 0, 1], "10": [0, 1, 0, 1]}.items():
        assert [values[0] for values in read_sheets([returned], marks).values()] == judged


def test_items_that_are_not_strictly_the_same_are_listed_with_their_cells(
    sheet: Path, tmp_path: Path
) -> None:
    names = {"a": ["0"] * 4, "b": ["X", "0", "0", "X"], "c": ["X", "0", "0", "0"]}
    found = agreement(read_sheets([filled(tmp_path / "1.csv", sheet, **names)], "0X"))
    assert [(each.yes, each.judgements) for each in found.failing] == [(1, 3), (2, 3)]
    assert {(each.item.object_type, each.item.action_type) for each in found.failing} == {("none", "hint")}
