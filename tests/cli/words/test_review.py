from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conftest import Said

ROWS = (
    "task,object_type,action_type,original,paraphrase,model\n"
    "libero_goal/7,none,hint,turn on the stove,the stove is still off,tiny\n"
    'libero_goal/7,none,hint,turn on the stove,"the stove, it is cold",tiny\n'
    "libero_goal/7,habitual,none,turn on the stove,turn on the range,tiny\n"
)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    (tmp_path / "grid.csv").write_text(ROWS)
    return tmp_path / "grid.csv"


def test_what_a_reviewer_rejects_is_dropped_and_counted_by_cell(
    assay: Callable[..., Said], table: Path, tmp_path: Path
) -> None:
    sheet, kept = tmp_path / "decisions.csv", tmp_path / "kept.csv"
    assert "3 paraphrases" in assay("words", "review", table, "--sheet", sheet).err
    blank = assay("words", "review", table, "--decisions", sheet, "--out", kept)
    assert blank.status == 2 and "has no decision yet" in blank.err and not kept.exists()
    rows = list(csv.DictReader(sheet.open(newline="")))
    rows[1]["decision"], rows[2]["decision"] = "Reject", "accept"
    with sheet.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    said = assay("words", "review", table, "--decisions", sheet, "--out", kept)
    assert said.status == 0 and "1 accepted, 1 rejected, 1 without a decision" in said.out
    assert "rejected     1 in obj=none,act=hint" in said.out
    assert kept.read_text() == "".join(ROWS.splitlines(keepends=True)[place] for place in (0, 1, 3))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("accept", "perhaps"), "'perhaps' is not a decision: valid: accept, reject"),
        (("still off,acc", "very cold,acc"), "the decisions are about another table"),
        (("1,libero", "9,libero"), "there is no row '9' in the table, which has 3"),
    ],
)
def test_decisions_that_do_not_fit_are_refused_in_one_line(
    assay: Callable[..., Said], table: Path, tmp_path: Path, change: tuple[str, str], reason: str
) -> None:
    file = tmp_path / "decisions.csv"
    row = "1,libero_goal/7,none,hint,turn on the stove,the stove is still off,accept,\n"
    head = "row,task,object_type,action_type,original,paraphrase,decision,note\n"
    file.write_text(head + row.replace(*change))
    said = assay("words", "review", table, "--decisions", file, "--out", tmp_path / "kept.csv")
    assert said.status == 2 and f"{file}:2: " in said.err and reason in said.err and said.err.count("\n") == 1


def test_the_page_shows_each_scene(assay: Callable[..., Said], table: Path, tmp_path: Path) -> None:
    said = assay("words", "review", table, "--sheet", tmp_path / "review.html")
    page = (tmp_path / "review.html").read_text()
    assert said.status == 0 and page.count("data:image/png;base64,iVBOR") == 1
    assert page.count('class="row"') == 3 and "object habitual, action none" in page
    bare = assay("words", "review", table, "--sheet", tmp_path / "bare.html", "--no-pictures")
    assert bare.status == 0 and "data:image" not in (tmp_path / "bare.html").read_text()


def test_what_to_do_must_be_said(assay: Callable[..., Said], table: Path, tmp_path: Path) -> None:
    assert "either --sheet FILE" in assay("words", "review", table).err
    assert "ends in .html or .csv" in assay("words", "review", table, "--sheet", tmp_path / "a.pdf").err
    said = assay("words", "review", table, "--decisions", tmp_path / "none.csv", "--out", table)
    assert said.status == 2 and "is the table itself" in said.err
