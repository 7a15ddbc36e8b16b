from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from assay.extensions.tabletop.measures.prompt_reliance import PromptFlaw
from assay.measures.measure import describe_flaw
from assay.measures.result import Missing
from assay.report.comparison import compare_suites
from assay.report.page import Report, build
from assay.report.run_report import RunReport

CONDITIONS = {
    "control": None,
    "mask=instruction": False,
    "mask=language": False,
    "mask=visual": False,
    "order=permuted": True,
    "difficulty=extreme": True,
}
"""Condition -> whether it is plausible."""


@pytest.fixture(scope="module")
def on_tables(write, made, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Writes a run on tables; ``does`` says of a condition, a level and a seed whether it succeeds."""

    class OnTable(made):
        @property
        def episode(self):
            steps = 1 + self.seed % 2 if self.success else 10
            return replace(super().episode, steps=steps, truth={}, moved="dragged_obj")

    def episodes(does: Callable[[str, str, int], bool]) -> Iterator[OnTable]:
        for condition, plausible in CONDITIONS.items():
            for task in ("T1/L1", "T3/L1", "T1/L3", "T13/L4"):
                kind, level = task.split("/")
                labels = {"kind": kind, "level": level, "best": 1, "plausible": plausible}
                for seed in range(10):
                    won = does(condition, level, seed)
                    yield OnTable(won, condition, labels, f"tabletop/{task}", seed, experiment="prompts")

    def written(policy: str, does: Callable[[str, str, int], bool]) -> Path:
        path = tmp_path_factory.mktemp(policy) / f"{policy}.assay"
        return write(path, episodes(does), experiment="prompts", policy=policy, pack="tabletop")

    return written


@pytest.fixture(scope="module")
def run(on_tables) -> Path:
    """One who does not need the prompt, but the order of things."""
    return on_tables("blind", lambda condition, level, seed: condition != "order=permuted" and seed > 0)


@pytest.fixture(scope="module")
def report(run: Path) -> Report:
    return build([RunReport.read(run)])


@pytest.fixture(scope="module")
def folder(report: Report, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return report.write(tmp_path_factory.mktemp("out")).parent


def rows(folder: Path, name: str) -> list[dict[str, str]]:
    return list(csv.DictReader((folder / "tables" / f"{name}.csv").open()))


def test_a_run_on_tables_has_its_own_tables_figures_and_findings(folder: Path, report: Report):
    tables, figures = ({file.stem for file in (folder / name).iterdir()} for name in ("tables", "figures"))
    assert {"table-difficulty", "table-order", "table-prompts"} <= tables
    assert {"table-kept", "table-levels", "table-tasks"} <= figures
    (part,) = report.parts
    assert part.missing == {}, "measures of LIBERO's world are not listed as missing"
    for section in part.sections:
        for drawing in section.drawings:
            assert re.search(r"\d", drawing.caption) and re.search("Wilson|Newcombe", drawing.caption)
    page = (folder / "index.html").read_text().replace("\N{NO-BREAK SPACE}", " ")
    assert describe_flaw(PromptFlaw.UNTOLD).claim in page and describe_flaw(PromptFlaw.ORDER).claim in page
    reading = {row["question"]: row["what the run says"] for row in rows(folder, "table-reading")}
    assert reading["Does it need the prompt?"].startswith(describe_flaw(PromptFlaw.UNTOLD).claim)


def test_tables_have_the_measured_numbers_with_mistakes_and_without(folder: Path, report: Report):
    measured = report.parts[0].report.profile["tabletop"]
    assert not isinstance(measured, Missing)
    first = rows(folder, "table-levels")[0]
    assert (first["condition"], first["level"], first["tasks"], first["n"]) == ("control", "L1", "2", "20")
    assert float(first["success"]) == 0.9 and float(first["no mistakes"]) == 0.4
    assert float(first["95 % interval low"]) == measured.levels[0].allowed.interval.low
    assert float(first["chance"]) == 1 / 800 and "random" not in first
    assert len(rows(folder, "table-tasks")) == 4 * len(CONDITIONS)
    (*levels, together) = rows(folder, "table-order")
    assert [each["level"] for each in levels] == ["L1", "L3", "L4"] and together["level"] == "all"
    assert float(together["difference"]) == -0.9 and float(together["difference, no mistakes"]) == -0.4


def test_chance_is_measured_where_a_random_policy_is_among_the_runs(
    tmp_path: Path, run: Path, report: Report, on_tables, undrawn
):
    lucky = on_tables("random", lambda condition, level, seed: seed == 3 and level == "L1")
    paths = {"blind": run, "random": lucky}
    reports = [report.parts[0].report, RunReport.read(lucky)]
    both = build(reports, compare_suites(paths, reports))
    page = replace(undrawn(both), shared=both.shared).write(tmp_path / "out")
    (level, *_) = csv.DictReader((page.parent / "tables" / "run-1" / "table-levels.csv").open())
    assert float(level["random"]) == 0.1 and float(level["95 % interval, random low"]) > 0
    table = rows(page.parent, "table-runs")
    assert [(row["condition"], row["run"]) for row in table[:2]] == [
        ("control", "blind"),
        ("control", "random"),
    ]
    assert float(table[1]["L1"]) == 0.1 and table[1]["L3, 95 % interval high"]
    assert (page.parent / "figures" / "table-runs.svg").exists()


def test_a_run_on_tables_and_one_elsewhere_stand_side_by_side(
    tmp_path: Path, report: Report, write, made, undrawn
):
    other = write(tmp_path / "other.assay", [made(True), made(False, seed=1)])
    page = build([report.parts[0].report, RunReport.read(other)])
    place = [column.name for column in page.overview.columns].index("L1")
    assert page.overview.rows[0][place] and page.overview.rows[1][place] is None and page.shared_tables == ()
    assert "Comparison of 2 runs" in undrawn(page).html()


def test_the_object_is_json(report: Report):
    told = json.loads(json.dumps(report.parts[0].report.as_json(), allow_nan=False))
    assert told["tabletop"]["levels"][0]["allowed"]["score"] == 0.9
    assert "pride" not in told
