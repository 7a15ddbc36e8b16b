"""Estimated cost of a run, and confirmation of a long run."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.cli import confirm
from assay.runs.store import Store

from ..runs.test_estimates import recorded

Run = Callable[..., Any]
pytestmark = pytest.mark.usefixtures("no_assets")
SMALL = ("corruption", "--tasks", "libero_goal/7,libero_goal/8", "--seeds", "4")


RUN = "run libero --policy idle --tasks libero_goal/7 --steps 1 --workers 1"


@pytest.mark.usefixtures("wide")
def test_plan_reports_cost_power_and_seeds_for_a_budget(assay: Run, tmp_path: Path):
    recorded(tmp_path / "a.assay", "oracle", "ssss", 3.0)
    said = assay("plan", *SMALL, "--policy", "oracle", "--runs", tmp_path, "--budget", "2h")
    assert said.status == 0 and "mean of 4 episodes of 1 earlier run" in said.out
    assert "controls 100 % (measured in 4 controls of earlier runs)" in said.out
    assert "in 2 h 00 min: " in said.out and "for a loss of 20 points" in said.out
    assert "--repeats 2 adds 8 controls (8 %); recommended if the policy is stochastic" in said.out
    commands = [line.strip() for line in said.out.splitlines() if line.startswith("  assay run")]
    assert len(commands) == 2 and all("corruption --policy oracle --tasks" in each for each in commands)
    assert not list(Path().glob("runs/*.assay")), "nothing is recorded"


@pytest.mark.usefixtures("wide")
def test_plan_warns_if_no_scene_can_be_solved_within_the_steps(assay: Run, tmp_path: Path):
    said = assay(
        "plan", "pro", "--conditions", "displace=0.2", "--tasks", "libero_goal/1", "--seeds", "1",
        "--policy", "idle", "--steps", "2", "--runs", tmp_path,
    )  # fmt: skip
    assert said.status == 0
    assert "the oracle solved none of 1 unperturbed episode within --steps 2" in said.out


def test_plan_without_a_policy_has_losses_but_no_time(assay: Run):
    said = assay("plan", "surface", "--tasks", "libero_goal/7", "--seeds", "4", "--json", "-")
    told = json.loads(said.out)
    assert told["seconds"] is None and told["tested"][0]["starts"] == 4
    assert told["tested"][0]["detectable"] is None, "four starts are too few"
    said = assay("plan", *SMALL, "--budget", "2h")
    assert said.status == 2 and "--budget needs --policy" in said.err and said.err.count("\n") == 1


def test_long_run_needs_yes_without_a_terminal(assay: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    recorded(tmp_path / "earlier.assay", "idle", "ff", 3600.0, steps=1)
    out = tmp_path / "new.assay"
    command = (*RUN.split(), "--seeds", "3", "--out", out)
    said = assay(*command)
    assert said.status == 2 and not out.exists()
    assert "this run takes about 3 h 00 min: 3 episodes" in said.err and "pass --yes to start it" in said.err
    said = assay(*command, "--dry-run")
    assert said.status == 0 and "3 episodes" in said.out and not out.exists()
    said = assay(*command, "--yes")
    assert said.status == 0 and "3 episodes recorded" in said.out


def test_long_run_asks_for_confirmation_on_a_terminal(tmp_path: Path):
    recorded(tmp_path / "earlier.assay", "idle", "ff", 3600.0, steps=1)
    command = [str(Path(sys.executable).with_name("assay")), "run", "libero", "--policy", "idle"]
    command += ["--tasks", "libero_goal/7", "--seeds", "1", "--steps", "1", "--workers", "1"]
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*command, "--out", "new.assay"], stdin=theirs, stderr=theirs, stdout=subprocess.PIPE, cwd=tmp_path
    )
    said = b""
    while b"Start?" not in said:
        said += os.read(ours, 100)
    os.write(ours, b"n\n")
    process.communicate(timeout=120)
    os.close(ours)
    os.close(theirs)
    assert process.returncode == 1 and not (tmp_path / "new.assay").exists()


def test_short_run_starts_without_confirmation(tmp_path: Path, assay: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(confirm, "LONG_RUN_S", 10.0)
    recorded(tmp_path / "earlier.assay", "idle", "ff", 4.0)
    assert assay(*RUN.split(), "--seeds", "2", "--out", tmp_path / "a.assay").status == 0
    with Store.reading(tmp_path / "a.assay") as store:
        assert store.done == 2
