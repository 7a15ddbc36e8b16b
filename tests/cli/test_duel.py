from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from assay.episodes import CONTROL, Outcome
from assay.episodes.episode import Episode, no_trajectory
from assay.episodes.spec import EpisodeSpec
from assay.perturb import Say
from assay.runs.store import Store

pytestmark = pytest.mark.usefixtures("no_assets")
DUEL = (
    "duel",
    "idle",
    "idle",
    "--experiment",
    "libero",
    "--tasks",
    "libero_goal/7",
    "--steps",
    "1",
    "--workers",
    "0",
)


def a_run(path: Path, wins: dict[str, list[bool]]) -> Path:
    """A run with outcomes by condition, one for each seed."""
    specs = [
        EpisodeSpec(
            "libero_goal/1", seed, condition=name, perturbations=() if name == CONTROL else (Say(name),)
        )
        for name, several in wins.items()
        for seed in range(len(several))
    ]
    with Store.writing(path) as store:
        store.plan(specs)
        for waiting in store.todo():
            won = wins[waiting.condition][waiting.seed]
            outcome = Outcome.SUCCESS if won else Outcome.FAILURE
            store.append(waiting.number, Episode(outcome, 100, no_trajectory(), "do it"))
    return path


def test_a_duel_is_undecided_then_goes_on_with_more_seeds_and_can_be_compared(
    assay: Callable, tmp_path: Path
):
    folder, xml, text = tmp_path / "d", tmp_path / "junit.xml", tmp_path / "verdict.md"
    more = ("--out", folder, "--margin", "0.8", "--junit", xml, "--markdown", text)
    said = assay(*DUEL, *more, "--seeds", "1")
    assert said.status == 3 and said.out.startswith("It is undecided whether B (idle) or A (idle) is better")
    assert "A and B are the same policy" in said.err
    assert ElementTree.parse(xml).getroot().find("testcase/skipped") is not None
    said = assay(*DUEL, *more, "--seeds", "8", "--json", "-", "--label-b", "new")
    told = json.loads(said.out)
    assert said.status == 0 and told["verdict"] == "equivalent" and told["second"] == "new"
    assert told["played"] < told["planned"] == 16
    suite = ElementTree.parse(xml).getroot()
    assert suite.get("failures") == "0" and suite.find("testcase").get("name") == "overall"  # type: ignore[union-attr]
    assert "| control |" in text.read_text() and "equivalent" in text.read_text()
    assert assay("compare", folder / "A.assay", folder / "B.assay").status == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--margin", "5"), "margin 5: valid: between 0 and 1"),
        (("--per-start", "none"), "--per-start 'none': valid: 1 or more, or all"),
        (("--tasks", "libero_goal/99"), "libero_goal/99"),
        (("--experiment", "libbero"), "libbero"),
    ],
)
def test_what_cannot_be_fought_is_one_line(
    assay: Callable, tmp_path: Path, options: tuple[str, ...], message: str
):
    said = assay(*DUEL, *options, "--out", tmp_path / "d")
    assert said.status == 2 and message in said.err and said.err.rstrip().count("\n") <= 1
    assert not (tmp_path / "d").exists()


def test_a_gate_lets_pass_what_is_no_worse_and_stops_what_is(assay: Callable, tmp_path: Path):
    base = a_run(tmp_path / "base.assay", {CONTROL: [True] * 12 + [False] * 8, "rude": [True] * 20})
    better = a_run(tmp_path / "better.assay", {CONTROL: [True] * 20, "rude": [True] * 20})
    broken = a_run(tmp_path / "broken.assay", {CONTROL: [True] * 20, "rude": [False] * 12 + [True] * 8})
    xml = tmp_path / "junit.xml"
    said = assay("gate", better, "--baseline", base)
    assert said.status == 0 and said.out.startswith("B (better) is better than A (base)")
    assert len(max(said.out.splitlines()[2:7], key=len)) <= 80
    assert assay("gate", base, "--baseline", better).status == 1
    assert assay("gate", broken, "--baseline", base).status == 3
    said = assay("gate", broken, "--baseline", base, "--each", "--junit", xml, "--json", "-")
    told = json.loads(said.out)
    assert said.status == 1 and told["verdict"] == "worse"
    assert {line["condition"]: line["verdict"] for line in told["conditions"]} == {
        CONTROL: "better",
        "rude": "worse",
    }
    suite = ElementTree.parse(xml).getroot()
    assert suite.get("tests") == "3" and suite.get("failures") == "1"
    assert [case.get("name") for case in suite if case.find("failure") is not None] == ["rude"]


def test_a_gate_says_equivalent_and_not_worse_by_the_margin(assay: Callable, tmp_path: Path):
    base = a_run(tmp_path / "base.assay", {CONTROL: [True, False] * 30})
    same = a_run(tmp_path / "same.assay", {CONTROL: [True, False] * 30})
    ahead = a_run(tmp_path / "ahead.assay", {CONTROL: [True, False] * 28 + [True] * 4})
    assert (
        "are equivalent, to within 20.0 points"
        in assay("gate", same, "--baseline", base, "--margin", "0.2").out
    )
    said = assay("gate", ahead, "--baseline", base, "--margin", "0.05")
    assert said.status == 0 and "not worse" in said.out


def test_what_cannot_be_gated_is_one_line(assay: Callable, tmp_path: Path):
    base = a_run(tmp_path / "base.assay", {CONTROL: [True] * 2})
    other = a_run(tmp_path / "other.assay", {"rude": [True] * 2})
    for run, options, message in (
        (base, (), "its own baseline"),
        (other, (), "share no episode"),
        (tmp_path / "none.assay", (), "there is no such run"),
        (other, ("--margin", "5"), "margin 5: valid: between 0 and 1"),
    ):
        said = assay("gate", run, "--baseline", base, *options)
        assert said.status == 2 and message in said.err and said.err.count("\n") == 1
