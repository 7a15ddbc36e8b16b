from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay import tasks
from assay.experiments import load_experiment
from assay.runs.certificates import Certificate, CertificateCache, ClaimVerdict, claim
from assay.runs.store import Store
from assay.support.files import cache_folder

Run = Callable[..., Any]
pytestmark = pytest.mark.usefixtures("no_assets", "own_cache", "wide")
TASK = ("--tasks", "libero_goal/1", "--seeds", "1", "--workers", "0")
TURNED_ON = ("--tasks", "libero_goal/7", *TASK[2:])


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def certified(own_cache: None) -> None:
    """Cached certificates: the control and level 1 are solved in two steps, level 2 in three, no other condition."""
    with CertificateCache() as cache:
        for spec in load_experiment("x").plan([tasks.load("libero_goal/1")], (0,)):
            level = spec.labels.get("level", 0)
            solved = Certificate(ClaimVerdict.SOLVED, 3 if level == 2 else 2)
            cache.add(
                claim(spec), solved if level <= 2 else Certificate(ClaimVerdict.UNPLACED, why="no room")
            )


def test_certificates_of_the_demonstrator_are_stored(assay: Run, tmp_path: Path):
    said = assay("certify", "x", *TURNED_ON, "--json", tmp_path / "a.json")
    assert said.status == 0 and "certificates made" in said.out and "0 certificates made" not in said.out
    written = json.loads((tmp_path / "a.json").read_text())
    rows = {row["condition"]: row for row in written["conditions"]}
    assert rows["control"]["certified"] == 1 and 10 < rows["control"]["median_steps"] < 300
    assert rows["all"]["scenes"] == 4, "a stove is neither replaced nor doubled: three levels"
    assert rows["all"]["certified"] + sum(rows["all"]["refused"].values()) == 4
    said = assay("certify", "x", *TURNED_ON, "--json", "-")
    assert json.loads(said.out) == written, "the second time nothing is to be done"


def test_unsolvable_scenes_are_counted_apart_and_all_reasons_are_listed(assay: Run):
    plan = list(load_experiment("factors?over=remove,jitter").plan([tasks.load("libero_goal/1")], range(23)))
    with CertificateCache() as cache:
        for spec in plan:
            gone = any(each.kind == "world/remove" for each in spec.perturbations)
            moved = Certificate(ClaimVerdict.UNPLACED, why=f"no room {spec.seed}")
            solved = Certificate(ClaimVerdict.SOLVED, 9) if not spec.perturbations else moved
            cache.add(claim(spec), Certificate(ClaimVerdict.NOTHING) if gone else solved)
    said = assay("certify", "factors?over=remove,jitter", "--tasks", "libero_goal/1", "--seeds", "23")
    assert said.status == 0 and "46 more scenes, unsolvable by design" in said.out
    assert _row(said.out, "factors/remove")[1:] == ["0/0", "-", "-"]
    assert _row(said.out, "all")[1:] == ["23/46", "50.0 %", "9"]
    assert said.out.count("1 x cannot be placed: no room") == 20 and "... and 3 other reasons" in said.out


