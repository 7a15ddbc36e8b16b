"""The part of a report that is about tables: the paper's tables with intervals, and how to read them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from assay.episodes.spec import CONTROL
from assay.measures.diagnosis import Finding
from assay.measures.result import Missing
from assay.measures.tabletop import Against, LevelScore, Tabletop, TaskScore
from assay.measures.tabletop.reading import QUESTIONS
from assay.report.run_report import RunReport
from assay.report.table import Column, Kind, Table, Value
from assay.report.wording import between, p_phrase, points

RANDOM = "random"
"""The policy whose success is chance, measured."""
STRATIFIED = "95 % Wilson intervals, stratified by task; errors count for nothing."
CHANCE = "Chance: the paper's convention, 1/800 for each action that is needed."
_ORDER, _DIFFICULTY = "order=", "difficulty="
_COUNTS = (Column("n", "count"), Column("errors", "count"))
_SCORE = (
    Column("success", "share"),
    Column("95 % interval", "share"),
    Column("no mistakes", "share"),
    Column("95 % interval, no mistakes", "share"),
    Column("chance", "chance"),
)
_DIFFERENCE: tuple[tuple[str, Kind], ...] = (
    ("control", "share"),
    ("changed", "share"),
    ("difference", "change"),
    ("95 % interval", "change"),
    ("Holm p", "p"),
)
S = TypeVar("S", LevelScore, TaskScore)


def random_run(reports: Sequence[RunReport]) -> Tabletop | None:
    """What acting at random comes to on tables, if one of the runs tells."""
    for report in reports:
        policy, found = str(report.meta.get("policy")).partition("?")[0], report.profile.tabletop
        if policy == RANDOM and not isinstance(found, Missing):
            return found
    return None


def table_tables(
    found: Tabletop, findings: Sequence[Finding], chance: Tabletop | None = None
) -> Iterator[Table]:
    """Every table of a run on tables; ``chance`` is that of acting at random."""
    yield _reading(findings)
    yield _levels(found.levels, chance)
    yield _tasks(found.tasks, chance)
    prompts = [each for each in found.against if not each.condition.startswith((_ORDER, _DIFFICULTY))]
    order = [each for each in found.against if each.condition.startswith(_ORDER)]
    harder = [each for each in found.against if each.condition.startswith(_DIFFICULTY)]
    for name, title, rows in (
        ("table-prompts", "What other prompts cost, level by level", prompts),
        ("table-order", "What permuted objects cost, level by level", order),
        ("table-difficulty", "What difficulty costs, level by level", harder),
    ):
        if rows:
            yield _against(name, title, rows)


def runs_table(runs: Mapping[str, Tabletop]) -> Table:
    """Scores of several runs by condition and level, as the paper has them."""
    levels = sorted({each.level for found in runs.values() for each in found.levels})
    known = {(run, each.condition, each.level): each for run, found in runs.items() for each in found.levels}
    rows: list[tuple[Value, ...]] = []
    for run, condition in dict.fromkeys((run, condition) for run, condition, _ in known):
        cells: list[Value] = [condition, run]
        for level in levels:
            each = known.get((run, condition, level))
            cells += (
                [each.allowed.score, each.allowed.interval, each.flawless.score, each.flawless.interval]
                if each
                else [None] * 4
            )
        rows.append(tuple(cells))
    conditions = list(dict.fromkeys(row[0] for row in rows))
    rows.sort(key=lambda row: conditions.index(row[0]))
    columns = [
        column
        for level in levels
        for column in (
            Column(level, "share"),
            Column(f"{level}, 95 % interval", "share"),
            Column(f"{level}, no mistakes", "share"),
            Column(f"{level}, no mistakes, 95 % interval", "share"),
        )
    ]
    return Table(
        "table-runs",
        "Success by condition and level, run by run",
        (Column("condition"), Column("run"), *columns),
        tuple(rows),
        f"Unweighted means over the tasks; {STRATIFIED}",
    )


def table_sentences(found: Tabletop) -> Iterator[str]:
    """Scores of the levels, and which of words and pictures it misses more."""
    usual = [each for each in found.levels if each.condition == CONTROL]
    if usual:
        said = ", ".join(
            f"{each.level} {100 * each.allowed.score:.1f} % ({between(each.allowed.interval, 100)}; "
            f"without mistakes {100 * each.flawless.score:.1f} %)"
            for each in usual
        )
        yield f"With nothing changed it scores {said}: unweighted means of the tasks, 95 % intervals."
    both = found.modalities
    if not isinstance(both, Missing):
        misses = "which of them it misses more cannot be told"
        if both.p < 0.05 and not both.interval.low <= 0 <= both.interval.high:
            misses = f"it misses the {'words' if both.change > 0 else 'pictures'} more"
        yield (
            f"Of {both.starts:,} starts that it does as told, it does {both.wordless:,} without the words of "
            f"the prompt and {both.blind:,} without its pictures: {misses} ({points(both.change)} points, "
            f"95 % interval {between(both.interval, 100)}, {p_phrase(both.p)})."
        )


def _reading(findings: Sequence[Finding]) -> Table:
    said = {each.flaw: each.sentence for each in findings}
    return Table(
        "table-reading",
        "How to read it",
        (Column("question"), Column("what the run says")),
        tuple((question, said[flaw]) for flaw, question in QUESTIONS.items() if flaw in said),
        "The numbers are those of the tables below; p values adjusted for all that was asked (Holm).",
        shown_at_once=True,
    )


def _levels(found: Sequence[LevelScore], chance: Tabletop | None) -> Table:
    random = {each.level: each.allowed for each in _unchanged(chance.levels)} if chance else {}
    return Table(
        "table-levels",
        "Success by condition and level",
        (
            Column("condition"),
            Column("level"),
            Column("tasks", "count"),
            *_COUNTS,
            Column("control, same tasks", "share"),
            *_SCORE,
            *_columns(chance),
        ),
        tuple(
            (
                each.condition,
                each.level,
                each.tasks,
                each.count,
                each.errors,
                each.control,
                each.allowed.score,
                each.allowed.interval,
                each.flawless.score,
                each.flawless.interval,
                each.chance,
                *((mean.score, mean.interval) if (mean := random.get(each.level)) else _nothing(chance)),
            )
            for each in found
        ),
        f"Scores are unweighted means over the tasks; {STRATIFIED} {CHANCE}",
    )


def _tasks(found: Sequence[TaskScore], chance: Tabletop | None) -> Table:
    random = {(each.kind, each.level): each.allowed for each in _unchanged(chance.tasks)} if chance else {}
    return Table(
        "table-tasks",
        "Success by condition, level and task",
        (
            *(Column(name) for name in ("condition", "level", "task")),
            Column("successes", "count"),
            Column("successes, no mistakes", "count"),
            *_COUNTS,
            *_SCORE,
            *_columns(chance),
        ),
        tuple(
            (
                each.condition,
                each.level,
                each.kind,
                each.allowed.successes,
                each.flawless.successes,
                each.allowed.count,
                each.allowed.errors,
                each.allowed.rate,
                each.allowed.interval,
                each.flawless.rate,
                each.flawless.interval,
                each.chance,
                *(
                    (rate.rate, rate.interval)
                    if (rate := random.get((each.kind, each.level)))
                    else _nothing(chance)
                ),
            )
            for each in found
        ),
        f"95 % Wilson intervals; errors count for nothing. {CHANCE}",
    )


def _against(name: str, title: str, found: Sequence[Against]) -> Table:
    return Table(
        name,
        title,
        (
            Column("condition"),
            Column("level"),
            Column("plausible"),
            Column("pairs", "count"),
            *(Column(f"{what}{mode}", kind) for mode in ("", ", no mistakes") for what, kind in _DIFFERENCE),
        ),
        tuple(
            (
                each.condition,
                each.level or "all",
                each.allowed.plausible,
                each.allowed.pairs,
                *(
                    value
                    for drop in (each.allowed, each.flawless)
                    for value in (drop.control, drop.perturbed, drop.change, drop.interval, drop.p_holm)
                ),
            )
            for each in found
        ),
        "Paired with the control of the same task and seed: only tasks that have the condition count. "
        "95 % Newcombe intervals over starts; exact p, adjusted after Holm.",
    )


def _unchanged(found: Sequence[S]) -> Iterator[S]:
    return (each for each in found if each.condition == CONTROL)


def _columns(chance: Tabletop | None) -> tuple[Column, ...]:
    """Those of acting at random, where that was measured."""
    return (Column("random", "share"), Column("95 % interval, random", "share")) if chance else ()


def _nothing(chance: Tabletop | None) -> tuple[Value, ...]:
    return (None, None) if chance else ()
