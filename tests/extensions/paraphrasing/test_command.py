from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from assay import tasks
from assay.extensions.paraphrasing.pipeline import paraphrases, read_prompts
from assay.perturb.words.grid import table
from assay.perturb.words.grid.cells import CELLS
from assay.support.llm.client import Cache, Ledger
from assay.support.llm.protocols import KEY_VARIABLE

BUILT_IN = files("assay.extensions.paraphrasing").joinpath("prompts.yaml").read_text()
KEY = "sk-not-for-anybodys-eyes"
Command = Callable[..., Any]


@pytest.fixture
def arguments(model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The command, for two paraphrases in each cell of one task."""
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    usual = ["words", "llm", "--endpoint", model.url, "--model", "tiny", "--out", str(tmp_path / "out.csv")]
    return [*usual, "--tasks", "libero_goal/0", "--per-minute", "1000000", "--per-cell", "2"]


def test_a_table_is_written_and_tokens_are_counted(model, assay: Command, arguments, tmp_path: Path):
    said = assay(*arguments)
    assert said.status == 0, said.err
    made = pl.read_csv(tmp_path / "out.csv")
    assert tuple(made.columns) == (*table.COLUMNS, "model", "prompts", "rules")
    assert len(made) == 2 * len(CELLS)
    made_by = made.select("model", "prompts", "rules").unique().row(0)
    assert made_by == ("tiny", read_prompts().name, "filter") and made_by[1].startswith("built-in ")
    assert made["original"].unique().to_list() == ["open the middle drawer of the cabinet"]
    assert "86 requests" in said.out and "8,600 input tokens, 1,720 output tokens" in said.out
    assert all(header["Authorization"] == f"Bearer {KEY}" for header in model.headers)
    assert KEY not in said.out + said.err
    assert all(KEY.encode() not in file.read_bytes() for file in tmp_path.iterdir())


def test_a_run_that_is_killed_half_way_is_finished_by_the_same_command(
    model, assay: Command, arguments, endpoint, tmp_path: Path
):
    model.seconds = 0.02
    first = subprocess.Popen([sys.executable, "-m", "assay", *arguments], env=os.environ)
    try:
        while len(model.asked) < 40:
            assert first.poll() is None
            time.sleep(0.005)
    finally:
        first.kill()
        first.wait()
    assert not (tmp_path / "out.csv").exists()
    model.seconds = 0.0
    before = len(model.asked)
    said = assay(*arguments)
    assert said.status == 0, said.err
    again = model.asked[before:]
    asked_twice = sum(body in model.asked[:before] for body in again)
    assert asked_twice <= 4  # what was under way when it was killed, and no more
    assert len(again) <= 86 - before + 4 and "cached replies" in said.out
    cache, whole = Cache(tmp_path / "another"), tmp_path / "whole.csv"
    table.write(paraphrases(tasks.resolve("libero_goal/0"), 2, endpoint(), cache, Ledger()), whole)
    cache.close()
    assert table.read(whole) == table.read(tmp_path / "out.csv")


def test_a_run_that_breaks_off_still_counts_its_tokens(model, assay: Command, arguments, tmp_path: Path):
    model.faults = {number: lambda body: (401, {}, b"no credit") for number in range(10, 1000)}
    said = assay(*arguments)
    assert said.status == 2 and "rejected the request: status 401: no credit" in said.err
    counted = re.search(r"([\d,]+) input tokens, (\d+) output tokens", said.out)
    assert counted is not None, said.out
    answers = int(counted[1].replace(",", "")) / 100  # up to ten: some may be on their way when it breaks off
    assert 1 <= answers <= 10 and int(counted[2]) == 20 * answers
    assert not (tmp_path / "out.csv").exists() and not list(tmp_path.glob("*.part"))


def test_an_unwritable_file_and_cells_that_are_short_change_the_exit_status(
    model, assay: Command, arguments, tmp_path: Path
):
    (tmp_path / "out.csv").mkdir()
    said = assay(*arguments)
    assert said.status == 2 and "out.csv cannot be written" in said.err and not model.asked
    (tmp_path / "out.csv").rmdir()
    model.verdict = lambda count: "none"
    said = assay(*arguments)
    assert (
        said.status == 1
        and "43 of 43 cells have fewer than 2 paraphrases" in said.err
        and "dropped" in said.err
    )
    assert len(pl.read_csv(tmp_path / "out.csv")) == 0


def test_without_rules_only_the_model_judges_and_rows_record_the_prompts(
    model, assay: Command, arguments, tmp_path: Path
):
    usual = model.text

    def text(body: dict[str, Any]) -> str:
        said = usual(body)
        return said.replace("cabinet", "mug") if "You combine" in body["messages"][0]["content"] else said

    model.text = text
    mine = tmp_path / "mine.yaml"
    mine.write_text(BUILT_IN.replace("as a person would say it", "as a pirate would say it"))
    assay(*arguments, "--rules", "off", "--prompts", mine)
    made = pl.read_csv(tmp_path / "out.csv")
    assert made["paraphrase"].str.contains("mug").any()
    assert set(made["rules"]) == {"off"} and made["prompts"][0].startswith("mine.yaml ")
    assert all("as a pirate would" in body["messages"][0]["content"] for body in model.asked)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("every: [", "is not valid YAML"),
        (lambda text: text.replace("\nmerge:", "\nmarge:"), "merge: field required"),
        (lambda text: text.replace("{count}", "{number}"), "its text has an unknown field: 'number'"),
        (lambda text: text.replace("    {candidates}\n", ""), "verify.user lacks the field"),
    ],
)
def test_prompts_that_are_invalid_are_rejected(
    model, assay: Command, arguments, tmp_path: Path, content: Any, reason: str
):
    file = tmp_path / "mine.yaml"
    file.write_text(content if isinstance(content, str) else content(BUILT_IN))
    said = assay(*arguments, "--prompts", file)
    assert said.status == 2 and "mine.yaml" in said.err and reason in said.err and said.err.count("\n") == 1
    assert not model.asked