def test_certify_that_is_killed_leaves_nothing_behind(tmp_path: Path):
    held = subprocess.Popen(
        [sys.executable, "-c", HOLD],
        env={**os.environ, "TMPDIR": str(tmp_path), "SQLITE_TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
    )
    assert held.stdout is not None and held.stdout.readline() == b"2000\n"
    held.kill()
    held.wait()
    assert list(tmp_path.iterdir()) == []


HOLD = """
import time
from assay.runs.store import Store
from assay.episodes import EpisodeSpec
store = Store.scratch()
store.plan(EpisodeSpec("libero_goal/1", seed) for seed in range(2000))
print(store.planned, flush=True)
time.sleep(60)
"""


@pytest.mark.usefixtures("certified")
def test_run_has_certified_episodes_with_time_limits_and_lists_refusals(assay: Run, tmp_path: Path):
    path = tmp_path / "a.assay"
    for recorded in (3, 0):
        said = assay("run", "x?time=1.5", "--policy", "idle", *TASK, "--out", path)
        assert said.status == 0 and f"{recorded} episodes recorded" in said.out
        assert "13 episodes refused" in said.out and "13 x cannot be placed: no room" in said.out
        assert _row(said.out, "x/level2")[1:] == ["1/1", "0/1", "0.0 %", "", ""]
        assert _row(said.out, "x/level3")[1:] == ["0/0", "0/0", "-", "", "1"]
    with Store.reading(path) as store:
        frame = store.frame()
    assert frame["condition"].to_list() == ["control", "x/level1", "x/level2"]
    assert frame["steps"].to_list() == [3, 3, 4] and set(frame["outcome"]) == {"failure"}
    assert frame["reference_steps"].to_list() == [2, 2, 3] and set(frame["limit_factor"]) == {1.5}
    shown = json.loads(assay("runs", "show", path, "--json", "-").out)
    assert shown["refused"] == {"cannot be placed: no room": 13} and "refused" not in shown["meta"]
    assert len(shown["meta"]["settings"]["certificates"]) == 12
    said = assay("runs", "show", path)
    assert "13 episodes refused" in said.out and _row(said.out, "x/level3")[-1] == "1"


@pytest.mark.usefixtures("certified")
@pytest.mark.parametrize("more", [(), ("--uncertified",)])
def test_reference_times_of_people_replace_the_demonstrators(
    assay: Run, tmp_path: Path, more: tuple[str, ...]
):
    (tmp_path / "people.csv").write_text("task,seconds\nlibero_goal/1,0.2\n")
    address, path = f"x?time=1.5&times={tmp_path / 'people.csv'}", tmp_path / "a.assay"
    chosen = ("--conditions", "level2", "--out", path)
    assert assay("run", address, "--policy", "idle", *TASK, *chosen, *more).status == 0
    with Store.reading(path) as store:
        frame, settings = store.frame(), store.meta["settings"]
    assert frame["steps"].to_list() == [6, 6] and set(frame["reference_steps"]) == {4.0}
    assert settings["reference_times"].startswith(f"people: {tmp_path / 'people.csv'} ")


def _row(out: str, condition: str) -> list[str]:
    """Return the cells of a condition's row."""
    rows = ([cell.strip() for cell in line.strip("│").split("│")] for line in out.splitlines())
    return next(row for row in rows if row[0] == condition)


def test_run_without_certified_scenes_is_refused(assay: Run, tmp_path: Path):
    with CertificateCache() as cache:
        for spec in load_experiment("x").plan([tasks.load("libero_goal/1")], (0,)):
            cache.add(claim(spec), Certificate(ClaimVerdict.UNPLACED, why="no room"))
    said = assay("run", "x", "--policy", "idle", *TASK, "--out", tmp_path / "a.assay")
    assert (
        said.status == 2
        and "all 16 episodes were refused; most frequent reason: cannot be placed" in said.err
    )


@pytest.mark.usefixtures("certified")
def test_uncertified_run_has_every_episode_and_a_warning(assay: Run, tmp_path: Path):
    path = tmp_path / "a.assay"
    command = ("run", "x", "--policy", "idle", *TASK, "--out", path, "--uncertified", "--steps", "1")
    said = assay(*command)
    assert (
        said.status == 0
        and "uncertified: the oracle has not solved these scenes" in said.out
        and "16 episodes recorded" in said.out
    )
    said = assay("run", "x", "--policy", "idle", *TASK, "--out", path)
    assert said.status == 2 and "holds a run with settings" in said.err


def test_suite_that_changes_no_world_needs_no_certificate(assay: Run, tmp_path: Path):
    said = assay(
        "run", "corruption", "--policy", "idle", *TASK, "--steps", "1", "--out", tmp_path / "a.assay"
    )
    assert said.status == 0 and not list(cache_folder().glob("certificates*"))
