"""The tables of LIBERO-Para."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay.measures.paraphrase import paraphrases
from assay.measures.pride import OVERESTIMATION
from assay.measures.rates import CONTROLS, Rate, success_rate
from assay.measures.result import Missing
from assay.report.papers.base import PaperRun, Part, of_each
from assay.report.table import Column, Table, Value
from assay.report.wording import methods


def success_table(runs: Sequence[PaperRun]) -> Iterator[Part]:
    """Table 2: success in the controls and with paraphrases, and the drop between them."""
    worded, missing = of_each(runs, lambda run: success_rate(paraphrases(run.data.frame)))
    usual: dict[str, Rate | Missing] = {run.name: run.data.attempt(CONTROLS) for run in runs}
    rows: list[tuple[Value, ...]] = []
    for name, rate in worded.items():
        control = usual[name]
        before = None if isinstance(control, Missing) else control
        known = (None, None, 0) if before is None else (before.rate, before.interval, before.count)
        drop = None if known[0] is None or rate.rate is None else rate.rate - known[0]
        rows.append((name, *known, rate.rate, rate.interval, rate.count, drop))
    yield Table(
        "success",
        "Success with the original instructions and with paraphrases",
        (
            Column("model"),
            Column("LIBERO-Goal", "share"),
            Column("LIBERO-Goal, interval", "share"),
            Column("LIBERO-Goal, episodes", "count"),
            Column("LIBERO-Para", "share"),
            Column("LIBERO-Para, interval", "share"),
            Column("LIBERO-Para, episodes", "count"),
            Column("drop", "change"),
        ),
        tuple(rows),
        "LIBERO-Goal: the controls, told the original instruction. LIBERO-Para: all paraphrases. Episodes that ended "
        f"in an error are left out. 95 % intervals: {methods(rate.interval for rate in worded.values())}.",
    )
    yield from missing
    for name in worded:
        control = usual[name]
        if isinstance(control, Missing):
            yield Missing(f"{name}: no success with the original instructions: {control.missing}")


def pride_table(runs: Sequence[PaperRun]) -> Iterator[Part]:
    """Table 3: success, PRIDE and overestimation; the most overestimated first."""
    found, missing = of_each(runs, lambda run: run.data.result(OVERESTIMATION))
    yield Table(
        "pride",
        "Success against PRIDE, the most overestimated first",
        (
            Column("model"),
            Column("success", "share"),
            Column("PRIDE", "share"),
            Column("overestimation", "share"),
            Column("95 % interval", "share"),
            Column("episodes", "count"),
        ),
        tuple(
            (name, each.success_rate, each.pride / 100, each.overestimation, each.interval, each.episodes)
            for name, each in sorted(found.items(), key=lambda item: -item[1].overestimation)
        ),
        "PRIDE at alpha 0.5: success weighted by the distance PD of each paraphrase. Overestimation: "
        "(success - PRIDE) / success. Made of the paraphrases with both similarities. "
        f"95 % intervals: {methods(each.interval for each in found.values())}.",
    )
    yield from missing
