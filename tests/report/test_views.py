from __future__ import annotations

import csv
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import numpy as np
import pytest

from assay.cli.runs import _terminal_summary
from assay.measures.failure.failures import (
    failures_table,
    types_table,
)
from assay.measures.failure.near_far import PAPER, NearFarFailures, NearFarRule, failures
from assay.measures.memory.paths import Paths
from assay.measures.views.table import Column, Table, latex
from assay.measures.views.wording import (
    between,
    listed,
    methods,
    natural,
    negate,
    number,
    p_phrase,
    percent,
    plural,
    points,
    signed,
    task_instruction,
    thing,
)
from assay.report.run_report import RunReport
from assay.runs.store import Store
from assay.support.stats.intervals import Interval


def test_numbers_are_formatted_for_readers():
    for said, meant in (
        (number(-0.04), "0.0"),
        (number(-1234.56), "\N{MINUS SIGN}1,234.6"),
        (number(124.5, 0), "125"),
        (number(-121.5, 0), "\N{MINUS SIGN}122"),
        (signed(2.0), "+2.0"),
        (signed(-0.001), "0.0"),
        (percent(0.5), "50.0 %"),
        (percent(None), "\N{EN DASH}"),
        (points(-0.345), "\N{MINUS SIGN}34.5"),
        (between(Interval(0.1, 0.25, "x"), 100), "10.0 to 25.0"),
        (between(None), "\N{EN DASH}"),
        (p_phrase(0.0001), "p < 0.001"),
        (p_phrase(0.04), "p = 0.040"),
        (plural(1, "episode"), "1 episode"),
        (plural(1000, "success", "successes"), "1,000 successes"),
        (listed(["a", "b", "c"]), "a, b and c"),
        (listed([]), ""),
        (thing("akita_black_bowl_1+plate_1"), "akita black bowl + plate"),
    ):
        assert said == meant


def test_methods_of_intervals_are_named():
    made = [Interval(0, 1, "student, over starts"), None, Interval(0, 1, "wilson"), Interval(0, 1, "wilson")]
    assert methods(made) == "Student, over starts; Wilson"
    assert negate(Interval(-0.5, 0.25, "wilson")) == Interval(-0.25, 0.5, "wilson")


def test_tasks_are_sorted_by_number_and_shown_with_their_instruction():
    names = ["libero_goal/10", "libero_goal/2", "libero_10/3"]
    assert sorted(names, key=natural) == ["libero_10/3", "libero_goal/2", "libero_goal/10"]
    assert (
        task_instruction("libero_goal/7") == "turn on the stove" and task_instruction("somebody's/1") is None
    )


TABLE = Table(
    "t",
    "Rates & such",
    (
        Column("a|b"),
        Column("success", "share"),
        Column("95 % interval", "share"),
        Column("p", "p"),
        Column("ok"),
    ),
    (("x_1", 0.25, Interval(0.1, 0.4, "wilson"), 0.0004, True), ("y", None, None, 0.5, False)),
    "100 % made up.",
)


def test_table_as_csv_markdown_and_latex():
    rows = list(csv.reader(StringIO(TABLE.as_csv())))
    assert rows[0] == ["a|b", "success", "95 % interval low", "95 % interval high", "p", "ok"]
    assert rows[1] == ["x_1", "0.25", "0.1", "0.4", "0.0004", "True"]
    assert rows[2] == ["y", "", "", "", "0.5", "False"]
    lines = TABLE.as_markdown().splitlines()
    assert lines[0] == "**Rates & such.** 100 % made up."
    assert lines[2] == "| a\\|b | success, % | 95 % interval, % | p | ok |"
    assert lines[4] == "| x_1 | 25.0 | 10.0 to 40.0 | < 0.001 | yes |"
    assert {line.replace("\\|", "").count("|") for line in lines[2:]} == {6}
    text = TABLE.as_latex()
    assert r"\caption{Rates \& such. 100 \% made up.}" in text
    assert r"x\_1 & 25.0 & 10.0 to 40.0 & \textless{} 0.001 & yes \\" in text
    assert r"\begin{tabular}{lrrrl}" in text
    assert (
        latex("\\x{a}~^\N{MINUS SIGN}3") == r"\textbackslash{}x\{a\}\textasciitilde{}\textasciicircum{}$-$3"
    )


