from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "in.csv"
    path.write_text("id,original_instruction,new_instruction\n1,turn on the stove,turn on the range\n")
    return path


def test_scores_are_written_and_the_models_named(assay: Callable, table: Path, tmp_path: Path):
    said = assay("words", "score", table, "--out", tmp_path / "out.csv")
    assert said.status == 0 and said.err == ""
    assert "1 pairs scored with en_core_web_sm" in said.out and "all-MiniLM-L6-v2" in said.out
    written = pl.read_csv(tmp_path / "out.csv")
    added = ["s_k", "s_t", "pd", "parser", "embedding"]
    assert written.columns == ["id", "original_instruction", "new_instruction", *added]
    assert written["parser"][0].startswith("en_core_web_sm") and written["embedding"][0] == "all-MiniLM-L6-v2"
    assert written["pd"][0] == pytest.approx(0.36, abs=0.005)


def test_alpha_and_baselines_are_options(assay: Callable, table: Path, tmp_path: Path):
    assay("words", "score", table, "--out", tmp_path / "out.csv", "--alpha", "0", "--baselines")
    written = pl.read_csv(tmp_path / "out.csv")
    assert written["pd"][0] == 1 - written["s_t"][0]
    assert (
        written["bleu"][0] == pytest.approx(0.59, abs=0.01)
        and 0 < written["bert_score[all-MiniLM-L6-v2]"][0] < 1
    )


def test_rows_without_a_score_are_counted_and_the_status_is_1(assay: Callable, table: Path, tmp_path: Path):
    table.write_text(table.read_text() + "2,turn on the stove,\n3,turn on the stove,\n")
    said = assay("words", "score", table, "--out", tmp_path / "out.csv")
    assert said.status == 1 and "1 pairs scored" in said.out
    assert said.err == "2 x the paraphrase is empty\n2 of 3 have no score\n"
    assert pl.read_csv(tmp_path / "out.csv")["pd_warning"].null_count() == 1


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("a,b\n1,2\n", (), "needs the columns original_instruction and new_instruction"),
        ("", (), "is empty"),
        ("original,paraphrase\na,b\n", ("--alpha", "2"), "alpha is 2.0: valid: 0"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(
    content: str, options: tuple[str, ...], message: str, assay: Callable, table: Path, tmp_path: Path
):
    table.write_text(content)
    said = assay("words", "score", table, "--out", tmp_path / "out.csv", *options)
    assert said.status == 2 and message in said.err and said.err.count("\n") == 1
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("place", ["in.csv/out.csv", "folder"])
def test_a_place_that_cannot_be_written_is_one_line(assay: Callable, table: Path, tmp_path: Path, place: str):
    (tmp_path / "folder").mkdir()
    said = assay("words", "score", table, "--out", tmp_path / place)
    assert said.status == 2 and f"{place} cannot be written" in said.err and said.err.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "in.csv"]


def test_a_file_that_is_not_there_is_named(assay: Callable, tmp_path: Path):
    said = assay("words", "score", tmp_path / "none.csv", "--out", tmp_path / "out.csv")
    assert said.status == 2 and "none.csv" in said.err and said.err.count("\n") == 1
