from __future__ import annotations

import csv
from io import StringIO

from assay.measures.views.table import Column, Table, latex
from assay.support.stats.intervals import Interval

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


def test_csv_keeps_every_digit_and_both_ends():
    rows = list(csv.reader(StringIO(TABLE.as_csv())))
    assert rows[0] == ["a|b", "success", "95 % interval low", "95 % interval high", "p", "ok"]
    assert rows[1] == ["x_1", "0.25", "0.1", "0.4", "0.0004", "True"]
    assert rows[2] == ["y", "", "", "", "0.5", "False"]


def test_markdown_has_as_many_bars_in_every_line():
    lines = TABLE.as_markdown().splitlines()
    assert lines[0] == "**Rates & such.** 100 % made up."
    assert lines[2] == "| a\\|b | success, % | 95 % interval, % | p | ok |"
    assert lines[4] == "| x_1 | 25.0 | 10.0 to 40.0 | < 0.001 | yes |"
    assert {line.replace("\\|", "").count("|") for line in lines[2:]} == {6}


def test_latex_spells_out_what_would_be_commands():
    text = TABLE.as_latex()
    assert r"\caption{Rates \& such. 100 \% made up.}" in text
    assert r"x\_1 & 25.0 & 10.0 to 40.0 & \textless{} 0.001 & yes \\" in text
    assert r"\begin{tabular}{lrrrl}" in text
    assert (
        latex("\\x{a}~^\N{MINUS SIGN}3") == r"\textbackslash{}x\{a\}\textasciitilde{}\textasciicircum{}$-$3"
    )
