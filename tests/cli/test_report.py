from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from assay.episodes import Outcome
from assay.episodes.episode import Episode, Trajectory, no_trajectory
from assay.episodes.spec import EpisodeSpec
from assay.runs.store import Store


def a_run(path: Path, count: int = 2, done: int = 2) -> Path:
    with Store.writing(path) as store:
        store.describe(experiment="libero", policy="oracle", pack="primitives")
        store.plan(EpisodeSpec("libero_goal/1", seed) for seed in range(count))
        for waiting in store.todo()[:done]:
            store.append(waiting.number, Episode(Outcome.SUCCESS, 100, no_trajectory(), "do it"))
    return path


def test_report_writes_a_page_and_json(assay: Callable, tmp_path: Path):
    run, out, target = a_run(tmp_path / "run.assay"), tmp_path / "out", tmp_path / "report.json"
    said = assay("report", run, "--out", out, "--json", target)
    assert said.status == 0 and "index.html" in said.out
    assert "oracle on libero" in (out / "index.html").read_text()
    assert json.loads(target.read_text())["success_rate"]["successes"] == 2


def test_json_goes_alone_to_standard_output(assay: Callable, tmp_path: Path):
    said = assay("report", a_run(tmp_path / "run.assay", done=1), "--json", "-")
    assert json.loads(said.out)["waiting"] == 1
    assert "1 of 2 planned" in said.err


def test_the_terminal_says_what_runs_of_one_policy_say_together(assay: Callable, tmp_path: Path):
    one, two = a_run(tmp_path / "one.assay"), a_run(tmp_path / "two.assay", count=4, done=4)
    said = assay("report", one, two)
    _, _, joint = said.out.partition("oracle, from one and two together\n")
    assert said.status == 0 and "Fails unperturbed tasks?" in joint, said.out
    assert said.out.count("Not tested") == said.out.count("Not tested by any of these runs") > 0, "said once"
    assert "Not tested: memorises" in assay("report", one).out


def test_which_failures_are_near_is_an_option(assay: Callable, tmp_path: Path):
    path = tmp_path / "run.assay"
    hand = np.linspace(0, 0.3, 21)[:, None] * np.ones(3)
    with Store.writing(path) as store:
        store.describe(experiment="libero", policy="oracle", pack="primitives")
        store.plan(EpisodeSpec("libero_goal/1", seed) for seed in range(3))
        for waiting, outcome in zip(store.todo(), ("success", "success", "failure"), strict=True):
            path_taken = Trajectory(hand * (1 + 0.01 * waiting.number), np.zeros(21), np.zeros((20, 7)))
            store.append(waiting.number, Episode(Outcome(outcome), 20, path_taken, "do it"))
    near = {}
    for rule in ("ours", "least_successes=2", "floor=0&least_successes=2"):
        told = json.loads(assay("report", path, "--json", "-", "--near-far", rule).out)["failures"]
        near[rule] = told.get("near", told)
    assert "missing" in near["ours"], "five successes are needed"
    assert near["least_successes=2"]["max"] == 1, "within a centimetre"
    assert near["floor=0&least_successes=2"]["max"] == 0, "farther from the mean than both successes"
    for wrong, said in (
        ("theirs", "there is no rule 'theirs'"),
        ("floor=-1", "valid: 0 to 1 m"),
        ("roof=1", "roof"),
    ):
        refused = assay("report", path, "--json", "-", "--near-far", wrong)
        assert refused.status == 2 and said in refused.err


def test_what_can_be_reported_is_and_the_rest_is_said(assay: Callable, tmp_path: Path):
    broken = tmp_path / "broken.assay"
    broken.write_text("no run at all, but long enough to be looked at as one" * 20)
    good = a_run(tmp_path / "good.assay")
    said = assay("report", good, broken, "--json", "-")
    assert said.status == 1
    told = json.loads(said.out)
    assert [each["run"] for each in told["runs"]] == ["good"] and "not a run" in told["left_out"]["broken"]
    assert "left out" in said.err and "broken.assay" in said.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run.assay", "--width", "page"], "are for --figures pdf|svg"),
        (["run.assay", "--paper", "libero-x", "--out", "x", "--figures", "pdf"], "not for --paper NAME"),
        (["none.assay", "--json", "-"], "none.assay: there is no such run"),
        (["none.assay", "nil.assay", "--json", "-"], "none of 2 runs can be read"),
        (["broken.assay", "--json", "-"], "broken.assay: not a run"),
        (["run.assay", "--out", "run.assay"], "File exists"),
        (["run.assay", "--json", "run.assay/no.json"], "run.assay/no.json cannot be written"),
        (["run.assay", "--json", "run.assay"], "run.assay cannot be written: it is a run"),
    ],
)
def test_bad_input_is_one_line(
    assay: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
):
    monkeypatch.chdir(tmp_path)
    a_run(Path("run.assay"))
    Path("broken.assay").write_text("no run at all, but long enough to be looked at as one" * 20)
    said = assay("report", *arguments)
    assert said.status == 2 and message in said.err and said.err.count("\n") == 1
