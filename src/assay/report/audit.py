"""Report of an audit as sentences, a table and a figure.

It shows the conditions that policies without some input still solve.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure

from assay.errors import RunError
from assay.measures.shortcuts import KINDS, MEMORY, Probe, ProbeCell, Shortcuts, Solved
from assay.measures.views.style import FAINT, INK, ORANGE, SHADES
from assay.measures.views.table import Column, Table, Value
from assay.measures.views.wording import NOT, between, listed, number, percent, plural

FORMATS = (".png", ".svg", ".pdf")
"""Suffixes of figures."""
MAX_NAMES = 8
"""Maximum number of conditions that a sentence names; the table has all."""


def shortcuts_table(found: Shortcuts, experiment: str) -> Table:
    """Table of the success of every policy in every condition."""
    rows: list[tuple[Value, ...]] = []
    for row in found.rows:
        cells = [row.cells[probe.name] for probe in found.probes]
        counts = [cell.rate.count for cell in cells if cell.rate is not None]
        blind = [
            "all but memory" if probe.lacks == MEMORY else (probe.lacks or "").removeprefix("without ")
            for probe in found.lacking
            if row.cells[probe.name].solved is Solved.YES
        ]
        missing = ", ".join(blind) if row.expected else "(not expected)"
        rows.append((row.condition, max(counts, default=0), *map(_format_cell, cells), missing))
    return Table(
        "audit",
        f"Shortcuts through {experiment}",
        (
            Column("condition"),
            Column("n", "count"),
            *(Column(probe.title) for probe in found.probes),
            Column("blind to"),
        ),
        tuple(rows),
        "Success in per cent with its 95 % Wilson interval; n: episodes without an error, of the policy with the most. "
        f"Blind to: inputs without which a policy still succeeds in significantly more than {percent(found.least, 0)} "
        "of the episodes.",
    )


def _format_cell(cell: ProbeCell) -> str:
    """Format the success rate in per cent and its interval: 92 (65 to 99)."""
    if cell.rate is None or cell.rate.rate is None:
        return NOT
    return f"{number(100 * cell.rate.rate, 0)} ({between(cell.rate.interval, 100, 0)})"


def describe_shortcuts(found: Shortcuts) -> list[str]:
    """Describe the conditions that each policy solves, fails or leaves undecided, and caveats, in sentences."""
    expected = [row for row in found.rows if row.expected]
    sentences = [_describe_probe(found, probe, len(expected)) for probe in found.lacking]
    unexpected = [row.condition for row in found.rows if not row.expected]
    if unexpected:
        sentences.append(
            f"Not counted as blind spots: {_join_names(unexpected)}. Success is not expected there, and a policy that "
            "succeeds ignores the change."
        )
    if few := found.too_few:
        counts = ", ".join(dict.fromkeys(map(str, few.values())))
        sentences.append(
            f"Undecidable because of too few episodes: {_join_names(list(few))} (n = {counts}, needs at least "
            f"{found.fewest} per condition). Use more --seeds or tasks."
        )
    weak = [
        row.condition
        for row in expected
        if row.condition not in few
        and (cell := row.cells.get("oracle")) is not None
        and cell.solved in (Solved.NO, Solved.OPEN)
    ]
    if weak:
        sentences.append(
            f"Caution: the oracle, which has all inputs, does not solve {_join_names(weak)} either."
        )
    return sentences


def _describe_probe(found: Shortcuts, probe: Probe, expected: int) -> str:
    """Describe one policy in a sentence; ``expected``: the number of conditions in which success is expected."""
    broken = found.broken(probe)
    parts = [f"{probe.title}: no episode without an error in {_join_names(broken)}"] if broken else []
    judged = expected - len(broken)
    if judged:
        parts += _describe_results(found, probe, judged)
    return "; ".join(parts) + "."


def _describe_results(found: Shortcuts, probe: Probe, judged: int) -> Iterator[str]:
    blind, telling, undecided = found.blind_spots(probe), found.telling(probe), found.open(probe)
    conditions = plural(judged, "condition")
    if len(undecided) == judged:
        scope = "the only condition" if judged == 1 else f"all {conditions}"
        yield f"{probe.title}: undecided in {scope} in which success is expected: {_join_names(undecided)}"
        return
    evidence = KINDS.get(probe.lacks or "")
    text = f"{probe.title}: solves {len(blind)} of {conditions} in which success is expected"
    if blind:
        why = "" if evidence is None else f", so success there is no evidence that {evidence}"
        text += f"{why}: {_join_names(blind)}"
    yield text
    if telling:
        yield f"fails {_join_names(telling)}"
    if undecided:
        yield f"undecided: {_join_names(undecided)}"


def _join_names(conditions: Sequence[str]) -> str:
    more = len(conditions) - MAX_NAMES
    names = conditions if more <= 1 else conditions[:MAX_NAMES]
    return ", ".join(names) + (f" and {more} more" if more > 1 else "")


def markdown(table: Table, sentences: Sequence[str]) -> str:
    """Sentences, then the table, as Markdown."""
    lines = [f"- {sentence}" for sentence in sentences]
    return "\n".join([f"## {table.title}", "", *lines, "", table.as_markdown()])


def write_figure(found: Shortcuts, experiment: str, path: Path) -> None:
    """Draw the success of every policy in every condition into a PNG, SVG or PDF file. Raises RunError."""
    if path.suffix not in FORMATS:
        raise RunError(f"--figure {path}: valid: a name that ends in {listed(FORMATS, 'or')}")
    rows, probes = found.rows, found.probes
    with matplotlib.rc_context({"font.family": "DejaVu Sans", "font.size": 8.5, "svg.fonttype": "none"}):
        longest = max(len(row.condition) for row in rows)
        size = (0.6 + 0.068 * longest + 1.35 * len(probes), 1.5 + 0.26 * len(rows))
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots()
        shades = matplotlib.colormaps[SHADES]
        for y, row in enumerate(rows):
            for x, probe in enumerate(probes):
                cell = row.cells[probe.name]
                share = None if cell.rate is None else cell.rate.rate
                is_blind = probe.lacks is not None and row.expected and cell.solved is Solved.YES
                rectangle = matplotlib.patches.Rectangle(
                    (x - 0.47, y - 0.42),
                    0.94,
                    0.84,
                    facecolor="#ffffff" if share is None else shades(share),
                    edgecolor=ORANGE if is_blind else "none",
                    linewidth=2.2,
                )
                axes.add_patch(rectangle)
                ink = "white" if share is not None and share < 0.55 else INK
                axes.text(x, y, _format_cell(cell), ha="center", va="center", color=ink, fontsize=7.5)
        names = [row.condition if row.expected else f"{row.condition} *" for row in rows]
        axes.set_yticks(range(len(rows)), names)
        headings = [
            probe.name if probe.lacks is None else f"{probe.name}:\n{probe.lacks}" for probe in probes
        ]
        axes.set_xticks(range(len(probes)), headings)
        axes.xaxis.tick_top()
        axes.tick_params(length=0, colors=INK)
        axes.set_xlim(-0.55, len(probes) - 0.45)
        axes.set_ylim(len(rows) - 0.45, -0.55)
        for spine in axes.spines.values():
            spine.set_visible(False)
        note = f"{experiment}: success in %, 95 % intervals in brackets. Framed: solved without the input."
        if not all(row.expected for row in rows):
            note += " *: success is not expected."
        figure.text(0.01, 0.0, note, ha="left", va="bottom", fontsize=7, color=FAINT)
        axes.set_xlabel(" ")
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=150, facecolor="white")
