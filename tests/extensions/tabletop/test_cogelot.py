from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from statistics import mean

import pytest

from assay.extensions.tabletop.cogelot import PER_TASK, TABLES, published_scores
from assay.measures.views.table import Table
from assay.report.papers.base import PaperError
from assay.report.papers.page import PaperReport, build_paper

CONDITIONS = (
    "control",
    "paraphrase",
    "mask=instruction",
    "difficulty=extreme,mask=instruction",
    "order=permuted",
)


@pytest.fixture(scope="module")
def on_tables(write, made, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """A run on two tasks whose episodes succeed at once where the seed is even, and never without a prompt."""

    class OnTable(made):
        @property
        def episode(self):
            return replace(super().episode, steps=1 if self.success else 10, truth={}, moved=None)

    def episodes() -> Iterator[OnTable]:
        for condition in CONDITIONS:
            for task in ("T1/L1", "T3/L1", "T14/L4"):
                kind, level = task.split("/")
                labels = {"kind": kind, "level": level, "best": 1, "plausible": True}
                for seed in range(4):
                    won = seed % 2 == 0 and "mask" not in condition
                    yield OnTable(won, condition, labels, f"tabletop/{task}", seed, experiment="prompts")

    def written(name: str, **meta: object) -> Path:
        path = tmp_path_factory.mktemp("runs") / f"{name}.assay"
        return write(path, episodes(), experiment="prompts", policy=name, pack="tabletop", **meta)

    return written


@pytest.fixture(scope="module")
def report(on_tables) -> PaperReport:
    plain = on_tables("plain")
    told = on_tables("told", policy_metadata={"paraphrased": "False", "permuted": "False"})
    return build_paper("cogelot", {"plain": plain, "told": told}, published=True)


def table(report: PaperReport, label: str, place: int = 0) -> Table:
    found = {each.label: each for section in report.sections for each in section.exhibits}
    return found[label].tables[place]


def test_every_table_of_the_paper_has_its_place_and_says_what_is_missing(report: PaperReport):
    exhibits = {each.label: each for section in report.sections for each in section.exhibits}
    assert set(exhibits) == {f"Table {each}" for each in (*TABLES, *PER_TASK, "D.1")}
    assert exhibits["Table 3"].tables  # its controls are there
    assert exhibits["Table F.5"].missing == (
        "no run has a condition of it (gobbledygook=tokens, gobbledygook=words)",
    )


def test_levels_are_means_of_tasks_with_intervals_beside_the_published(report: PaperReport):
    rows = [row for row in table(report, "Table 5").rows if row[1] in ("plain", "cross-objects")]
    assert [(row[0], row[3], row[4]) for row in rows] == [
        ("Mistakes allowed", "run", 0.5),
        ("Mistakes allowed", "published", pytest.approx(0.827)),
        ("No mistakes", "run", 0.5),
        ("No mistakes", "published", pytest.approx(0.703)),
    ]
    assert rows[0][5].low < 0.5 < rows[0][5].high and rows[0][8] is None  # no L3


def test_a_run_stands_once_where_its_training_belongs(report: PaperReport):
    rows = [(row[0], row[1], row[2]) for row in table(report, "Table 1").rows if row[3] == "run"]
    assert rows == [
        ("Original instructions", "plain", ""),
        ("Original instructions", "told", "original"),
        ("Paraphrases", "plain", ""),
        ("Paraphrases", "told", "original"),
    ]


def test_crossed_conditions_have_rows_and_intervals_by_level(report: PaperReport):
    shares, intervals = (table(report, "Table F.10", place) for place in (0, 1))
    own = [row[:4] for row in shares.rows if row[1] == "plain"]
    name = "Extreme; mask instructions"
    assert own == [(name, "plain", "L1", 0.0), (name, "plain", "L4", None)]
    assert len(intervals.rows) == 4 and intervals.rows[0][3].low == 0.0


def test_published_means_are_those_of_their_tasks():
    assert len({each.table for each in published_scores()}) == 14
    for each in published_scores():
        if each.tasks:
            assert each.mean == pytest.approx(mean(each.tasks.values()), abs=0.0012), each


def test_a_run_of_another_world_is_refused_in_one_line(write, made, tmp_path: Path):
    path = write(
        tmp_path / "x.assay", [made(True, "control", {}, "libero_goal/7", seed) for seed in range(3)]
    )
    with pytest.raises(PaperError, match=r"x\.assay is a run of the world libero; valid: runs of tabletop"):
        build_paper("cogelot", {"x": path})
