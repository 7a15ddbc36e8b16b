from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay import tasks
from assay.errors import RunError
from assay.experiments import load_experiment
from assay.runs.options import parse_seeds
from assay.runs.store import Store
from assay.support import console

Run = Callable[..., Any]
pytestmark = pytest.mark.usefixtures("no_assets")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new" / "a.assay"


@pytest.mark.extensions("interop")
def test_run_is_resumed_extended_shown_listed_and_exported(assay: Run, path: Path, tmp_path: Path):
    command = ("run", "libero", "--policy", "idle", "--tasks", "libero_goal/7", "--steps", "2", "--out", path)
    said = assay(*command, "--seeds", "2", "--workers", "1")
    assert said.status == 0 and "2 episodes recorded" in said.out and "0/2" in said.out
    said = assay(*command, "--seeds", "2", "--workers", "0")
    assert said.status == 0 and "0 episodes recorded" in said.out
    said = assay(*command, "--seeds", "1,2", "--workers", "0")
    assert said.status == 0 and "1 episode recorded" in said.out
    said = assay("runs", "show", path, "--json", "-")
    shown = json.loads(said.out)
    assert shown["meta"]["policy"] == "idle" and len(shown["meta"]["pack_digest"]) > 8
    (condition,) = shown["conditions"]
    counts = {"planned": 3, "done": 3, "success": 0, "failure": 3, "error": 0}
    assert condition == {"condition": "control", **counts, "success_expected": True}
    assert "3/3" in assay("runs", "list", tmp_path).out
    said = assay("export", path, "--json", tmp_path / "a.json")
    episodes = json.loads((tmp_path / "a.json").read_text())
    assert said.status == 0 and [each["seed"] for each in episodes] == [0, 1, 2]
    assert {"key", "experiment", "condition", "task", "seed", "outcome", "steps"} <= set(episodes[0])
    assert json.loads(assay("export", path, "--json", "-").out) == episodes


def test_run_of_errors_alone_exits_with_status_1(assay: Run, path: Path):
    states = path.parent / "states"
    states.mkdir(parents=True)
    plan = ("--tasks", "libero_goal/7", "--seeds", "2", "--states", states)
    command = ("run", "libero", "--policy", "idle", *plan, "--workers", "0", "--out", path)
    said = assay(*command)
    assert said.status == 2 and said.err.count("\n") == 1, "a folder that has no states is refused at once"
    assert "lacks libero_goal/turn_on_the_stove.pruned_init" in said.err and not path.exists()
    (states / "libero_goal").mkdir()
    (states / "libero_goal" / "turn_on_the_stove.pruned_init").write_bytes(b"nothing of the kind")
    said = assay(*command)
    assert said.status == 1 and "every episode ended in an error" in said.err and "2 x error" in said.out


def test_progress_is_logged_without_a_terminal(assay: Run, path: Path, monkeypatch: pytest.MonkeyPatch):
    command = ("run", "libero", "--policy", "idle", "--tasks", "libero_goal/7", "--steps", "1", "--out", path)
    monkeypatch.setattr(console, "EVERY", 0.0)
    said = assay(*command, "--seeds", "2", "--workers", "0")
    lines = said.err.splitlines()
    assert any(line.startswith("episodes: 1 of 2") for line in lines)
    assert lines[-1].startswith("episodes: 2 of 2")


def test_run_without_a_plan_is_shown_as_such(assay: Run, path: Path):
    with Store.writing(path) as store:
        store.describe(experiment="x")
    said = assay("runs", "show", path)
    assert said.status == 0 and "no episode has been planned yet" in said.out


def test_names_are_whole_on_a_narrow_terminal(assay: Run, path: Path, monkeypatch: pytest.MonkeyPatch):
    specs = list(load_experiment("corruption").plan([tasks.load("libero_goal/7")], (0,)))
    with Store.writing(path) as store:
        store.plan(specs)
    monkeypatch.setattr(console.output, "_width", 44)
    said = assay("runs", "show", path)
    assert said.status == 0 and "…" not in said.out
    words = said.out.split()
    assert all(spec.condition in words for spec in specs), "they can be copied and searched for"


def test_seeds_are_a_count_a_list_or_a_range():
    assert parse_seeds("3") == (0, 1, 2) and parse_seeds("5,") == (5,)
    assert parse_seeds("7,8,9") == (7, 8, 9) and parse_seeds("7-11") == (7, 8, 9, 10, 11)
    for text in ("", "0", "-1", "a", "3-1", "1,1", "1.5"):
        with pytest.raises(RunError):
            parse_seeds(text)


def test_ctrl_c_ends_a_run_cleanly_and_the_same_command_resumes_it(assay: Run, path: Path):
    command = ["run", "libero", "--policy", "random", "--tasks", "libero_goal/7", "--seeds", "24"]
    command += ["--steps", "20", "--workers", "1", "--out", str(path)]
    executable = str(Path(sys.executable).with_name("assay"))
    process = subprocess.Popen(
        [executable, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        time.sleep(0.1)
        if path.exists() and path.stat().st_size and _done(path) >= 2:
            break
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (
        process.returncode == 130 and "Traceback" not in err and "left: run the same command to resume" in out
    )
    assert sorted(each.name for each in path.parent.iterdir()) == ["a.assay"]
    done = _done(path)
    assert 2 <= done < 24
    assert assay(*command).status == 0
    assert _done(path) == 24


def _done(path: Path) -> int:
    try:
        with Store.reading(path) as store:
            return store.done
    except Exception:  # not yet a run
        return 0
