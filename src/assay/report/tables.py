"""The tables of one run: each from a measure's result, and the run that it is of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from assay.measures.attribution import Attribution
from assay.measures.evidence import one_sided_p
from assay.measures.failure.grounding import Confusion
from assay.measures.memory.memorisation import Memorisation
from assay.measures.success.drops import Drop
from assay.measures.success.rates import Rate
from assay.measures.time.timing import NO_MISTAKES, TIME_TO_SUCCESS, Limits
from assay.measures.views.table import Column, Table, Value
from assay.measures.views.wording import group_name, methods, natural, told, turned
from assay.measures.words.names import NameGaps
from assay.measures.words.paraphrase import Grid
from assay.measures.words.pride import Sweep
from assay.measures.world.curves import Curve
from assay.report.run_report import RunReport

RATE = (
    Column("successes", "count"),
    Column("n", "count"),
    Column("errors", "count"),
    Column("success", "share"),
    Column("95 % interval", "share"),
)
REFERENCE = (
    "Limits are multiples of a reference time: people's, where the run was given them (times=FILE); "
    "the demonstrator's in the same episode, where that is known; "
    "else the median of the run's successful controls of the task."
)


def rate_cells(rate: Rate) -> tuple[Value, ...]:
    """The cells of `RATE`."""
    return rate.successes, rate.count, rate.errors, rate.rate, rate.interval


def made(rates: Iterable[Rate]) -> str:
    """How the intervals of rates were made."""
    return f"95 % intervals: {methods(rate.interval for rate in rates)}; errors are excluded."


def conditions_table(found: Sequence[Rate], report: RunReport) -> Table | None:
    """Success, time and flawlessness of each condition."""
    times = {group_name(each.group): each.median for each in report.profile.get(TIME_TO_SUCCESS) or ()}
    clean = {group_name(each.group): each.rate for each in report.profile.get(NO_MISTAKES) or ()}
    if not found:
        return None
    return Table(
        "conditions",
        "Success by condition",
        (
            Column("condition"),
            *RATE,
            Column("without a mistake", "share"),
            Column("steps to success", "count"),
        ),
        tuple(
            (name := group_name(rate.group), *rate_cells(rate), clean.get(name), times.get(name))
            for rate in found
        ),
        f"{made(found)} Without a mistake: with the fewest actions, where these are known; else an object that "
        "the goal names moved first, and nothing that had come true came undone. Steps to success: the median.",
    )


def tasks_table(found: Sequence[Rate], report: RunReport) -> Table | None:
    """Success of each task."""
    if not found:
        return None
    return Table(
        "tasks",
        "Success by task",
        (Column("task"), Column("instruction"), Column("perturbed"), *RATE),
        tuple(
            (name := str(rate.group["task"]), told(name), bool(rate.group["perturbed"]), *rate_cells(rate))
            for rate in sorted(found, key=lambda rate: natural(str(rate.group["task"])))
        ),
        made(found),
    )


def labels_table(found: Mapping[str, Sequence[Rate]], report: RunReport) -> Table | None:
    """Success by kind of task."""
    if not any(found.values()):
        return None
    return Table(
        "labels",
        "Success by label",
        (Column("family"), Column("label"), *RATE),
        tuple(
            (family, group_name(rate.group), *rate_cells(rate))
            for family, rates in found.items()
            for rate in rates
        ),
        made(rate for rates in found.values() for rate in rates),
    )


def changes_table(found: Sequence[Drop], report: RunReport) -> Table:
    """What each change costs."""
    return _drops("changes", "What changes cost, by kind", found)


def axes_table(found: Sequence[Drop], report: RunReport) -> Table:
    """What each axis costs."""
    return _drops("axes", "What changes cost, by axis", found)


def drops_table(found: Sequence[Drop], report: RunReport) -> Table:
    """What each condition costs."""
    return _drops("drops", "What each condition costs", found)


def _drops(name: str, title: str, found: Sequence[Drop]) -> Table:
    return Table(
        name,
        title,
        (
            Column("change"),
            Column("family"),
            Column("success expected"),
            Column("pairs", "count"),
            Column("unpaired", "count"),
            Column("control", "share"),
            Column("perturbed", "share"),
            Column("difference", "change"),
            Column("95 % interval", "change"),
            Column("p", "p"),
            Column("Holm p", "p"),
        ),
        tuple(
            (
                group_name(drop.group),
                drop.family,
                drop.plausible,
                drop.pairs,
                drop.unpaired,
                drop.control,
                drop.perturbed,
                drop.change,
                drop.interval,
                one_sided_p(drop.change, drop.p) if drop.plausible else drop.p,
                drop.p_holm,
            )
            for drop in found
        ),
        "Paired differences to the control of the same task and seed, or of the task that was asked for; 95 % Newcombe "
        "intervals over starts. Both p are of one test. Where success is expected: that it is lost, exact, one-sided, "
        "1 where it rose; Holm p is adjusted for everything that was tested. Where success is not expected, a loss is "
        "no flaw: there both are two-sided, and Holm p is adjusted within the family.",
    )


def grid_table(found: Grid, report: RunReport) -> Table:
    """The grid of paraphrases."""
    return Table(
        "paraphrase-grid",
        "The paraphrase grid",
        (Column("names"), Column("action"), *RATE, Column("PD", "number")),
        tuple((cell.object, cell.action, *rate_cells(cell.rate), cell.pd) for cell in found.cells),
        f"{made(cell.rate for cell in found.cells)} PD: mean distance from the original instruction.",
    )


def names_table(found: NameGaps, report: RunReport) -> Table:
    """What other names cost."""
    return Table(
        "names",
        "What other names cost",
        (
            Column("name"),
            Column("successes, kept", "count"),
            Column("n, kept", "count"),
            Column("successes, changed", "count"),
            Column("n, changed", "count"),
            Column("difference", "change"),
            Column("95 % interval", "change"),
            Column("strata", "count"),
            Column("p", "p"),
        ),
        tuple(
            (
                gap.noun or "any",
                gap.kept,
                gap.kept_count,
                gap.changed,
                gap.changed_count,
                gap.change,
                gap.interval,
                gap.strata,
                gap.p,
            )
            for gap in (found.overall, *found.nouns)
        ),
        "95 % Newcombe intervals over strata; exact p, two-sided, not adjusted.",
    )


def pride_table(found: Sweep, report: RunReport) -> Table:
    """PRIDE over its weight."""
    return Table(
        "pride",
        "PRIDE over its weight",
        (
            Column("alpha", "number"),
            Column("PRIDE", "number"),
            Column("95 % interval", "number"),
            Column("episodes", "count"),
            Column("wordings", "count"),
            Column("unscored", "count"),
        ),
        tuple(
            (point.alpha, point.pride, point.interval, point.episodes, point.wordings, point.unscored)
            for point in found.points
        ),
        "95 % Wilson intervals over wordings.",
    )


def levels_table(found: Curve, report: RunReport) -> Table:
    """Success by level."""
    return _curve("levels", "Success by level", found)


def displacement_table(found: Curve, report: RunReport) -> Table:
    """Success by displacement."""
    return _curve("displacement", "Success by displacement, metres", found)


def dissimilarity_table(found: Curve, report: RunReport) -> Table:
    """Success by how unlike the object is."""
    return _curve("dissimilarity", "Success by how unlike the usual object is", found)


def corruption_table(found: Curve, report: RunReport) -> Table:
    """Success by how little is left of the instruction."""
    return _curve("corruption", "Success by how little is left of the instruction", found)


def latency_table(found: Curve, report: RunReport) -> Table:
    """Success by latency."""
    return _curve("latency", "Success by latency, control steps of 50 ms", found)


def _curve(name: str, title: str, found: Curve) -> Table:
    named = any(step.condition for step in found.steps[1:])
    return Table(
        name,
        title,
        (
            Column(found.along, "number"),
            *((Column("condition"),) if named else ()),
            *RATE,
            Column("against the point before", "change"),
            Column("its 95 % interval", "change"),
            Column("starts", "count"),
            Column("p", "p"),
        ),
        tuple(
            (
                step.at,
                *((step.condition,) if named else ()),
                *rate_cells(step.rate),
                step.change,
                step.interval,
                step.starts,
                step.p,
            )
            for step in found.steps
        ),
        f"{made(step.rate for step in found.steps)} Differences are paired over starts: Newcombe, exact p, "
        "two-sided, not adjusted.",
    )


def memorisation_table(found: Memorisation, report: RunReport) -> Table:
    """The memorisation index by axis and condition."""
    return Table(
        "memorisation",
        "Memorisation index",
        (
            Column("by"),
            Column("change"),
            Column("alike", "count"),
            Column("n", "count"),
            Column("starts", "count"),
            Column("index", "number"),
            Column("95 % interval", "number"),
        ),
        tuple(
            (by, index.group or "all", index.alike, index.count, index.starts, index.index, index.interval)
            for by, indices in (
                ("all", (found.overall,)),
                ("axis", found.axes),
                ("condition", found.conditions),
            )
            for index in indices
        ),
        "Alike: trajectories that are the control's. 95 % Wilson intervals over starts." + _labelled(found),
    )


def _labelled(found: Memorisation) -> str:
    """Where displacements are not measured, that they are not."""
    if not found.by_label:
        return ""
    many = f"{found.by_label:,} of the {found.overall.count:,} episodes"
    return f" The run does not record where things stood: that they were moved is told by a label in {many}."


def grounding_table(found: Sequence[Confusion], report: RunReport) -> Table:
    """How often a named object came first."""
    contact = found[0].contact
    return Table(
        f"grounding-{contact}",
        f"An object that the goal names was {contact} first",
        (
            Column("condition"),
            Column("right", "count"),
            Column("n", "count"),
            Column("accuracy", "share"),
            Column("95 % interval", "share"),
        ),
        tuple(
            (group_name(each.group), each.right, each.count, each.accuracy, each.interval) for each in found
        ),
        "95 % Wilson intervals.",
    )


def effects_table(found: Attribution, report: RunReport) -> Table:
    """Effects of factors on the log-odds."""
    return Table(
        "effects",
        "Effects on the log-odds of success",
        (Column("factors"), Column("effect", "number"), Column("95 % interval", "number"), Column("p", "p")),
        tuple(
            (" x ".join(effect.factors), effect.log_odds, effect.interval, effect.p)
            for effect in found.effects
        ),
        f"95 % intervals: {methods(effect.interval for effect in found.effects)}.",
    )


def shares_table(found: Attribution, report: RunReport) -> Table:
    """Shapley shares of the drop."""
    return Table(
        "shares",
        "Shapley shares of the drop",
        (
            Column("factor"),
            Column("difference", "change"),
            Column("95 % interval", "change"),
            Column("share", "share"),
        ),
        tuple((share.factor, -share.loss, turned(share.interval), share.share) for share in found.shares),
        f"95 % intervals: {methods(share.interval for share in found.shares)}.",
    )


def limit_name(factor: float | None) -> str:
    """How a time limit is called: its multiple of the reference time, or none."""
    return "none" if factor is None else f"{factor:g}"


def limits_table(found: Limits, report: RunReport) -> Table:
    """Success against the time limit."""
    return Table(
        "time-limits",
        "Success against the time limit",
        (
            Column("limit"),
            Column("successes", "count"),
            Column("n", "count"),
            Column("success", "share"),
            Column("95 % interval", "share"),
        ),
        tuple(
            (
                limit_name(limit.factor),
                limit.successes,
                limit.count,
                limit.rate,
                limit.interval,
            )
            for limit in found.limits
        ),
        f"{REFERENCE} 95 % Wilson intervals. Controls count too.",
    )
