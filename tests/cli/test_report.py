from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from assay.episodes import Outcome
from assay.episodes.episode import Episode, Trajectory
from assay.episodes.spec import EpisodeSpec
from assay.runs.store import Store

from .runs_on_disk import write_run

META = {"experiment": "libero", "policy": "oracle", "pack": "primitives"}


def test_report_writes_a_page_and_json(assay: Callable, tmp_path: Path):
    run, out, target = (
        write_run(tmp_path / "run.assay", {"control": [True] * 2}, **META),
        tmp_path / "out",
        tmp_path / "report.json",
    )
    said = assay("report", run, "--out", out, "--json", target)
    assert said.status == 0 and "index.html" in said.out and "oracle on libero" in said.out
    assert "oracle on libero" in (out / "index.html").read_text()
    assert json.loads(target.read_text())["success_rate"]["successes"] == 2


def test_only_json_is_printed_to_standard_output(assay: Callable, tmp_path: Path):
    said = assay(
        "report", write_run(tmp_path / "run.assay", {"control": [True, None]}, **META), "--json", "-"
    )
    assert json.loads(said.out)["waiting"] == 1
    assert "1 of 2 planned" in said.err


def test_several_runs_of_one_policy_have_a_joint_diagnosis(assay: Callable, tmp_path: Path):
    one, two = (
        write_run(tmp_path / "one.assay", {"control": [True] * 2}, **META),
        write_run(tmp_path / "two.assay", {"control": [True] * 4}, **META),
    )
    said = assay("report", one, two)
    _, _, joint = said.out.partition("oracle, from one and two together\n")
    assert said.status == 0 and "Fails unperturbed tasks?" in joint, said.out
    assert said.out.count("Not tested") == said.out.count("Not tested by any of these runs") > 0, "said once"
    alone = assay("report", one).out
    assert "memorised trajectories; ignores the instruction" in alone and "thrown off" not in alone


def test_the_rule_for_near_failures_is_an_option(assay: Callable, tmp_path: Path):
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


def test_unreadable_runs_are_left_out_and_listed(assay: Callable, tmp_path: Path):
    broken = tmp_path / "broken.assay"
    broken.write_text("no run at all, but long enough to be looked at as one" * 20)
    good = write_run(tmp_path / "good.assay", {"control": [True] * 2}, **META)
    said = assay("report", good, broken, "--json", "-")
    assert said.status == 1
    told = json.loads(said.out)
    assert [each["run"] for each in told["runs"]] == ["good"] and "not a run" in told["left_out"]["broken"]
    assert "left out" in said.err and "broken.assay" in said.err
