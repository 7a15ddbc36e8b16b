"""Figures and tables for papers."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

from assay.errors import RunError
from assay.measures.views.forest import Mark, forest, height
from assay.measures.views.printing import COLUMN, Print, read_names
from assay.measures.views.style import WIDTH, Drawing
from assay.report.for_papers import main_table
from assay.support.stats.intervals import Interval

Run = Callable[..., Any]


@pytest.fixture(scope="module")
def drawing() -> Drawing:
    """A forest plot with more text beside it than fits into a column."""
    marks = [
        Mark(f"pro/{name}", -0.2, Interval(-0.4, 0.0, "x"), ("\N{MINUS SIGN}20.0", "-40 to 0", "0.12"))
        for name in ("object", "position=nudge", "environment")
    ]
    groups = {"world, success not expected": marks}

    def paint(figure: Figure) -> None:
        heads = ("points", "95 % interval", "Holm p")
        forest(figure.subplots(), groups, along="paired difference from the control, points", heads=heads)

    return Drawing("drops", "Drops", "", (WIDTH, height(groups)), paint)


def letters(svg: str) -> set[float]:
    return {float(size) for size in re.findall(r"font(?:-size)?: (?:\w+ )*([0-9.]+)px", svg)}


def test_a_printed_figure_has_the_width_of_a_column_and_text_of_8_points(drawing: Drawing):
    svg = drawing.render_print(Print("svg")).decode()
    assert f'width="{72 * COLUMN:g}pt"' in svg and letters(svg) == {8.0}
    assert b"/MediaBox [ 0 0 234 " in drawing.render_print(Print("pdf"))
    larger = drawing.render_print(Print("svg", width=5.5, letters=10)).decode()
    assert f'width="{72 * 5.5:g}pt"' in larger and letters(larger) == {10.0}
    assert "Holm p" in larger and "Holm p" not in svg, "a column has room for the first number alone"
    assert drawing.render_print(Print("svg")).decode() == svg, "the same figure is the same bytes"
    assert min(letters(drawing.svg)) < 8, "the page's figure stays as it was"
    svg = drawing.render_print(Print("svg", names={"pro/object": "Object swap"})).decode()
    assert "Object swap" in svg and "pro/object" not in svg
    assert ">position=nudge<" in svg, "without the experiment, which all of them have"


def test_invalid_print_options_are_rejected():
    for given, words in (
        ({"format": "png"}, "expected pdf or svg"),
        ({"width": "wide"}, "expected column, page"),
        ({"width": "0.5in"}, "1.5 to 20 inches"),
        ({"font": "DejaVu Sns"}, "did you mean 'DejaVu Sans'?"),
    ):
        with pytest.raises(RunError, match=re.escape(words)):
            Print.of(**{"format": "pdf", **given})


def test_names_are_read_from_yaml_or_json(tmp_path: Path):
    (tmp_path / "a.yaml").write_text("pro/object: Swap\nlibero_goal/7: Stove\n")
    assert read_names(tmp_path / "a.yaml") == {"pro/object": "Swap", "libero_goal/7": "Stove"}
    (tmp_path / "b.json").write_text('{"pro/object": "Swap"}')
    assert read_names(tmp_path / "b.json") == {"pro/object": "Swap"}
    for text in ("- a", "{a: [1]}", "a: {b: c}", "a: {"):
        (tmp_path / "c.yaml").write_text(text)
        with pytest.raises(RunError, match=r"c\.yaml( is not valid YAML|: expected lines)"):
            read_names(tmp_path / "c.yaml")


def test_the_main_table_has_a_row_for_each_policy_and_shared_names_in_its_title(
    tmp_path: Path, made: Any, write: Callable[..., Path]
):
    def run(name: str, hits: int, **meta: str) -> Path:
        episodes = [made(True, seed=seed) for seed in range(10)]
        episodes += [made(seed < hits, "moved", {"axis": "world"}, seed=seed) for seed in range(10)]
        return write(tmp_path / f"{name}.assay", episodes, policy=name, **meta)

    table = main_table({"c": run("c", 3, label="OpenVLA"), "d": run("d", 8)}, lambda name: name.upper())
    assert table.title.endswith("(MADE, LIBERO_GOAL)")
    assert [row[:4] for row in table.rows] == [
        ("OPENVLA", 1.0, 0.3, -0.7),
        ("D", 1.0, 0.8, pytest.approx(-0.2)),
    ]
    given = main_table({"given": tmp_path / "c.assay", "d": tmp_path / "d.assay"})
    assert [row[0] for row in given.rows] == ["given", "d"], "a label of the command wins"
    text = table.as_latex()
    assert "policy & control & perturbed & diff. & 95 \\% interval & starts & n" in text
    assert "OPENVLA & 100.0 & 30.0 & $-$70.0 & " in text and "\\setlength{\\tabcolsep}{3pt}" in text


def test_rows_of_the_main_table_share_their_episodes_and_unfinished_runs_are_marked(
    tmp_path: Path, made: Any, write: Callable[..., Path]
):
    """Of one policy, two seeds and a condition are not yet done; another run has other tasks."""
    whole = [made(True, seed=seed) for seed in range(6)]
    whole += [made(seed < 3, "moved", {}, seed=seed) for seed in range(6)]
    whole += [made(False, "dark", {}, seed=seed) for seed in range(6)]
    part = [
        replace(episode, success=None if episode.seed > 3 or episode.condition == "dark" else True)
        for episode in whole
    ]
    other = [made(True, condition, {}, "libero_goal/7", 0) for condition in ("control", "moved")]
    runs = {
        name: write(tmp_path / f"{name}.assay", rows, policy=name)
        for name, rows in (("a", whole), ("b", part))
    }
    table = main_table(runs)
    assert [(row[0], row[2], row[-1]) for row in table.rows] == [("a", 0.75, 4), ("b*", 1.0, 4)]
    text = table.as_latex()
    assert (
        "n = 8 from 4 starts, 1 condition (moved), episodes that all rows completed without an error" in text
    )
    assert "* Unfinished, so its numbers may change (b: 8 of 18 planned episodes)." in text
    apart = main_table({"a": runs["a"], "c": write(tmp_path / "c.assay", other, policy="c")})
    assert [(row[0], row[-1]) for row in apart.rows] == [("a", 12), ("c", 1)]
    assert apart.note.count("no condition in common with the other rows: not comparable") == 2


def test_a_run_of_several_suites_has_a_row_for_each(tmp_path: Path, made: Any, write: Callable[..., Path]):
    episodes = [
        made(condition == "control" or task.endswith("0"), condition, {}, task, seed)
        for task in ("libero_goal/0", "libero_spatial/1")
        for seed in range(6)
        for condition in ("control", "moved")
    ]
    table = main_table({"a": write(tmp_path / "a.assay", episodes)})
    assert [(row[0], row[3]) for row in table.rows] == [
        ("libero_goal", 0.0), ("libero_spatial", -1.0), ("all", -0.5),
    ]  # fmt: skip


@pytest.mark.usefixtures("unpainted")
def test_the_command_writes_figures_and_tables_for_a_paper(
    assay: Run, tmp_path: Path, made: Any, write: Callable[..., Path]
):
    cell = {"axis": "words", "object": "none", "action": "hint", "pd": 0.2, "s_k": 0.9, "s_t": 0.7}
    episodes = [made(True, seed=seed) for seed in range(2)]
    episodes += [made(seed > 0, "para/a", cell, seed=seed) for seed in range(2)]
    run = write(tmp_path / "a.assay", episodes)
    names = tmp_path / "names.yaml"
    names.write_text("libero_goal/1: The bowl\n")
    said = assay("report", run, "--out", tmp_path / "r", "--figures", "svg", "--names", names)
    assert said.status == 0 and re.search("too narrow: .*paraphrase-grid", said.out)
    paper = tmp_path / "r" / "paper"
    assert {"drops.svg", "drops.tex", "main.tex", "paraphrase-grid.svg"} <= {
        file.name for file in paper.iterdir()
    }
    assert "The bowl" in (paper / "tasks.svg").read_text() and "The bowl" in (paper / "tasks.tex").read_text()
    assert {min(letters(file.read_text())) for file in paper.glob("*.svg")} == {8.0}
    said = assay("report", run, "--figures", "pdf")
    assert said.status == 2 and "--figures needs --out" in said.err


def test_without_an_output_folder_the_summary_of_all_runs_is_printed(
    assay: Run, tmp_path: Path, made: Any, write: Callable[..., Path]
):
    run = write(tmp_path / "a.assay", [made(each == "control", each) for each in ("control", "moved")])
    said = assay("report", tmp_path, "--label", "Mine")
    assert said.status == 0 and "somebody on made (Mine)" in said.out
    assert "success, control" in said.out and "success, perturbed" in said.out
    assert any(line.startswith("- It succeeds in") for line in said.out.splitlines())
    said = assay("report", run, "--label", "a", "--label", "b")
    assert said.status == 2 and "2 labels for 1 run" in said.err
