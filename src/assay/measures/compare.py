"""Paired comparison of runs on the same episodes: success and robustness, for each pair of runs.

Success is compared episode by episode. Robustness is compared on two scales, on the perturbed episodes for which both
runs have the control: by the *drop*, perturbed success minus control success, and by *retention*, perturbed success
divided by control success. Both use the success rates over all starts. Success given that the control of the same
start succeeded would not do: a policy with random failures has less of it than a better one, even if nothing is lost.

A policy without a loss has a drop of 0 and a retention of 1, regardless of its success. If there is a loss, the scales
may disagree: of two policies that both lose a tenth of their success, the better one loses more points. Therefore a
policy is called more robust only if both scales show it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import combinations, product
from operator import attrgetter
from typing import Annotated, Any, TypeVar

import numpy as np
import polars as pl

from assay.episodes.spec import CONTROL
from assay.measures import LOSS_WORTH_FINDING
from assay.measures.clustering import UNIT, Ratio, correlation_of, difference, ratio, variances
from assay.measures.frames import PAIR, START, control_means, sums, valid_rows
from assay.measures.ranking import FEWEST_RUNS, Ranked, rank, ranking_table
from assay.measures.result import FOR_DRAWING, MeasureError, Result
from assay.measures.views.forest import MOST, Mark, forest_drawing
from assay.measures.views.style import ORANGE, Drawing
from assay.measures.views.table import Column, Kind, Table
from assay.measures.views.wording import between, number, p_phrase, p_value, percent, plural, points
from assay.support.stats.intervals import Interval, Z, mean_over_tasks, widen_to_p
from assay.support.stats.power import POWER
from assay.support.stats.significance import SURE, holm, least_p, normal_below, normal_quantile, sign_flip

MARGIN = 0.05
"""Largest difference in success rate, 0 to 1, that counts as irrelevant."""


class Decision(StrEnum):
    """Decision about the second run, compared with the first."""

    BETTER = "better"
    """The difference is significant (Holm) and positive."""
    WORSE = "worse"
    """The difference is significant and negative."""
    EQUIVALENT = "equivalent"
    """The difference is not significant, and its interval is within the margin."""
    UNDECIDED = "undecided"


class Aspect(StrEnum):
    """Aspect of robustness."""

    DROP = "drop"
    """Perturbed success minus success of the control with the same task and seed."""
    RETENTION = "retention"
    """Perturbed success divided by the success of the controls; above 1 if perturbed episodes succeed more often."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairContrast(Result):
    """Difference between two runs on the same episodes."""

    first: Annotated[str, Column("first")]
    second: Annotated[str, Column("second")]
    condition: Annotated[str | None, Column("condition")]
    """Name of the condition; None for all conditions in which success is expected or, if there are none, for all."""
    starts: int
    """Number of shared starts (task and initial state)."""
    telling: int
    """Number of informative starts: those in which at least one run succeeded at least once."""
    tasks: int
    change: Annotated[float, Column("second less first", "change")]
    """Value of the second run minus value of the first; positive if the second run is better."""
    interval: Annotated[Interval, Column("95 % interval", "change")]
    """Interval of ``change`` over starts and wordings: Newcombe for success, Student for drops, Fieller with Wilson's
    limits for retention.

    Extended to include 0 if the test is not significant.
    """
    p: Annotated[float, Column("p", "p")]
    """p value of the hypothesis of no difference, unadjusted: the larger of two p values.

    One is from an exact test over starts (McNemar's test if each start has one episode), the other from a t test over
    starts and wordings.
    """
    p_holm: Annotated[float, Column("Holm p", "p")] = 1.0
    """``p`` with Holm's correction for all pairs of runs, aspects of robustness and conditions in the same table."""
    least_p: float = 1.0
    """Smallest adjusted p value attainable with the informative starts."""
    over_tasks: Interval | None
    """Student interval of ``change``, treating the tasks as a sample; None for fewer than three tasks."""
    p_over_tasks: float | None
    """Unadjusted p value of an exact test over tasks."""
    decision: Decision = Decision.UNDECIDED
    margin: float
    """Margin of equivalence, 0 to 1."""
    starts_needed: int = 0
    """Number of starts needed to detect a difference worth finding (20 points) with 80 % power."""
    variance: float = field(metadata=FOR_DRAWING)
    """Variance over starts of the difference between the runs."""

    @property
    def additional_seeds(self) -> int | None:
        """Number of additional seeds per task needed to find such a difference; None if there are enough."""
        if not self.tasks or self.starts_needed <= self.starts:
            return None
        return math.ceil((self.starts_needed - self.starts) / self.tasks)

    @property
    def verdict(self) -> str:
        """Decision as a table entry."""
        if self.decision is not Decision.UNDECIDED or self.least_p < SURE:
            return str(self.decision)
        return "too few starts" + (f": {seeds} more seeds" if (seeds := self.additional_seeds) else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContrast(PairContrast):
    """Success rates of two runs on the same episodes."""

    count: Annotated[int, Column("n", "count")]
    """Number of shared episodes."""
    both: int
    """Number of shared episodes in which both runs succeed."""
    only_first: Annotated[int, Column("only first", "count")]
    only_second: Annotated[int, Column("only second", "count")]
    neither: int
    first_rate: Annotated[float, Column("first's success", "share")]
    second_rate: Annotated[float, Column("second's success", "share")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Robustness(PairContrast):
    """Cost of a change for each of two runs, on the same episodes and controls."""

    aspect: Aspect
    pairs: Annotated[int, Column("pairs", "count")]
    """Number of shared perturbed episodes with a control."""
    first_control: float
    """Success rate of the first run's controls; a control counts once for each of its pairs."""
    second_control: float
    first_value: float
    """Drop of the first run (negative for a loss), or its retention."""
    second_value: float
    first_interval: Interval | None
    """Interval of the first run's retention over starts; None for drops."""
    second_interval: Interval | None


@dataclass(frozen=True, slots=True)
class Comparison(Result):
    """Comparison of two or more runs."""

    runs: dict[str, int]
    """Number of episodes of each run, without errors."""
    errors: dict[str, int]
    """Number of episodes of each run that ended in an error."""
    shared: int
    """Number of episodes that all runs completed; the others are left out."""
    overall: tuple[RunContrast, ...]
    conditions: tuple[RunContrast, ...]
    """Conditions in which success is expected."""
    implausible: tuple[RunContrast, ...]
    """Conditions in which success is not expected; they are excluded from all pooled results."""
    robustness: tuple[Robustness, ...]
    """Robustness over all changes after which success is expected; empty if the runs have no control in common."""
    robustness_by_condition: tuple[Robustness, ...]
    ranking: tuple[Ranked, ...] = ()
    """Ranking by success in all conditions together; empty for two runs."""

    @property
    def unmatched(self) -> dict[str, int]:
        """Number of error-free episodes of each run that another run did not complete."""
        return {name: count - self.shared for name, count in self.runs.items()}

    @property
    def note(self) -> str:
        """Description of the statistical methods."""
        return (
            f"{plural(self.shared, 'shared episode')}; 95 % Newcombe intervals over starts and wordings; p: the larger "
            "p value of an exact test over starts (McNemar's, if each start has one episode) and a t test over starts "
            "and wordings; Holm p: with Holm's correction."
        )

    def verdicts(self, first: str | None = None, second: str | None = None) -> list[str]:
        """Return sentences on success, drop, retention and robustness, for all pairs of runs or for one pair."""
        sentences = []
        for overall in self.overall:
            pair = (overall.first, overall.second)
            if (first, second) not in ((None, None), pair):
                continue
            scales = [result for result in self.robustness if (result.first, result.second) == pair]
            sentences += [_describe_contrast(overall), *map(_describe_contrast, scales)]
            if robust := _describe_robustness(scales):
                sentences.append(robust)
        return sentences

    def as_json(self) -> dict[str, Any]:
        """Return the comparison as plain JSON types, with the verdicts as sentences."""
        return {**Result.as_json(self), "unmatched": self.unmatched, "verdicts": self.verdicts()}


C = TypeVar("C", RunContrast, Robustness)
Groups = Sequence[tuple[str | None, pl.DataFrame]]
"""Name of each condition (None for all conditions together) and its rows."""


def compare(frames: Mapping[str, pl.DataFrame], *, margin: float = MARGIN) -> Comparison:
    """Compare runs by name, on the episodes that all of them completed without an error.

    Differences within ``margin`` (0 to 1) count as irrelevant. Raises MeasureError if there are fewer than two runs, or
    if they share no episode.
    """
    if len(frames) < 2:
        raise MeasureError(f"compare: expected at least two runs, got {len(frames)}")
    if not 0 < margin < 1:
        raise MeasureError(f"compare: margin {margin:g}: expected a number between 0 and 1")
    tables = {}
    for name, frame in frames.items():
        try:
            tables[name] = valid_rows(frame)
        except MeasureError as error:
            raise MeasureError(f"compare: {name}: {error}") from None
    first = next(iter(tables.values()))
    sensible = pl.col("plausible").fill_null(True) if "plausible" in first.columns else pl.lit(True)
    shared = first.select("key", "condition", *PAIR, "start", "instruction", plausible=sensible)
    for run, table in enumerate(tables.values()):
        success = table.select("key", pl.col("success").alias(f"_{run}"))
        shared = shared.join(success, on="key", maintain_order="left")
    counts = {name: len(table) for name, table in tables.items()}
    if not len(shared):
        sizes = ", ".join(f"{name} has {count}" for name, count in counts.items())
        raise MeasureError(
            f"compare: the runs share no episode ({sizes}): they differ in tasks, seeds, experiments, assets, or "
            "settings such as --steps"
        )
    pairs = list(combinations(enumerate(tables), 2))
    fair, nonsense = shared.filter("plausible"), shared.filter(~pl.col("plausible"))
    control = {f"_control_{run}": pl.col(f"_{run}") for run in range(len(tables))}
    own_controls = control_means(fair, **control)
    perturbed = fair.filter(pl.col("condition") != CONTROL).join(own_controls, on=PAIR, maintain_order="left")

    def by_condition(rows: pl.DataFrame) -> Groups:
        return [(str(name), group) for (name,), group in rows.group_by("condition", maintain_order=True)]

    def contrasts(groups: Groups) -> tuple[RunContrast, ...]:
        return _decide([_contrast(rows, *pair, name, margin) for pair in pairs for name, rows in groups])

    def robustness(groups: Groups) -> tuple[Robustness, ...]:
        cases = product(pairs, Aspect, [(name, rows) for name, rows in groups if len(rows)])
        results = (_robustness(rows, *pair, name, aspect, margin) for pair, aspect, (name, rows) in cases)
        return _decide([result for result in results if result is not None])

    everything = fair if len(fair) else shared
    overall = contrasts([(None, everything)])
    unequal = (contrast for contrast in overall if contrast.decision in (Decision.BETTER, Decision.WORSE))
    different = [(contrast.first, contrast.second) for contrast in unequal]
    return Comparison(
        runs=counts,
        errors={name: int((frame["outcome"] == "error").sum()) for name, frame in frames.items()},
        shared=len(shared),
        overall=overall,
        conditions=contrasts(by_condition(fair)),
        implausible=contrasts(by_condition(nonsense)),
        robustness=robustness([(None, perturbed)]),
        robustness_by_condition=robustness(by_condition(perturbed)),
        ranking=rank(everything, list(tables), different) if len(tables) >= FEWEST_RUNS else (),
    )


def _contrast(
    rows: pl.DataFrame, first: tuple[int, str], second: tuple[int, str], condition: str | None, margin: float
) -> RunContrast:
    one, other = f"_{first[0]}", f"_{second[0]}"
    estimate, error = difference(rows, one, other)
    both = int((rows[one] * rows[other]).sum())
    only_first, only_second = int(rows[one].sum()) - both, int(rows[other].sum()) - both
    apart = pl.col(other) - pl.col(one)
    return RunContrast(
        first=first[1],
        second=second[1],
        condition=condition,
        margin=margin,
        count=len(rows),
        both=both,
        only_first=only_first,
        only_second=only_second,
        neither=len(rows) - both - only_first - only_second,
        first_rate=estimate.first,
        second_rate=estimate.second,
        **_test(rows, apart, estimate.difference, estimate.interval, error, (one, other)),
    )


def _robustness(
    rows: pl.DataFrame,
    first: tuple[int, str],
    second: tuple[int, str],
    condition: str | None,
    aspect: Aspect,
    margin: float,
) -> Robustness | None:
    """Compare the robustness of two runs; None for retention if a run has no successful control."""
    columns = (f"_{first[0]}", f"_{second[0]}", f"_control_{first[0]}", f"_control_{second[0]}")
    one, other, control, other_control = map(pl.col, columns)
    own: list[Interval] | list[None] = [None, None]
    if aspect is Aspect.DROP:
        first_drops, second_drops = one - control, other - other_control
        apart = second_drops - first_drops
        values = [float(rows.select(drops.mean()).item()) for drops in (first_drops, second_drops)]
        # Student's interval of a mean over starts and wordings; one start in favour of each run is added, so that the
        # variance is positive.
        middle, starts = float(rows.select(apart.mean()).item()), rows.select(START).n_unique()
        (spread,) = variances(rows, (apart - middle) / len(rows), given=("task", "condition"))
        error = (spread + 2 / (starts + 2) ** 2) ** 0.5
        interval = Interval(max(-1.0, middle - Z * error), min(1.0, middle + Z * error), "student")
    else:
        retained, other_retained = ratio(rows, columns[2], columns[0]), ratio(rows, columns[3], columns[1])
        if retained is None or other_retained is None:
            return None
        values, own = [retained.value, other_retained.value], [retained.interval, other_retained.interval]
        interval, error = _subtract(rows, retained, other_retained)
        # The sum over all rows is the difference between the runs. The retention of both runs together is subtracted
        # from each, as under the hypothesis of equal retention.
        usual, other_usual = rows[columns[2]].mean(), rows[columns[3]].mean()
        both = rows.select((one + other).sum() / (control + other_control).sum()).item()
        apart = (other - both * other_control) / other_usual - (one - both * control) / usual
    return Robustness(
        first=first[1],
        second=second[1],
        condition=condition,
        margin=margin,
        aspect=aspect,
        pairs=len(rows),
        first_control=float(rows[columns[2]].mean()),  # type: ignore[arg-type]
        second_control=float(rows[columns[3]].mean()),  # type: ignore[arg-type]
        first_value=values[0],
        second_value=values[1],
        first_interval=own[0],
        second_interval=own[1],
        **_test(rows, apart, values[1] - values[0], interval, error, columns),
    )


def _subtract(rows: pl.DataFrame, first: Ratio, second: Ratio) -> tuple[Interval, float]:
    """Return the interval of ``second - first`` from the limits of both (Newcombe's method), and its standard error."""
    spread = variances(
        rows,
        *(off.alias(str(at)) for at, off in enumerate((first.off, second.off, second.off - first.off))),
        given=("task", "condition"),
    )
    together, change = correlation_of(*spread), second.value - first.value
    gaps = (
        (first.interval.high - first.value, second.value - second.interval.low),
        (first.value - first.interval.low, second.interval.high - second.value),
    )
    down, up = (math.sqrt(one**2 + other**2 - 2 * together * one * other) for one, other in gaps)
    return Interval(change - down, change + up, "fieller-wilson"), spread[2] ** 0.5


def _test(
    rows: pl.DataFrame,
    apart: pl.Expr,
    change: float,
    interval: Interval,
    error: float,
    columns: Sequence[str],
) -> dict[str, Any]:
    """Return the fields that all contrasts share, from the difference between the runs in each row (``apart``).

    A start is informative if one of ``columns`` has a success in it.
    """
    totals, won, counts = sums(rows, START, apart=apart, won=pl.max_horizontal(*columns), count=UNIT).T
    approximate = float(2 * normal_below(-abs(change) / error)) if error > 0 else float(change == 0)
    p = max(sign_flip(totals), approximate)
    by_task, weights = sums(rows, ("task",), apart=apart, count=UNIT).T
    over_tasks, p_over_tasks = mean_over_tasks(by_task, weights, interval) or (None, None)
    return {
        "starts": len(totals),
        "telling": int((won > 0).sum()),
        "tasks": len(by_task),
        "change": change,
        "interval": widen_to_p(interval, p),
        "p": p,
        "over_tasks": over_tasks,
        "p_over_tasks": p_over_tasks,
        # One start in favour of each run is added, so that the variance is positive.
        "variance": float(np.append(totals / counts, (-1.0, 1.0)).var(ddof=1)),
    }


def _decide(contrasts: list[C]) -> tuple[C, ...]:
    """Return the contrasts of one family with adjusted p values (Holm) and decisions."""
    family = len(contrasts)
    level = normal_quantile(1 - SURE / 2 / max(family, 1)) + normal_quantile(POWER)
    decided = []
    for contrast, adjusted in zip(contrasts, holm([contrast.p for contrast in contrasts]), strict=True):
        interval, decision = contrast.interval, Decision.UNDECIDED
        if adjusted < SURE and not interval.low <= 0 <= interval.high:
            decision = Decision.BETTER if contrast.change > 0 else Decision.WORSE
        elif -contrast.margin <= interval.low and interval.high <= contrast.margin:
            decision = Decision.EQUIVALENT
        needed = math.ceil(contrast.variance / LOSS_WORTH_FINDING**2 * level**2)
        reachable = least_p(contrast.telling, family)
        decided.append(
            replace(contrast, p_holm=adjusted, decision=decision, least_p=reachable, starts_needed=needed)
        )
    return tuple(decided)


_CLAIMS: Mapping[Aspect | None, Mapping[Decision, str]] = {
    None: {
        Decision.BETTER: "{second} succeeds more often than {first}",
        Decision.WORSE: "{second} succeeds less often than {first}",
        Decision.EQUIVALENT: "{first} and {second} succeed equally often, to within {margin} points",
        Decision.UNDECIDED: "It is undecided whether {first} or {second} succeeds more often",
    },
    Aspect.DROP: {
        Decision.BETTER: "{second} has a smaller drop than {first}",
        Decision.WORSE: "{second} has a larger drop than {first}",
        Decision.EQUIVALENT: "{first} and {second} have equal drops, to within {margin} points",
        Decision.UNDECIDED: "It is undecided whether {first} or {second} has the larger drop",
    },
    Aspect.RETENTION: {
        Decision.BETTER: "{second} retains a larger fraction of its success than {first}",
        Decision.WORSE: "{second} retains a smaller fraction of its success than {first}",
        Decision.EQUIVALENT: "{first} and {second} retain equal fractions of their success, to within {margin} points",
        Decision.UNDECIDED: "It is undecided whether {first} or {second} retains more of its success",
    },
}
"""Claims, by aspect of robustness (None for success) and decision."""


def _describe_contrast(contrast: RunContrast | Robustness) -> str:
    """Describe a decision with its numbers and, if undecided, the number of seeds that would decide it."""
    first, second, aspect = contrast.first, contrast.second, None
    if isinstance(contrast, RunContrast):
        values = f"{second} {percent(contrast.second_rate)}, {first} {percent(contrast.first_rate)}"
    elif (aspect := contrast.aspect) is Aspect.RETENTION:
        values = f"{second} retains {percent(contrast.second_value)}, {first} {percent(contrast.first_value)}"
    else:
        values = (
            f"success changes by {points(contrast.second_value)} points for {second} and by "
            f"{points(contrast.first_value)} for {first}"
        )
    margin = number(100 * contrast.margin, 0)
    claim = _CLAIMS[aspect][contrast.decision].format(first=first, second=second, margin=margin)
    text = (
        f"{claim}: {values}; difference {points(contrast.change)} points (95 % interval "
        f"{between(contrast.interval, 100)}, {p_phrase(contrast.p_holm)})"
    )
    if contrast.decision is Decision.UNDECIDED:
        if contrast.least_p >= SURE:
            are = "is" if contrast.starts == 1 else "are"
            text += f"; {plural(contrast.starts, 'start')} {are} too few for any difference to be significant"
        if seeds := contrast.additional_seeds:
            worth = number(100 * LOSS_WORTH_FINDING, 0)
            text += f"; with {plural(seeds, 'more seed')} per task, one of {worth} points would be found (80 % power)"
    return f"{text}."


def judge_robustness(scales: Sequence[Robustness]) -> Decision:
    """Return the decision about robustness, from the results on both scales: undecided unless both agree."""
    decisions = {result.decision for result in scales}
    return decisions.pop() if len(scales) == len(Aspect) and len(decisions) == 1 else Decision.UNDECIDED


def _describe_robustness(scales: Sequence[Robustness]) -> str:
    """Describe robustness; empty if neither scale shows a difference, or if no control is shared."""
    if len(scales) == 1:
        return (
            "Retention and robustness cannot be compared, because one of the runs has no successful control."
        )
    different = [result for result in scales if result.decision in (Decision.BETTER, Decision.WORSE)]
    if not different:
        return ""
    first, second = scales[0].first, scales[0].second
    if (decision := judge_robustness(scales)) is not Decision.UNDECIDED:
        degree = "more" if decision is Decision.BETTER else "less"
        return f"{second} is {degree} robust than {first}, in points and as a fraction of its success."
    if len(different) > 1:
        return f"Which of {first} and {second} is more robust depends on the scale: points and fractions disagree."
    scale = "points" if different[0].aspect is Aspect.DROP else "the fraction of its success"
    return f"Neither is called more robust, because only the difference in {scale} is significant."


def comparison_tables(comparison: Comparison, suffix: str = "") -> Iterator[Table]:
    """Make the tables of a comparison; ``suffix`` is appended to their file names."""
    note, title = comparison.note, "Paired comparison"
    if comparison.ranking:
        yield ranking_table(comparison.ranking, suffix)
    text = " ".join((*comparison.verdicts(), f"{note} Controls are included."))
    yield _contrast_table(f"comparison{suffix}", title, comparison.overall, text)
    for contrasts, place in (
        (comparison.robustness, suffix),
        (comparison.robustness_by_condition, f"-conditions{suffix}"),
    ):
        for aspect in dict.fromkeys(contrast.aspect for contrast in contrasts):
            rows = [contrast for contrast in contrasts if contrast.aspect is aspect]
            yield _robustness_table(f"comparison-{aspect}{place}", aspect, rows)
    by_condition = f"{title} by condition"
    yield _contrast_table(f"comparison-conditions{suffix}", by_condition, comparison.conditions, note)
    if comparison.implausible:
        name, title = f"comparison-implausible{suffix}", f"{title} in which success is not expected"
        note = f"Conditions in which success is not expected; they are excluded from all other tables. {note}"
        yield _contrast_table(name, title, comparison.implausible, note)
    yield Table(
        f"comparison-matching{suffix}",
        "Matched episodes",
        (Column("run"), *(Column(name, "count") for name in ("shared", "not matched", "errors"))),
        tuple(
            (name, comparison.shared, unmatched, comparison.errors[name])
            for name, unmatched in comparison.unmatched.items()
        ),
        "Not matched: episodes that another run did not complete.",
    )


def _robustness_table(name: str, aspect: Aspect, contrasts: Sequence[Robustness]) -> Table:
    """Make a table of each pair's drops or retentions, and of the difference between the two runs."""
    is_drop = aspect is Aspect.DROP
    kind: Kind = "change" if is_drop else "share"
    own = []
    for run in ("first", "second"):
        own.append(Column(f"{run}'s {aspect}", kind, value=attrgetter(f"{run}_value")))
        own += [] if is_drop else [Column("95 % interval", kind, value=attrgetter(f"{run}_interval"))]
    title, relation = f"{aspect.capitalize()} of each run", "minus" if is_drop else "divided by"
    by_condition = contrasts[0].condition is not None
    return Table.of(
        name,
        f"{title}, by condition" if by_condition else title,
        contrasts,
        *(["condition"] if by_condition else []),
        *("first", "second", "pairs"),
        *own,
        *("change", "interval", "p_holm"),
        Column(f"second's {aspect} is", value=lambda contrast: contrast.verdict),
        note=f"{aspect.capitalize()}: success rate under perturbation {relation} that of the run's controls, over all "
        "starts. Positive difference: the second run loses less. Intervals over starts and wordings; Holm p: from an "
        "exact test over starts, with Holm's correction.",
    )


def _contrast_table(name: str, title: str, contrasts: Sequence[RunContrast], note: str) -> Table:
    columns = ["first", "second", "count", "first_rate", "second_rate", "change", "interval"]
    columns += ["only_first", "only_second", "p", "p_holm"]
    if any(contrast.condition is not None for contrast in contrasts):
        columns.insert(0, "condition")
    return Table.of(name, title, contrasts, *columns, note=note)


def robustness_figure(comparison: Comparison, suffix: str = "") -> Drawing:
    """Draw the differences between the drops of each pair of runs, overall and by condition.

    Raises MeasureError if no perturbed episode has a control that all runs share.
    """
    overall = [result for result in comparison.robustness if result.aspect is Aspect.DROP]
    parts = [result for result in comparison.robustness_by_condition if result.aspect is Aspect.DROP]
    if not overall:
        raise MeasureError("no perturbed episode has a control that all runs share")

    def mark(result: Robustness) -> Mark:
        look = {"color": ORANGE, "marker": "s"} if result.condition is None else {}
        label, p = result.condition or "all changes", result.p_holm
        return Mark.of_change(label, result, p_value(p), filled=p < SURE, **look)

    groups = {
        f"{pair.second} minus {pair.first}": [
            mark(pair),
            *(mark(part) for part in parts if (part.first, part.second) == (pair.first, pair.second)),
        ][:MOST]
        for pair in overall
    }
    caption = (
        "Drop of one run relative to its controls, minus that of the other run; "
        f"{plural(max(result.pairs for result in overall), 'pair')} of episodes. Lines: 95 % intervals over starts and "
        f"wordings. Holm p: exact test over starts with Holm's correction; filled marks: p < {SURE:g}."
    )
    along = "difference between the drops, points (right: the second run loses less)"
    name, title = f"robustness{suffix}", "Comparison of robustness"
    return forest_drawing(name, title, caption, groups, along=along, heads=("Holm p",), unit="points")
