from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import mean

import pytest

from assay.extensions.tabletop.cogelot import TABLES, TASK_IDS, published_scores
from assay.extensions.tabletop.measures.scores import PromptFlaw
from assay.measures.measure import describe_flaw
from assay.measures.result import Missing
from assay.measures.views.table import Table
from assay.report.comparison import compare_suites
from assay.report.page import Report, build
from assay.report.papers import PaperError, PaperReport, build_paper
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
TASKS = ("T1/L1", "T3/L1", "T1/L3", "T13/L4")


@pytest.fixture(scope="module")
def on_tables(write, made, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Writes a run on tables; ``does`` maps a condition, a level and a seed to its success."""

    class OnTable(made):
        @property
        def episode(self):
            steps = 1 + self.seed % 2 if self.success else 10
            return replace(super().episode, steps=steps, truth={}, moved="dragged_obj")

    def written(
        policy: str,
        does: Callable[[str, str, int], bool],
        conditions=CONDITIONS,
        tasks=TASKS,
        seeds=10,
        **meta,
    ) -> Path:
        episodes = []
        for condition, plausible in conditions.items():
            for kind, level in (task.split("/") for task in tasks):
                labels = {"kind": kind, "level": level, "best": 1, "plausible": plausible}
                for seed in range(seeds):
                    won, task = does(condition, level, seed), f"tabletop/{kind}/{level}"
                    episodes.append(OnTable(won, condition, labels, task, seed, experiment="prompts"))
        path = tmp_path_factory.mktemp(policy) / f"{policy}.assay"
        return write(path, episodes, experiment="prompts", policy=policy, pack="tabletop", **meta)

    return written


@pytest.fixture(scope="module")
def run(on_tables) -> Path:
    """A policy that ignores the prompt and depends on the order of objects."""
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
            if drawing.paint.__module__.startswith("assay."):  # other tests register measures of plugins
                assert re.search(r"\d", drawing.caption) and re.search(
                    "Wilson|Newcombe|pooling", drawing.caption
                )
    page = (folder / "index.html").read_text().replace("\N{NO-BREAK SPACE}", " ")
    assert (
        describe_flaw(PromptFlaw.PROMPT_UNUSED).claim in page
        and describe_flaw(PromptFlaw.ORDER).claim in page
    )


def test_tables_have_the_measured_numbers_with_mistakes_and_without(folder: Path, report: Report):
    measured = report.parts[0].report.profile["tabletop"]
    assert not isinstance(measured, Missing)
    content = json.loads(json.dumps(report.parts[0].report.as_json(), allow_nan=False))
    assert content["tabletop"]["levels"][0]["allowed"]["score"] == 0.9 and "pride" not in content
    first = rows(folder, "table-levels")[0]
    assert (first["condition"], first["level"], first["tasks"], first["n"]) == ("control", "L1", "2", "20")
    assert float(first["success"]) == 0.9 and float(first["no mistakes"]) == 0.4
    assert float(first["95 % interval low"]) == measured.levels[0].allowed.interval.low
    assert float(first["chance"]) == 1 / 800
    assert len(rows(folder, "table-tasks")) == 4 * len(CONDITIONS)
    (*levels, together) = rows(folder, "table-order")
    assert [each["level"] for each in levels] == ["L1", "L3", "L4"] and together["level"] == "all"
    assert float(together["difference"]) == -0.9 and float(together["difference, no mistakes"]) == -0.4


@pytest.mark.usefixtures("unpainted")
def test_several_runs_have_a_table_and_a_figure_in_common(
    tmp_path: Path, run: Path, report: Report, on_tables
):
    lucky = on_tables("random", lambda condition, level, seed: seed == 3 and level == "L1")
    paths = {"blind": run, "random": lucky}
    reports = [report.parts[0].report, RunReport.read(lucky)]
    page = build(reports, compare_suites(paths, reports)).write(tmp_path / "out")
    table = rows(page.parent, "table-runs")
    assert [(row["condition"], row["run"]) for row in table[:2]] == [
        ("control", "blind"),
        ("control", "random"),
    ]
    assert float(table[1]["L1"]) == 0.1 and table[1]["L3, 95 % interval high"]
    assert (page.parent / "figures" / "table-runs.svg").exists()


@pytest.mark.usefixtures("unpainted")
def test_runs_of_different_worlds_share_an_overview(tmp_path: Path, report: Report, write, made):
    other = write(tmp_path / "other.assay", [made(True), made(False, seed=1)])
    page = build([report.parts[0].report, RunReport.read(other)])
    place = [column.name for column in page.overview.columns].index("L1")
    assert page.overview.rows[0][place] and page.overview.rows[1][place] is None and page.shared_tables == ()
    assert "Comparison of 2 runs" in page.html()


CROSSED = (
    "control",
    "paraphrase",
    "mask=instruction",
    "difficulty=extreme,mask=instruction",
    "order=permuted",
)


@pytest.fixture(scope="module")
def paper(on_tables) -> PaperReport:
    """Two runs whose episodes succeed at once with an even seed, and never without a prompt."""

    def write_run(name: str, **meta: object) -> Path:
        def does(condition: str, level: str, seed: int) -> bool:
            return seed % 2 == 0 and "mask" not in condition

        tasks = ("T1/L1", "T3/L1", "T14/L4")
        return on_tables(name, does, dict.fromkeys(CROSSED, True), tasks, seeds=4, **meta)

    plain = write_run("plain")
    told = write_run("told", policy_metadata={"paraphrased": "False", "permuted": "False"})
    return build_paper("cogelot", {"plain": plain, "told": told}, published=True)


def table(paper: PaperReport, label: str, place: int = 0) -> Table:
    found = {each.label: each for section in paper.sections for each in section.exhibits}
    return found[label].tables[place]


def test_every_table_of_the_paper_is_made_or_names_what_is_missing(paper: PaperReport):
    exhibits = {each.label: each for section in paper.sections for each in section.exhibits}
    assert set(exhibits) == {f"Table {each}" for each in (*TABLES, "D.1")}
    assert exhibits["Table 3"].tables  # its controls are there
    assert exhibits["Table F.5"].missing == (
        "no run contains any of the conditions (gobbledygook=tokens, gobbledygook=words)",
    )


def test_levels_are_means_of_tasks_with_intervals_beside_the_published(paper: PaperReport):
    rows = [row for row in table(paper, "Table 5").rows if row[1] in ("plain", "cross-objects")]
    assert [(row[0], row[3], row[4]) for row in rows] == [
        ("Mistakes allowed", "run", 0.5),
        ("Mistakes allowed", "published", pytest.approx(0.827)),
        ("No mistakes", "run", 0.5),
        ("No mistakes", "published", pytest.approx(0.703)),
    ]
    assert rows[0][5].low < 0.5 < rows[0][5].high and rows[0][8] is None  # no L3


def test_a_run_is_listed_once_by_its_training(paper: PaperReport):
    rows = [(row[0], row[1], row[2]) for row in table(paper, "Table 1").rows if row[3] == "run"]
    groups = ("Original instructions", "Paraphrases")
    models = (("plain", ""), ("told", "original"))
    assert rows == [(group, *model) for group in groups for model in models]


def test_crossed_conditions_have_rows_and_intervals_by_level(paper: PaperReport):
    shares, intervals = (table(paper, "Table F.10", place) for place in (0, 1))
    own = [row[:4] for row in shares.rows if row[1] == "plain"]
    name = "Extreme; mask instructions"
    assert own == [(name, "plain", "L1", 0.0), (name, "plain", "L4", None)]
    assert len(intervals.rows) == 4 and intervals.rows[0][3].low == 0.0


def test_published_means_are_those_of_their_tasks():
    assert published_scores()["table"].n_unique() == 14
    for row in published_scores().to_dicts():
        if rates := [row[kind] for kind in TASK_IDS if row[kind] is not None]:
            assert row["average"] == pytest.approx(mean(rates), abs=0.0012), row


def test_a_run_of_another_world_is_refused(write, made, tmp_path: Path):
    path = write(
        tmp_path / "x.assay", [made(True, "control", {}, "libero_goal/7", seed) for seed in range(3)]
    )
    with pytest.raises(PaperError, match=r"expected runs in the world tabletop, but .*x\.assay is in libero"):
        build_paper("cogelot", {"x": path})
