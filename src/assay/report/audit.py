"""Audits in words, tables and a figure: what policies that lack something solve of an experiment."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure

from assay.errors import RunError
from assay.measures.shortcuts import KINDS, MEMORY, Probe, ProbeCell, Shortcuts, Solved
from assay.measures.views.style import FAINT, INK, ORANGE, SHADES
from assay.measures.views.table import Column, Table, Value
from assay.measures.views.wording import NOT, between, listed, number, percent, plural

FORMATS = (".png", ".svg", ".pdf")
"""How the names of figures may end."""
MOST_NAMES = 8
"""Conditions that a sentence names; the table has all."""


def shortcuts_table(found: Shortcuts, experiment: str) -> Table:
    """Success of every policy in every condition."""
    columns = (
        Column("condition"),
        Column("n", "count"),
        *(Column(probe.title) for probe in found.probes),
        Column("blind to"),
    )
    rows: list[tuple[Value, ...]] = []
    for row in found.rows:
        cells = [row.cells[probe.name] for probe in found.probes]
        counted = [cell.rate.count for cell in cells if cell.rate is not None]
        blind = [_lacking(probe) for probe in found.lacking if _is_blind(row.expected, row.cells[probe.name])]
        rows.append(
            (
                row.condition,
                max(counted, default=0),
                *map(_shown, cells),
                ", ".join(blind) if row.expected else "(not expected)",
            )
        )
    return Table("audit", f"Shortcuts through {experiment}", columns, tuple(rows), _note(found))


def _lacking(probe: Probe) -> str:
    """What a policy lacks, in a word or two."""
    return "all but memory" if probe.lacks == MEMORY else (probe.lacks or "").removeprefix("without ")


def _note(found: Shortcuts) -> str:
    return (
        "Success in percent, and its 95 % Wilson interval; n: episodes that ended without an error, of the policy with "
        f"the most. Blind to: what a policy does without and still succeeds in more than {percent(found.least, 0)} of "
        "the episodes, beyond doubt."
    )


def _is_blind(expected: bool, cell: ProbeCell) -> bool:
    return expected and cell.solved is Solved.YES


def _shown(cell: ProbeCell) -> str:
    """Success in percent and its interval: 92 (65 to 99)."""
    if cell.rate is None or cell.rate.rate is None:
        return NOT
    return f"{number(100 * cell.rate.rate, 0)} ({between(cell.rate.interval, 100, 0)})"


def in_words(found: Shortcuts) -> list[str]:
    """What each policy gets through, and which conditions tell; then what to beware of."""
    wanted = [row for row in found.rows if row.expected]
    said = []
    for probe in found.lacking:
        blind, telling, unsure = found.blind_spots(probe), found.telling(probe), found.open(probe)
        parts = []
        if broken := found.broken(probe):
            parts.append(f"{probe.title}: no episode without an error in {_named(broken)}")
        if len(broken) < len(wanted):
            parts += _sentence(probe, len(wanted) - len(broken), blind, telling, unsure)
        said.append("; ".join(parts) + ".")
    unexpected = [row.condition for row in found.rows if not row.expected]
    if unexpected:
        said.append(
            f"Not counted as blind spots: {_named(unexpected)}, where success is not expected: whoever succeeds there "
            "ignores what was changed."
        )
    if few := found.too_few:
        counts = ", ".join(dict.fromkeys(map(str, few.values())))
        said.append(
            f"Nothing can be told of {_named(list(few))}, whatever comes out there: n = {counts}, and with fewer than "
            f"{found.fewest} episodes of a condition all is undecided. Give it more --seeds or tasks."
        )
    weak = [
        row.condition
        for row in wanted
        if row.condition not in few
        and (cell := row.cells.get("oracle")) is not None
        and cell.solved in (Solved.NO, Solved.OPEN)
    ]
    if weak:
        said.append(
            f"Beware: the oracle, which lacks nothing, does not solve {_named(weak)} beyond doubt either."
        )
    return said


def _sentence(
    probe: Probe, wanted: int, blind: Sequence[str], telling: Sequence[str], unsure: Sequence[str]
) -> list[str]:
    """The parts of the sentence on one policy."""
    of = plural(wanted, "condition")
    if len(unsure) == wanted:
        where = "the only condition" if wanted == 1 else f"all of {of}"
        return [f"{probe.title}: undecided in {where} in which success is expected: {_named(unsure)}"]
    solved = f"{probe.title}: solves {len(blind)} of {of} in which success is expected"
    evidence = KINDS.get(probe.lacks or "")
    if blind:
        why = "" if evidence is None else f", so that success there is no evidence that {evidence}"
        solved += f"{why}: {_named(blind)}"
    parts = [solved]
    if telling:
        parts.append(f"fails {_named(telling)}")
    if unsure:
        parts.append(f"undecided: {_named(unsure)}")
    return parts


def _named(conditions: Sequence[str]) -> str:
    more = len(conditions) - MOST_NAMES
    shown = conditions if more <= 1 else conditions[:MOST_NAMES]
    return ", ".join(shown) + (f" and {more} more" if more > 1 else "")


def markdown(table: Table, said: Sequence[str]) -> str:
    """Sentences, then the table, for a text."""
    return "\n".join([f"## {table.title}", "", *(f"- {each}" for each in said), "", table.as_markdown()])


def write_figure(found: Shortcuts, experiment: str, path: Path) -> None:
    """Draw success of every policy in every condition into a PNG, SVG or PDF file. Raises RunError."""
    if path.suffix not in FORMATS:
        raise RunError(f"--figure {path}: valid: a name that ends in {listed(FORMATS, 'or')}")
    rows, probes = found.rows, found.probes
    with matplotlib.rc_context({"font.family": "DejaVu Sans", "font.size": 8.5, "svg.fonttype": "none"}):
        longest = max(len(row.condition) for row in rows)
        figure = Figure(
            figsize=(0.6 + 0.068 * longest + 1.35 * len(probes), 1.5 + 0.26 * len(rows)), layout="constrained"
        )
        axes = figure.subplots()
        shades = matplotlib.colormaps[SHADES]
        for y, row in enumerate(rows):
            for x, probe in enumerate(probes):
                cell = row.cells[probe.name]
                share = None if cell.rate is None else cell.rate.rate
                face = "#ffffff" if share is None else shades(share)
                blind = probe.lacks is not None and _is_blind(row.expected, cell)
                axes.add_patch(
                    matplotlib.patches.Rectangle(
                        (x - 0.47, y - 0.42),
                        0.94,
                        0.84,
                        facecolor=face,
                        edgecolor=ORANGE if blind else "none",
                        linewidth=2.2,
                    )
                )
                dark = share is not None and share < 0.55
                axes.text(
                    x, y, _shown(cell), ha="center", va="center", color="white" if dark else INK, fontsize=7.5
                )
        names = [row.condition if row.expected else f"{row.condition} *" for row in rows]
        axes.set_yticks(range(len(rows)), names)
        axes.set_xticks(range(len(probes)), [_heading(each) for each in probes])
        axes.xaxis.tick_top()
        axes.tick_params(length=0, colors=INK)
        axes.set_xlim(-0.55, len(probes) - 0.45)
        axes.set_ylim(len(rows) - 0.45, -0.55)
        for spine in axes.spines.values():
            spine.set_visible(False)
        note = f"{experiment}: success in %, 95 % intervals in brackets. Framed: solved all the same." + (
            " *: success is not expected." if len(names) > sum(row.expected for row in rows) else ""
        )
        figure.text(0.01, 0.0, note, ha="left", va="bottom", fontsize=7, color=FAINT)
        axes.set_xlabel(" ")
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=150, facecolor="white")


def _heading(probe: Probe) -> str:
    return probe.name if probe.lacks is None else f"{probe.name}:\n{probe.lacks}"
