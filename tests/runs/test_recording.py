"""Several processes of a harness record into one run."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

import assay
from assay.episodes import Episode, Outcome, no_trajectory
from assay.errors import RunError
from assay.runs.execute import Observer
from assay.runs.options import RunOptions
from assay.runs.recording import begin, record
from assay.runs.store import Store

ASKED = RunOptions(tasks="libero_goal/7", seeds=(0, 1, 2, 3))
SCRIPT = """
import sys
from pathlib import Path
from assay.episodes import Episode, Outcome, no_trajectory
from assay.runs.recording import begin, record
from assay.runs.options import RunOptions
path = Path(sys.argv[1])
print("begins", flush=True)
for spec in begin(path, "libero", "mine", RunOptions(tasks="libero_goal/7", seeds=(0, 1, 2, 3))):
    if spec.seed % 2:
        for _ in range(20):
            record(path, spec, Episode(Outcome.SUCCESS, 1, no_trajectory()))
"""


def test_two_processes_write_one_run_in_turn(tmp_path: Path):
    path = tmp_path / "run.assay"
    specs = begin(path, "libero", "mine", ASKED)
    command = [sys.executable, "-c", SCRIPT, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None and other.stdout.readline() == "begins\n"
        while other.poll() is None:
            for spec in specs[::2]:
                record(path, spec, Episode(Outcome.FAILURE, 1, no_trajectory()))
            time.sleep(0.01)
    assert other.returncode == 0
    outcomes = assay.load_run(path).frame().sort("seed")["outcome"].cast(str).to_list()
    assert outcomes == ["failure", "success", "failure", "success"]


def test_others_may_write_a_run_while_its_scenes_are_certified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    class EnoughError(Exception):
        pass

    class Watching(Observer):
        def certifying(self, wanted: int) -> None:
            with Store.writing(path, 0.0):
                raise EnoughError

    path = tmp_path / "run.assay"
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    asked = RunOptions(tasks="libero_goal/7", seeds=(0,), conditions="level3", certified=True)
    with pytest.raises(EnoughError):
        begin(path, "x", "mine", asked, Watching())


def test_run_of_another_policy_or_experiment_is_refused(tmp_path: Path):
    path = tmp_path / "run.assay"
    assert [spec.seed for spec in begin(path, "libero", "mine", ASKED)] == [0, 1, 2, 3]
    assert len(begin(path, "libero", "mine", ASKED)) == 4
    with pytest.raises(RunError, match="holds a run with policy mine, not yours"):
        begin(path, "libero", "yours", ASKED)
    assert len(begin(None, "libero", "anybody", ASKED)) == 4, "kept nowhere"


@pytest.mark.parametrize("judged", [Outcome.SUCCESS, Outcome.FAILURE])
def test_first_judged_outcome_is_kept_and_errors_are_replaced(tmp_path: Path, judged: Outcome):
    path = tmp_path / "run.assay"
    spec, *_ = begin(path, "libero", "mine", ASKED)
    broken = Episode(Outcome.ERROR, 1, no_trajectory(), error="broken off", transient=True)
    for outcome in (broken, Episode(judged, 2, no_trajectory()), broken):
        record(path, spec, outcome)
    (other,) = {Outcome.SUCCESS, Outcome.FAILURE} - {judged}
    record(path, spec, Episode(other, 3, no_trajectory()))
    frame = assay.load_run(path).frame()
    assert frame["outcome"].cast(str).to_list() == [judged] and frame["steps"].to_list() == [2]
