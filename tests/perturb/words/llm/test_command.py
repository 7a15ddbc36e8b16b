from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from assay import tasks
from assay.perturb.words.grid import table
from assay.perturb.words.grid.cells import CELLS
from assay.perturb.words.llm import KEY_VARIABLE, Cache, Ledger, paraphrases

KEY = "sk-not-for-anybodys-eyes"


@pytest.fixture
def command(model, tmp_path: Path) -> Iterator[object]:
    """Starts the command in a process of its own."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> subprocess.Popen[str]:
        code = "import typer; from assay.cli.words.llm import llm; typer.run(llm)"
        usual = ["--endpoint", model.url, "--model", "tiny", "--out", str(tmp_path / "out.csv")]
        usual += ["--tasks", "libero_goal/0", "--per-minute", "1000000", "--per-cell", "2"]
        process = subprocess.Popen(
            [sys.executable, "-c", code, *usual, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {KEY_VARIABLE: KEY, "COLUMNS": "300"},
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_a_table_is_written_and_the_bill_is_shown(model, command, tmp_path: Path):
    out, err = (done := command("--price-in", "1", "--price-out", "10")).communicate(timeout=60)
    assert done.returncode == 0, err
    made = pl.read_csv(tmp_path / "out.csv")
    assert tuple(made.columns) == table.COLUMNS and len(made) == 2 * len(CELLS)
    assert made["original"].unique().to_list() == ["open the middle drawer of the cabinet"]
    assert "86 requests" in out and "8600 tokens sent, 1720 received, cost 0.0258" in out
    assert all(header["Authorization"] == f"Bearer {KEY}" for header in model.headers)
    assert KEY not in out + err
    assert all(KEY.encode() not in file.read_bytes() for file in tmp_path.iterdir())


def test_a_run_that_is_killed_half_way_is_finished_by_the_same_command(
    model, command, endpoint, tmp_path: Path
):
    model.seconds = 0.02
    first = command()
    while len(model.asked) < 40:
        assert first.poll() is None
        time.sleep(0.005)
    first.kill()
    first.communicate()
    assert not (tmp_path / "out.csv").exists()
    model.seconds = 0.0
    before = len(model.asked)
    second = command()
    out, err = second.communicate(timeout=60)
    assert second.returncode == 0, err
    again = model.asked[before:]
    asked_twice = sum(body in model.asked[:before] for body in again)
    assert asked_twice <= 4  # what was under way when it was killed, and no more
    assert len(again) <= 86 - before + 4 and "answers kept from before" in out
    cache, whole = Cache(tmp_path / "another"), tmp_path / "whole.csv"
    table.write(paraphrases(tasks.resolve("libero_goal/0"), 2, endpoint(), cache, Ledger()), whole)
    cache.close()
    assert whole.read_bytes() == (tmp_path / "out.csv").read_bytes()


def test_cells_that_are_short_are_said_and_change_the_exit_status(model, command, tmp_path: Path):
    model.verdict = lambda count: "none"
    err = (done := command()).communicate(timeout=60)[1]
    assert done.returncode == 1 and "short: 43 of 43 cells" in err and "dropped" in err
    assert len(pl.read_csv(tmp_path / "out.csv")) == 0
