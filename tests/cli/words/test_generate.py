from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conftest import Said

from assay import tasks


def test_a_grid_is_written_and_passes_verification(assay: Callable[..., Said], tmp_path: Path) -> None:
    out = tmp_path / "grid.csv"
    said = assay("words", "generate", "--tasks", "libero_10", "--per-cell", "10", "--out", out)
    assert said.status == 0 and "430 paraphrases" in said.err
    with out.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert list(rows[0]) == ["task", "object_type", "action_type", "original", "paraphrase"]
    assert len(rows) == 430 and {row["task"] for row in rows} == {f"libero_10/{n}" for n in range(10)}
    checked = assay("words", "verify", out)
    assert checked.status == 0 and "430 rows, 0 with faults" in checked.err


def test_a_task_file_of_ones_own_is_paraphrased_and_verified(
    assay: Callable[..., Said], tmp_path: Path
) -> None:
    file, out = tmp_path / "mine.bddl", tmp_path / "grid.csv"
    file.write_text(tasks.bddl.write(tasks.load("libero_goal/1")))
    assert assay("words", "generate", "--tasks", file, "--per-cell", "2", "--out", out).status == 0
    assert out.read_text().splitlines()[1].startswith("mine,")
    assert assay("words", "verify", out, "--tasks", file).status == 0
    assert assay("words", "verify", out).status == 1


def test_the_table_for_readers_is_the_one_in_the_documents(assay: Callable[..., Said]) -> None:
    printed = assay("words", "generate", "--tasks", "libero_goal", "--per-cell", "100", "--markdown").out
    assert printed.strip() in (Path(__file__).parents[3] / "docs" / "words.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((), "valid: --out FILE.csv"),
        (("--tasks", "libero_gaol", "--out", "x.csv"), "did you mean 'libero_goal'"),
        (("--tasks", "nowhere.bddl", "--out", "x.csv"), "nowhere.bddl"),
        (("--tasks", "libero_goal/7", "--per-cell", "999", "--out", "x.csv"), "obj=addition,act=none has 3"),
        (("--lexicon", "nowhere.yaml", "--out", "x.csv"), "nowhere.yaml"),
    ],
)
def test_bad_input_is_one_line(assay: Callable[..., Said], arguments: tuple[str, ...], reason: str) -> None:
    said = assay("words", "generate", *arguments)
    assert said.status == 2 and reason in said.err and len(said.err.strip().splitlines()) == 1


def test_tasks_that_have_fewer_are_named(assay: Callable[..., Said], tmp_path: Path) -> None:
    said = assay("words", "generate", "--out", tmp_path / "grid.csv")
    assert "libero_goal/7: has 3 of 10 in cell obj=addition,act=none" in said.err
