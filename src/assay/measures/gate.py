"""Gate for continuous integration: whether a run is worse than a baseline, as sentences and a table.

*Better* and *worse* are decided as in `assay compare` (Holm over conditions). *Equivalent* and *not worse* follow
from that command's intervals, widened for the number of conditions (Bonferroni). A loss within the margin does not
fail the gate.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from assay.measures.compare import MARGIN, Decision, RunContrast, compare
from assay.measures.result import MeasureError
from assay.measures.views.table import Column, Table
from assay.measures.views.wording import number, percent, plural, points
from assay.support.stats.intervals import Z
from assay.support.stats.judgement import Judgement, Line, PairVerdict, verdict_of
from assay.support.stats.sequential import Rule
from assay.support.stats.significance import SURE, normal_quantile


def gate(frames: Mapping[str, pl.DataFrame], *, margin: float = MARGIN, each: bool = False) -> Judgement:
    """Compare the second of two runs with the first, the baseline, on the episodes that both completed.

    Raises MeasureError if they share no episode.
    """
    if len(frames) != 2:
        raise MeasureError(f"gate: expected two runs, got {len(frames)}")
    comparison = compare(frames, margin=margin)
    first, second = frames
    conditions = comparison.conditions or comparison.implausible
    return Judgement(
        first=first,
        second=second,
        overall=_line(comparison.overall[0], 1),
        conditions=tuple(_line(contrast, len(conditions)) for contrast in conditions),
        margin=margin,
        alpha=SURE,
        anytime=False,
        each=each,
        played=sum(len(frame) for frame in frames.values()),
        planned=sum(len(frame) for frame in frames.values()),
        errors=sum(comparison.errors.values()),
    )


def _line(contrast: RunContrast, family: int) -> Line:
    wider = normal_quantile(1 - SURE / 2 / family) / Z
    low = max(-1.0, contrast.change - wider * (contrast.change - contrast.interval.low))
    high = min(1.0, contrast.change + wider * (contrast.interval.high - contrast.change))
    return Line(
        condition=contrast.condition,
        starts=contrast.starts,
        pairs=contrast.count,
        first_rate=contrast.first_rate,
        second_rate=contrast.second_rate,
        change=contrast.change,
        low=low,
        high=high,
        verdict=verdict_of(
            above_zero=contrast.decision is Decision.BETTER,
            below_zero=contrast.decision is Decision.WORSE,
            above_loss=low >= -contrast.margin,
            below_gain=high <= contrast.margin,
        ),
    )


_CLAIMS = {
    PairVerdict.BETTER: "{b} is better than {a}",
    PairVerdict.EQUIVALENT: "{b} and {a} are equivalent, to within {margin} points",
    PairVerdict.NOT_WORSE: "{b} is not worse than {a} by more than {margin} points; whether it is better is undecided",
    PairVerdict.WORSE: "{b} is worse than {a}",
    PairVerdict.UNDECIDED: "It is undecided whether {b} or {a} is better",
}


def verdict_sentences(judgement: Judgement) -> list[str]:
    """Return the verdict and the reasons for it as sentences."""
    texts = [_describe_overall(judgement)]
    if judgement.each:
        parts = {
            verdict: [str(line.condition) for line in judgement.conditions if line.verdict is verdict]
            for verdict in PairVerdict
        }
        verdicts = [f"{verdict} in {', '.join(names)}" for verdict, names in parts.items() if names]
        texts.append(f"By condition, B is {'; '.join(verdicts)}.")
    if judgement.measure != "success":
        texts.append(
            f"The measure compared is {judgement.measure}, from 0 to 100 %; a success counts as 100 %."
        )
    errors = f"; {plural(judgement.errors, 'error')} excluded" if judgement.errors else ""
    if judgement.anytime:
        texts += _describe_rule(judgement.overall)
        planned = f"{judgement.played:,} of {judgement.planned:,} planned episodes"
        basis = f"{planned} were run{errors}. Intervals are anytime-valid"
    else:
        shared = plural(judgement.overall.pairs, "shared episode")
        basis = f"{shared}{errors}. Tests and intervals are those of assay compare"
    level = percent(1 - judgement.alpha, 0)
    return [*texts, f"{basis}, at {level} confidence, jointly for all conditions; tasks are fixed."]


def _describe_overall(judgement: Judgement) -> str:
    """Describe the result over all conditions, with numbers."""
    line = judgement.overall
    claim = _CLAIMS[line.verdict].format(
        a=f"A ({judgement.first})", b=f"B ({judgement.second})", margin=number(100 * judgement.margin)
    )
    if line.change is None:
        return f"{claim}: no episode ended without an error in both runs."
    does = "succeeds in" if judgement.measure == "success" else "has a mean progress of"
    return (
        f"{claim}: B {does} {percent(line.second_rate)}, A {'in' if does == 'succeeds in' else 'of'} "
        f"{percent(line.first_rate)}; "
        f"difference {points(line.change)} points ({_format_interval(line)}), {plural(line.starts, 'start')}."
    )


def _describe_rule(line: Line) -> list[str]:
    """Return the rule that decided a duel, and how its difference was corrected, as sentences."""
    if line.rule is None:
        return []
    plan = plural(line.planned or 0, "planned start")
    how = {
        Rule.BOUNDARY: f"a sequential sign test with a boundary for {plan}",
        Rule.BETS: f"bets, which hold for any number of starts ({plan})",
    }[Rule(line.rule)]
    texts = [f"Decided by {how}."]
    if line.verdict is not PairVerdict.EQUIVALENT:
        texts.append("The difference is corrected for early stopping; the rates are not.")
    return texts


def judgement_table(judgement: Judgement) -> Table:
    """Make the table of the comparison, overall and by condition."""
    verdict, *notes = verdict_sentences(judgement)
    return Table.of(
        "gate",
        verdict.rstrip("."),
        (judgement.overall, *judgement.conditions),
        Column("condition", value=lambda line: line.condition or "all, including controls"),
        Column("pairs", "count", value=lambda line: line.pairs),
        Column("A %", "share", bare=True, value=lambda line: line.first_rate),
        Column("B %", "share", bare=True, value=lambda line: line.second_rate),
        Column("B - A", "change", bare=True, value=lambda line: line.change),
        Column("interval", value=_format_interval),
        Column("B is", value=lambda line: line.verdict.value),
        note=" ".join(notes),
    )


def _format_interval(line: Line) -> str:
    return f"{number(100 * line.low)} to {number(100 * line.high)}"
