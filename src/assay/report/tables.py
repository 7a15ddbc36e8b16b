"""The tables of one run, from its profile."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from assay.measures.curves import Curve
from assay.measures.drops import Drop
from assay.measures.grounding import Confusion
from assay.measures.profile import Profile
from assay.measures.rates import Rate
from assay.measures.result import Missing
from assay.report.table import Column, Table, Value
from assay.report.wording import group_name, methods, natural, told, turned

_RATE = (
    Column("successes", "count"),
    Column("n", "count"),
    Column("errors", "count"),
    Column("success", "share"),
    Column("95 % interval", "share"),
)
REFERENCE = (
    "Limits are multiples of a reference time: the demonstrator's in the same episode, where that is known; "
    "else the median of the run's successful controls of the task."
)


def tables(profile: Profile) -> dict[str, Table]:
    """Every table that a run can give, by name."""
    return {table.name: table for table in _tables(profile)}


def _tables(profile: Profile) -> Iterator[Table]:
    if profile.conditions:
        yield _conditions(profile)
    if profile.tasks:
        yield Table(
            "tasks",
            "Success by task",
            (Column("task"), Column("words"), Column("perturbed"), *_RATE),
            tuple(
                (name := str(each.group["task"]), told(name), bool(each.group["perturbed"]), *_rate(each))
                for each in sorted(profile.tasks, key=lambda each: natural(str(each.group["task"])))
            ),
            _made(profile.tasks),
        )
    if any(profile.labels.values()):
        yield Table(
            "labels",
            "Success by label",
            (Column("family"), Column("label"), *_RATE),
            tuple(
                (family, group_name(each.group), *_rate(each))
                for family, found in profile.labels.items()
                for each in found
            ),
            _made(each for found in profile.labels.values() for each in found),
        )
    if not isinstance(profile.changes, Missing):
        yield _drops("changes", "What changes cost, by kind", profile.changes)
    if not isinstance(profile.axes, Missing):
        yield _drops("axes", "What changes cost, by axis", profile.axes)
    if not isinstance(profile.drops, Missing):
        yield _drops("drops", "What each condition costs", profile.drops)
    yield from _paraphrases(profile)
    for name, title, found in (
        ("levels", "Success by level", profile.levels),
        ("displacement", "Success by displacement, metres", profile.displacement),
    ):
        if not isinstance(found, Missing):
            yield _curve(name, title, found)
    yield from _paths(profile)
    for contacts in (profile.touched, profile.moved):
        if not isinstance(contacts, Missing):
            yield _grounding(contacts)
    yield from _attribution(profile)
    yield from _time(profile)


def _rate(each: Rate) -> tuple[Value, ...]:
    return each.successes, each.count, each.errors, each.rate, each.interval


def _made(found: Iterable[Rate]) -> str:
    return f"95 % intervals: {methods(each.interval for each in found)}; errors count for nothing."


def _conditions(profile: Profile) -> Table:
    """Success, time and flawlessness of each condition."""
    times = (
        {}
        if isinstance(profile.time_to_success, Missing)
        else {group_name(each.group): each.median for each in profile.time_to_success}
    )
    clean = (
        {}
        if isinstance(profile.no_mistakes, Missing)
        else {group_name(each.group): each.rate for each in profile.no_mistakes}
    )
    return Table(
        "conditions",
        "Success by condition",
        (
            Column("condition"),
            *_RATE,
            Column("without a mistake", "share"),
            Column("steps to success", "count"),
        ),
        tuple(
            (name := group_name(each.group), *_rate(each), clean.get(name), times.get(name))
            for each in profile.conditions
        ),
        f"{_made(profile.conditions)} Without a mistake: it succeeds, a named thing moved first, and nothing "
        "that had come true came undone. Steps to success: the median.",
    )


def _drops(name: str, title: str, found: Sequence[Drop]) -> Table:
    return Table(
        name,
        title,
        (
            Column("change"),
            Column("family"),
            Column("plausible"),
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
                group_name(each.group),
                each.family,
                each.plausible,
                each.pairs,
                each.unpaired,
                each.control,
                each.perturbed,
                each.change,
                each.interval,
                each.p,
                each.p_holm,
            )
            for each in found
        ),
        "Paired with the control of the same task and seed; 95 % Newcombe intervals over starts; exact p.",
    )


def _paraphrases(profile: Profile) -> Iterator[Table]:
    if not isinstance(profile.grid, Missing):
        yield Table(
            "paraphrase-grid",
            "The paraphrase grid",
            (Column("names"), Column("action"), *_RATE, Column("PD", "number")),
            tuple((each.object, each.action, *_rate(each.rate), each.pd) for each in profile.grid.cells),
            f"{_made(each.rate for each in profile.grid.cells)} PD: mean distance from the original's words.",
        )
    names = profile.names
    if not isinstance(names, Missing):
        yield Table(
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
                    each.noun or "any",
                    each.kept,
                    each.kept_count,
                    each.changed,
                    each.changed_count,
                    each.change,
                    each.interval,
                    each.strata,
                    each.p,
                )
                for each in (names.overall, *names.nouns)
            ),
            "95 % Newcombe intervals over strata; exact p, not adjusted.",
        )
    if not isinstance(profile.sweep, Missing):
        yield Table(
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
                (each.alpha, each.pride, each.interval, each.episodes, each.wordings, each.unscored)
                for each in profile.sweep.points
            ),
            "95 % Wilson intervals over wordings.",
        )


def _curve(name: str, title: str, found: Curve) -> Table:
    return Table(
        name,
        title,
        (
            Column(found.along, "number"),
            *_RATE,
            Column("against the point before", "change"),
            Column("its 95 % interval", "change"),
            Column("starts", "count"),
            Column("p", "p"),
        ),
        tuple(
            (each.at, *_rate(each.rate), each.change, each.interval, each.starts, each.p)
            for each in found.steps
        ),
        f"{_made(each.rate for each in found.steps)} Differences are paired over starts: Newcombe, exact p.",
    )


def _paths(profile: Profile) -> Iterator[Table]:
    failures, memory = profile.failures, profile.memorisation
    if not isinstance(failures, Missing) and failures.failures:
        yield Table(
            "failures",
            "Near and far failures",
            (
                Column("task"),
                Column("goal"),
                Column("successes", "count"),
                Column("failures", "count"),
                Column("threshold", "metres"),
                *(Column(f"far ({name})", "count") for name in failures.near),
            ),
            tuple(
                (
                    each.task,
                    each.goal,
                    each.successes,
                    each.failures,
                    each.thresholds["max"],
                    *(each.failures - count for count in each.near.values()),
                )
                for each in sorted(failures.tasks, key=lambda each: natural(each.task))
            ),
            "Far: farther from the mean successful path than all, 99, 95 and 90 % of the successes.",
        )
    if not isinstance(memory, Missing):
        yield Table(
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
                (by, each.group or "all", each.alike, each.count, each.starts, each.index, each.interval)
                for by, found in (
                    ("all", (memory.overall,)),
                    ("axis", memory.axes),
                    ("condition", memory.conditions),
                )
                for each in found
            ),
            "95 % Wilson intervals over starts.",
        )


def _grounding(found: Sequence[Confusion]) -> Table:
    contact = found[0].contact
    return Table(
        f"grounding-{contact}",
        f"A named thing was {contact} first",
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


def _attribution(profile: Profile) -> Iterator[Table]:
    found = profile.attribution
    if isinstance(found, Missing):
        return
    yield Table(
        "effects",
        "Effects on the log-odds of success",
        (Column("factors"), Column("effect", "number"), Column("95 % interval", "number"), Column("p", "p")),
        tuple((" x ".join(each.factors), each.log_odds, each.interval, each.p) for each in found.effects),
        f"95 % intervals: {methods(each.interval for each in found.effects)}.",
    )
    yield Table(
        "shares",
        "Shapley shares of the drop",
        (
            Column("factor"),
            Column("difference", "change"),
            Column("95 % interval", "change"),
            Column("share", "share"),
        ),
        tuple((each.factor, -each.loss, turned(each.interval), each.share) for each in found.shares),
        f"95 % intervals: {methods(each.interval for each in found.shares)}.",
    )


def _time(profile: Profile) -> Iterator[Table]:
    if not isinstance(profile.time_limits, Missing):
        yield Table(
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
                    "none" if each.factor is None else f"{each.factor:g}",
                    each.successes,
                    each.count,
                    each.rate,
                    each.interval,
                )
                for each in profile.time_limits.limits
            ),
            f"{REFERENCE} 95 % Wilson intervals. Controls count too.",
        )
