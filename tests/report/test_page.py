from __future__ import annotations

import csv
import hashlib
import json
import os
import re
import sqlite3
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.errors import RunError
from assay.report.comparison import as_json, compare_suites
from assay.report.page import Report, build
from assay.report.run_report import RunReport, name_runs
from assay.report.summary import banners, joint_diagnoses

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def report(read_everything: RunReport) -> Report:
    return build([read_everything])


@pytest.fixture(scope="module")
def folder(report: Report, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return report.write(tmp_path_factory.mktemp("out") / "report").parent


def page_of(path: Path) -> str:
    return build([RunReport.read(path)]).html()


def test_the_page_is_self_contained(folder: Path):
    page = (folder / "index.html").read_text()
    addresses = set(re.findall(r"https?://[^\s\"'<>)]+", page))
    assert addresses == {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert not re.search(r"<script|<link|<img|<iframe|@import|\bsrc=|url\((?!#)", page)
    assert page.count("<svg") == page.count("<figcaption") == len(list((folder / "figures").iterdir()))


def test_a_complete_run_has_every_figure_and_figures_contain_their_text_as_text(folder: Path, report: Report):
    figures = (
        "alpha-sweep attribution changes corruption displacement dissimilarity distance-success "
        "drops events grounding-moved grounding-touched labels levels memorisation names "
        "near-far object-gap paraphrase-grid paths-top "
        "side_effects stops tasks time-limits time-to-success"
    )
    assert report.parts[0].missing == {} and report.parts[0].banners == []
    texts = {}
    for file in (folder / "figures").iterdir():
        tree = ET.parse(file)
        assert tree.getroot().tag == f"{SVG}svg" and tree.getroot().get("aria-label")
        texts[file.stem] = {"".join(each.itertext()).strip() for each in tree.iter(f"{SVG}text")}
    assert set(texts) == set(figures.split())
    conditions = {each.group["condition"] for each in report.parts[0].report.profile["drops"]}
    assert conditions <= texts["drops"] and "Holm p" in texts["drops"]
    assert {"habitual", "subordination", "all"} <= texts["paraphrase-grid"]


def test_every_table_is_written_in_three_formats(folder: Path, report: Report):
    files = {file.name for file in (folder / "tables").iterdir()}
    tables = [table for section in report.parts[0].sections for table in section.tables]
    assert files == {f"{table.name}{suffix}" for table in tables for suffix in (".csv", ".md", ".tex")}
    rows = list(csv.DictReader((folder / "tables" / "conditions.csv").open()))
    profile = report.parts[0].report.profile
    assert {row["condition"]: float(row["success"]) for row in rows} == {
        each.group["condition"]: each.rate for each in profile["conditions"]
    }
    assert float(rows[0]["95 % interval low"]) == profile["conditions"][0].interval.low


def test_the_same_run_gives_the_same_bytes_in_another_process(tmp_path: Path, write, made):
    run = write(
        tmp_path / "run.assay",
        [made(seed < 3, "c" if seed % 2 else "control", seed=seed // 2) for seed in range(8)],
    )
    script = (
        "import sys, hashlib; from pathlib import Path; from assay.report.page import build; "
        "from assay.report.run_report import RunReport; "
        "print(hashlib.sha256(build([RunReport.read(Path(sys.argv[1]))]).html().encode()).hexdigest())"
    )
    other = subprocess.run(
        [sys.executable, "-c", script, run],
        env=os.environ | {"PYTHONHASHSEED": "12"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert other.stdout.strip() == hashlib.sha256(page_of(run).encode()).hexdigest()


def test_markup_in_names_and_messages_is_escaped(tmp_path: Path, write, made):
    nasty = "<script>alert(1)</script> $\\frac{ & \"'"
    run = write(
        tmp_path / "run.assay",
        [made(True), made(False, nasty), made(None, "broken", error=nasty)],
        policy=nasty,
        experiment=nasty,
    )
    written = build([RunReport.read(run)]).write(tmp_path / "out")
    page, report = written.read_text(), written.parent
    assert "<script" not in page and page.count("&lt;script&gt;alert(1)&lt;/script&gt;") >= 4
    assert r"\textless{}script" in (report / "tables" / "conditions.tex").read_text()
    ET.parse(report / "figures" / "drops.svg")


def test_an_unfinished_run_is_reported_below_a_banner(tmp_path: Path, write, made):
    episodes = [made(True if seed < 12 else None, seed=seed) for seed in range(1000)]
    page = page_of(write(tmp_path / "run.assay", episodes))
    assert "12 of 1,000 planned" in page and "988 remain" in page
    assert "12 of 12 unperturbed episodes" in page
    assert "no episodes are planned" in page_of(write(tmp_path / "empty.assay", []))


@pytest.mark.usefixtures("unpainted")
def test_errors_refusals_and_missing_certificates_are_reported(tmp_path: Path, write, made):
    refused = [["c", "libero_goal/1", 0, "cannot be placed"], ["c", "libero_goal/1", 1, "cannot be placed"]]
    run = write(
        tmp_path / "run.assay",
        [made(True), made(None, "c", error="the server was away")],
        refused=refused,
        settings={"certificates": None},
        started="2026-05-04T11:30:59+02:00",
    )
    found = RunReport.read(run)
    page = build([found]).html()
    assert "1 x the server was away" in page and "1 episode of 2 ended in an error" in page
    assert "2 x cannot be placed" in page and "Uncertified" in page
    assert "<th>started</th><td>2026-05-04 09:30 UTC</td>" in page
    told = found.as_json()
    assert told["refused"] == {"cannot be placed": 2} and "refused" not in told["meta"]


@pytest.mark.usefixtures("unpainted")
def test_conditions_that_were_rejected_entirely_are_in_a_banner(tmp_path: Path, write, made):
    refused = [["pro/position", "libero_goal/1", seed, "demonstrator failed: too far"] for seed in range(4)]
    partly = [["c", "libero_goal/1", 9, "cannot be placed"]]
    said = "4 episodes could not be certified as solvable, so {}: "
    why = "4 x demonstrator failed: too far."
    for name, episodes, what in (
        ("controls", [made(True), made(True, "c")], "no episode of pro/position was run"),
        ("empty", [], "this run is empty"),
    ):
        told = refused + partly if episodes else refused
        found = RunReport.read(write(tmp_path / f"{name}.assay", episodes, refused=told))
        assert banners(found) == [said.format(what) + why]
        assert "not part of this experiment" not in build([found]).html()
    some = RunReport.read(
        write(tmp_path / "some.assay", [made(True), made(True, "pro/position")], refused=refused)
    )
    assert banners(some) == [], "what remains of a condition is measured, and the facts count the rest"


def test_a_damaged_run_is_rejected_and_a_damaged_trajectory_is_counted(tmp_path: Path, everything: Path):
    run = tmp_path / "run.assay"
    run.write_bytes(everything.read_bytes())
    with sqlite3.connect(run) as file:
        file.execute("UPDATE trajectories SET end_effector = x'00ff00ff' WHERE id = 5")
    report = RunReport.read(run)
    assert "1 episode" in report.damage and any("The file is damaged" in line for line in banners(report))
    assert report.profile["memorisation"].overall.count > 0, "the other paths are measured"
    with sqlite3.connect(run) as file:
        file.execute("UPDATE episodes SET outcome = 'banana' WHERE id IN (2, 3)")
    with pytest.raises(RunError, match="damaged"):
        RunReport.read(run)
    content = everything.read_bytes()
    for size in (0, 100, len(content) // 3):
        run.write_bytes(content[:size])
        with pytest.raises(RunError, match=r"run\.assay: (not a run|damaged)"):
            RunReport.read(run)


@pytest.mark.usefixtures("unpainted")
def test_an_earlier_report_leaves_nothing_behind_and_other_files_stay(tmp_path: Path, write, made):
    run = write(tmp_path / "run.assay", [made(True), made(False, "c"), made(True, seed=1)])
    out = tmp_path / "out"
    (out / "figures").mkdir(parents=True)
    (out / "figures" / "mine.svg").write_text("mine")
    report = build([RunReport.read(run)])
    report.write(out)
    assert (out / "figures" / "mine.svg").exists(), "no report was there, so these are somebody's"
    (out / "notes.txt").write_text("mine")
    old = {out / "figures" / "old.svg", out / "tables" / "old.csv"}
    for file in old:
        file.write_text("old")
    report.write(out)
    assert not any(file.exists() for file in old) and (out / "notes.txt").exists()
    assert (out / "figures" / "drops.svg").exists() and (out / "tables" / "drops.csv").exists()


def test_failures_of_the_demonstrator_are_reported(tmp_path: Path, write, made):
    episodes = [made(True), made(False, "c"), made(True, "c", seed=1), made(False, "c", {"plausible": False})]
    said = "The demonstrator itself fails in 1 of 2 episodes in which success is expected"

    def told(name: str, **meta: object) -> bool:
        found = banners(RunReport.read(write(tmp_path / f"{name}.assay", episodes, **meta)))
        return any(said in each for each in found)

    assert told("a", policy="oracle") and not told("b", policy="somebody")
    world = {"name": "elsewhere", "demonstrator": "guide"}
    assert told("c", policy="guide", world=world) and not told("d", policy="oracle", world=world)


@pytest.mark.usefixtures("unpainted")
def test_an_incomplete_import_is_reported(tmp_path: Path, write, made):
    scores = {"s_k": 0.5, "s_t": 0.7, "pd": 0.4}
    cell = {"axis": "words", "object": "none", "action": "hint"}
    episodes = [made(seed > 1, "c", cell | (scores if seed < 4 else {}), seed=seed) for seed in range(6)]
    run = write(tmp_path / "run.assay", episodes, expected=4092, settings={"seeds": [7, 8]})
    page = build([RunReport.read(run)]).html()
    assert "Incomplete evaluation: only 6 of 4,092 episodes are included" in page
    assert (
        "2 of 6 paraphrased episodes have no distance" in page
        and "of which 50.0\N{NO-BREAK SPACE}% succeed" in page
    )
    assert "<td>7, 8</td>" in page


@pytest.mark.usefixtures("unpainted")
def test_runs_of_one_suite_are_paired_and_others_are_not(tmp_path: Path, write, made):
    for name, wins, experiment in (("good", 9, "one"), ("bad", 2, "one"), ("other", 5, "two")):
        episodes = [made(seed < wins, experiment=experiment, seed=seed) for seed in range(10)]
        write(tmp_path / f"{name}.assay", episodes, experiment=experiment, policy=name)
    runs = name_runs([tmp_path / f"{name}.assay" for name in ("good", "bad", "other")])
    reports = [RunReport.read(path, name) for name, path in runs.items()]
    (group,) = groups = compare_suites(runs, reports)
    assert group.names == ("good", "bad") and group.comparison.overall[0].change == pytest.approx(-0.7)
    page = build(reports, groups, {"lost": "lost.assay: there is no such run"}).write(tmp_path / "out")
    text = page.read_text()
    assert "Comparison of 3 runs" in text and "Paired comparison" in text and "Left out: lost" in text
    brief = text[text.index("<h3>Summary") : text.index("Table: Runs")]
    assert (
        ">other</a>: Fails unperturbed tasks (at least in part).</li>" in brief and brief.count("<li>") == 3
    )
    files = {str(file.relative_to(page.parent)) for file in page.parent.rglob("*.*")}
    assert {"tables/comparison.csv", "figures/overview.svg", "figures/run-2/tasks.svg"} <= files
    told = as_json(reports, groups, {"lost": "why"})
    assert [each["run"] for each in told["runs"]] == ["good", "bad", "other"]
    assert told["comparisons"][0]["unmatched"] == {"good": 0, "bad": 0} and told["left_out"] == {
        "lost": "why"
    }


def test_a_real_comparison_has_verdicts(tmp_path: Any, made: Any, write: Any, assay: Any):
    def run(name: str, hits: int) -> Any:
        episodes = [made(True, seed=seed) for seed in range(20)]
        episodes += [made(seed < hits, "moved", {"axis": "world"}, seed=seed) for seed in range(20)]
        return write(tmp_path / f"{name}.assay", episodes, label=name.upper())

    said = assay("compare", run("a", 2), run("b", 19), "--out", tmp_path / "out")
    assert said.status == 0 and "B has a smaller drop than A" in said.out
    assert "B retains a larger fraction of its success than A" in said.out
    wide = assay("compare", tmp_path / "a.assay", tmp_path / "b.assay", "--margin", "99", "--json", "-")
    assert json.loads(wide.out)["robustness"][0]["margin"] == 0.99
    files = {file.name for file in (tmp_path / "out").iterdir()}
    assert {"comparison.tex", "comparison-drop.tex", "comparison-retention.csv", "robustness.pdf"} <= files


BEFORE = {
    "policy": "python:m:P",
    "label": "mine",
    "policy_metadata": {"step": "100"},
    "policy_identity": {"m.py": "0" * 12},
}


def read(tmp_path: Path, write: Callable[..., Path], made: Any, **other: object) -> list[RunReport]:
    """Read two runs with the same address; ``other`` is the metadata in which the second differs."""
    episodes = [made(True, seed=seed) for seed in range(3)]
    return [
        RunReport.read(write(tmp_path / f"{name}.assay", episodes, **about))
        for name, about in (("one", BEFORE), ("two", {**BEFORE, **other}))
    ]


@pytest.mark.usefixtures("unpainted")
def test_runs_of_one_policy_are_pooled_under_its_label(tmp_path: Path, write, made):
    reports = read(tmp_path, write, made)
    assert list(joint_diagnoses(reports)) == ["mine, from one and two together"]
    assert "<h3>mine, from one and two together</h3>" in build(reports).html()


@pytest.mark.parametrize(
    "other",
    [
        {"label": "another"},
        {"policy_metadata": {"step": "200"}},
        {"policy_identity": {"m.py": "1" * 12}},
        {"policy": "python:m:P?scale=2"},
        {"settings": {"latency": 4, "while_waiting": "play"}},
    ],
    ids=lambda each: next(iter(each)),
)
def test_two_policies_are_never_pooled(tmp_path: Path, write, made, other: dict[str, object]):
    reports = read(tmp_path, write, made, **other)
    assert joint_diagnoses(reports) == {} and build(reports).policies == {}