def test_terminal_summary_has_settled_and_open_thresholds(tmp_path: Path, write, made):
    def searched(magnitude: float, success: bool, seed: int):
        labels = {"searched": "distance", "magnitude": magnitude}
        return made(success, f"search/distance={magnitude:g}", labels, seed=seed)

    episodes = [made(True, seed=seed) for seed in range(12)]
    episodes += [searched(0.1, True, seed) for seed in range(12)]
    episodes += [searched(0.2, False, seed) for seed in range(12)]
    ladder = {"axis": "distance", "unit": "m", "magnitudes": [0.1, 0.2]}
    pairs = [
        {**ladder, "task": "libero_goal/1", "ended": "settled"},
        {**ladder, "task": "libero_goal/2", "ended": "budget"},
    ]
    about = {"experiment": "search", "search": {"level": 0.5, "confidence": 0.95, "pairs": pairs}}
    run = write(tmp_path / "run.assay", episodes, **about)
    text = "\n".join(line for lines in _terminal_summary([RunReport.read(run)]) for line, _ in lines)
    assert (
        "- Success is lost along distance at 0.1 to 0.2 m in libero_goal/1 (each at 95 % confidence)." in text
    )
    assert (
        "- The threshold along distance is not yet determined: unknown (the budget is used up) in libero_goal/2."
        in text
    )


@pytest.fixture
def found(tmp_path: Path, made, write: Callable[..., Path]) -> Callable[..., NearFarFailures]:
    """Return a function that measures a run with near and far failures and twenty successes of one task."""

    def measured(near: int, far: int, name: str = "run", rule: NearFarRule = PAPER) -> NearFarFailures:
        line = np.linspace(0, 0.4, 60)[:, None] * (1.0, 0.5, 0.2)
        kinds = ["success"] * 20 + ["near"] * near + ["far"] * far
        episodes = [
            made(
                kind == "success",
                f"para/{number % 2}",
                {"object": ("none", "habitual")[number % 2], "action": "hint", "axis": "words"},
                seed=number,
                hand=line * (-1.0 if kind == "far" else 1.0)
                + (0.0, 0.0, (number % 20) / 500 * (kind == "success")),
            )
            for number, kind in enumerate(kinds)
        ]
        labels = {"object": "none", "action": "hint", "axis": "words"}
        episodes.append(made(False, "para/0", labels, task="libero_goal/2", hand=line))
        path = write(tmp_path / f"{name}.assay", episodes)
        with Store.reading(path) as store:
            return failures(store.frame(), Paths.of(store.trajectories()), rule)

    return measured


def column(table: Table, name: str) -> list[object]:
    place = [each.name for each in table.columns].index(name)
    return [row[place] for row in table.rows]


def test_unjudged_failures_count_in_rates_over_all_episodes_and_in_the_note(found):
    table = failures_table(found(4, 8), None)
    assert column(table, "task") == ["libero_goal/1", "all"]
    assert (column(table, "near"), column(table, "far"), column(table, "n")) == ([4, 4], [8, 8], [32, 33])
    assert column(table, "far, of all") == pytest.approx([8 / 32, 8 / 33])
    assert column(table, "far, of failures") == pytest.approx([8 / 12, 8 / 12])
    assert "The row all includes 1 failure that could not be judged" in table.note


def test_types_of_paraphrase_add_up(found):
    table = types_table(found(4, 8), None)
    assert column(table, "axis") == ["names", "names", "action"]
    assert column(table, "n") == [17, 16, 33] and column(table, "far") == [4, 4, 8]
