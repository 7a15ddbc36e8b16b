"""A measure registered by a plugin appears in every part of a report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

import pytest
from matplotlib.figure import Figure

from assay.measures.findings import Evidence, FlawTest, Untested, Verdict
from assay.measures.flaws import OwnFlaw
from assay.measures.measure import MEASURES, Measure, Panel, RunData
from assay.measures.result import MeasureError, Result
from assay.measures.sentences import format_finding
from assay.measures.views.style import Drawing
from assay.measures.views.table import Column, Table
from assay.report.page import build
from assay.report.run_report import RunReport
from assay.support.stats.intervals import Interval


@dataclass(frozen=True)
class Longest(Result):
    """Length of the longest episode."""

    steps: int


def longest(run: RunData) -> Longest:
    if not len(run.frame):
        raise MeasureError("there is no episode")
    return Longest(int(run.frame["steps"].to_numpy().max()))


def table(found: Longest, report: RunReport) -> Table:
    return Table("longest", "Longest episode", (Column("steps", "count"),), ((found.steps,),))


def figure(found: Longest, report: RunReport) -> Drawing:
    def paint(sheet: Figure) -> None:
        sheet.subplots().bar([0], [found.steps])

    return Drawing("longest", "Longest episode", f"{found.steps} steps.", (3, 2), paint)


PARTS: dict[str, Callable[..., Any]] = {
    "measure": longest,
    "table": table,
    "figure": figure,
    "sentences": lambda found, profile: [f"The longest episode has {found.steps} steps."],
    "numbers": lambda found, profile: [],
    "tests": lambda profiles: [],
}


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that registers a measure, with some of its parts replaced, for the duration of a test."""
    monkeypatch.setattr(MEASURES, "_known", dict(MEASURES._known))

    def registered(**replaced: Callable[..., Any]) -> None:
        parts = PARTS | replaced
        measure = Measure(
            "longest",
            "The most control steps of an episode.",
            parts["measure"],
            panels=(Panel("How long it takes", (parts["table"],), (parts["figure"],)),),
            sentences=parts["sentences"],
            numbers=parts["numbers"],
            tests=parts["tests"],
            flaws=(OwnFlaw("slow", "Takes long", "Is quick"),),
        )
        MEASURES.register("longest", measure)

    return registered


def test_a_registered_measure_is_in_the_page_the_tables_and_the_json(tmp_path: Path, write, made, register):
    register()
    run = write(tmp_path / "run.assay", [made(True), made(False, seed=1)])
    report = RunReport.read(run)
    assert report.as_json()["longest"] == {"steps": 100}
    page = build([report]).write(tmp_path / "out")
    text = page.read_text()
    assert "<h2>How long it takes</h2>" in text and "The most control steps of an episode." in text
    assert "The longest episode has 100 steps." in text
    assert (page.parent / "tables" / "longest.csv").read_text() == "steps\n100\n"
    assert (page.parent / "figures" / "longest.svg").is_file()


def test_missing_plugins_of_a_run_are_reported(tmp_path: Path, write, made):
    gone = {"module": "nobody_has_this", "distribution": "", "version": "", "digest": ""}
    report = RunReport.read(write(tmp_path / "run.assay", [made(True)], plugins=[gone]))
    assert report.problems[0].startswith("there is no module 'nobody_has_this'")
    assert report.problems[0] in build([report]).parts[0].banners


@pytest.mark.usefixtures("register")
def test_a_measure_may_define_a_flaw_with_its_sentences(tmp_path: Path, write, made):
    share = Interval(0.8, 1.0, "Wilson")
    slow = Evidence(0, "slowness", "", 0.9, share, 0.001, hits=9, count=10)
    tests = {
        "slow": FlawTest("dawdles", (slow,), 0.001, share),
        "quick": FlawTest(
            "dawdles", (replace(slow, value=0.1),), 0.9, Interval(0.0, 0.2, "Wilson"), refuted=True
        ),
        "untested": Untested("dawdles", "slowness"),
    }
    MEASURES.register(
        "slowness",
        Measure(
            "slowness",
            "Whether it takes its time.",
            longest,
            tests=lambda among: [tests[case]],
            flaws=(OwnFlaw("dawdles", "Takes its time", "Does not take its time", "no run has a clock"),),
            wording=lambda finding: (f"{finding.evidence[0].hits} of 10 episodes are slow", "by the clock"),
        ),
    )
    run = write(tmp_path / "run.assay", [made(True)])
    told = {}
    for case in tests:
        found = {each.flaw: each for each in RunReport.read(run).diagnosis}["dawdles"]
        told[case] = (found.verdict, format_finding(found).text)
    assert told == {
        "slow": (Verdict.FOUND, "Takes its time: 9 of 10 episodes are slow; by the clock."),
        "quick": (Verdict.NOT_FOUND, "Does not take its time: 9 of 10 episodes are slow."),
        "untested": (Verdict.CANNOT_TELL, "Takes its time? Not tested: no run has a clock."),
    }


@pytest.mark.parametrize("broken", PARTS)
def test_a_measure_that_raises_is_left_out_and_reported(broken: str, tmp_path: Path, write, made, register):
    def fail(*_: object) -> NoReturn:
        raise KeyError("a defect of the plugin")

    register(**{broken: fail})
    run = write(tmp_path / "run.assay", [made(True), made(False, "c"), made(True, seed=1)])
    text = build([RunReport.read(run)]).write(tmp_path / "out").read_text()
    assert "Success by condition" in text
    assert "failed with KeyError" in text
    shown = {"table": "longest.csv", "figure": "longest.svg"}
    files = {file.name for file in (tmp_path / "out").rglob("longest.*")}
    missing = {"longest.csv", "longest.svg"} if broken == "measure" else {shown.get(broken, "")} - {""}
    assert {"longest.csv", "longest.svg"} - files == missing
