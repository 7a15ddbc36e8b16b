"""The part of a report that is about the tabletop: the paper's tables with intervals, and how to read them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TypeVar

from assay.episodes.spec import CONTROL
from assay.extensions.tabletop.measures.prompt_reliance import PromptFlaw
from assay.extensions.tabletop.measures.scores import Against, LevelScore, TaskScore
from assay.extensions.tabletop.measures.tabletop import NAME, Tabletop
from assay.measures.flaws import Flaw
from assay.measures.profile import Profile
from assay.measures.result import Missing
from assay.measures.sentences import format_finding
from assay.measures.views.table import Column, Kind, Table, Value
from assay.measures.views.wording import KeyNumber, between, p_phrase, percent, points
from assay.report.run_report import RunReport

QUESTIONS = MappingProxyType(
    {
        Flaw.UNABLE: "Does it perform the tasks?",
        PromptFlaw.UNTOLD: "Does it need the prompt?",
        PromptFlaw.WORDLESS: "Does it use the words?",
        PromptFlaw.PICTURELESS: "Does it use the images?",
        Flaw.WORDING: "Is it robust to paraphrases?",
        PromptFlaw.DESCRIBED: "Does it recognise described objects?",
        PromptFlaw.ORDER: "Does it depend on the order of objects?",
        PromptFlaw.RETRIES: "Does it need retries?",
        PromptFlaw.DIFFICULTY: "Does it fail at higher difficulty?",
        PromptFlaw.NOVELTY: "Does it generalise?",
    }
)
"""Questions about a policy, in the order of the report."""
STRATIFIED = "95 % Wilson intervals, stratified by task; errors are excluded."
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


def prompts_table(found: Tabletop, report: RunReport) -> Table | None:
    """What other prompts cost."""
    prompts = [
        contrast for contrast in found.against if not contrast.condition.startswith((_ORDER, _DIFFICULTY))
    ]
    return _against("table-prompts", "What other prompts cost, level by level", prompts)


def order_table(found: Tabletop, report: RunReport) -> Table | None:
    """What permuted objects cost."""
    order = [contrast for contrast in found.against if contrast.condition.startswith(_ORDER)]
    return _against("table-order", "What permuted objects cost, level by level", order)


def difficulty_table(found: Tabletop, report: RunReport) -> Table | None:
    """What difficulty costs."""
    harder = [contrast for contrast in found.against if contrast.condition.startswith(_DIFFICULTY)]
    return _against("table-difficulty", "What difficulty costs, level by level", harder)


def runs_table(runs: Mapping[str, Tabletop]) -> Table:
    """Scores of several runs by condition and level, as the paper has them."""
    levels = sorted({score.level for result in runs.values() for score in result.levels})
    by_run = {
        (run, score.condition, score.level): score for run, result in runs.items() for score in result.levels
    }
    rows: list[tuple[Value, ...]] = []
    for run, condition in dict.fromkeys((run, condition) for run, condition, _ in by_run):
        cells: list[Value] = [condition, run]
        for level in levels:
            score = by_run.get((run, condition, level))
            cells += (
                [score.allowed.score, score.allowed.interval, score.flawless.score, score.flawless.interval]
                if score
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


def numbers(found: Tabletop, profile: Profile) -> Iterator[KeyNumber]:
    """Scores of the levels."""
    for control in _controls(found.levels):
        about = f"Success in controls of level {control.level}, mistakes allowed: the mean over its tasks."
        yield KeyNumber.of(
            control.level, percent(control.allowed.score), control.allowed.interval, control.count, about
        )


def sentences(found: Tabletop, profile: Profile) -> Iterator[str]:
    """Scores of the levels, and which of words and images it needs more."""
    usual = list(_controls(found.levels))
    if usual:
        names = ", ".join(
            f"{score.level} {100 * score.allowed.score:.1f} % ({between(score.allowed.interval, 100)}; "
            f"without mistakes {100 * score.flawless.score:.1f} %)"
            for score in usual
        )
        yield f"Unperturbed it scores {names}: unweighted means of the tasks, 95 % intervals."
    both = found.modalities
    if not isinstance(both, Missing):
        needs = "which of them it needs more cannot be told"
        if both.p < 0.05 and not both.interval.low <= 0 <= both.interval.high:
            needs = f"it needs the {'words' if both.change > 0 else 'images'} more"
        yield (
            f"Of {both.starts:,} starts in which the control succeeds, {both.wordless:,} succeed without the words of "
            f"the prompt and {both.blind:,} without its images: {needs} ({points(both.change)} points, "
            f"95 % interval {between(both.interval, 100)}, {p_phrase(both.p)})."
        )


def reading_table(found: Tabletop, report: RunReport) -> Table:
    """What the run says, question by question."""
    sentences = {finding.flaw: format_finding(finding).text for finding in report.diagnosis}
    return Table(
        "table-reading",
        "How to read it",
        (Column("question"), Column("what the run says")),
        tuple((question, sentences[flaw]) for flaw, question in QUESTIONS.items() if flaw in sentences),
        "The numbers are those of the tables below; p values adjusted for all that was asked (Holm).",
        shown_at_once=True,
    )


def levels_table(found: Tabletop, report: RunReport) -> Table:
    """Success by condition and level; beside it that of acting at random, if a run of the report tells."""
    chance = report.random(NAME)
    random = {control.level: control.allowed for control in _controls(chance.levels)} if chance else {}
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
                level.condition,
                level.level,
                level.tasks,
                level.count,
                level.errors,
                level.control,
                level.allowed.score,
                level.allowed.interval,
                level.flawless.score,
                level.flawless.interval,
                level.chance,
                *((mean.score, mean.interval) if (mean := random.get(level.level)) else _nothing(chance)),
            )
            for level in found.levels
        ),
        f"Scores are unweighted means over the tasks; {STRATIFIED} {CHANCE}",
    )


def tasks_table(found: Tabletop, report: RunReport) -> Table:
    """Success by condition, level and task; beside it that of acting at random."""
    chance = report.random(NAME)
    random = (
        {(control.kind, control.level): control.allowed for control in _controls(chance.tasks)}
        if chance
        else {}
    )
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
                task.condition,
                task.level,
                task.kind,
                task.allowed.successes,
                task.flawless.successes,
                task.allowed.count,
                task.allowed.errors,
                task.allowed.rate,
                task.allowed.interval,
                task.flawless.rate,
                task.flawless.interval,
                task.chance,
                *(
                    (rate.rate, rate.interval)
                    if (rate := random.get((task.kind, task.level)))
                    else _nothing(chance)
                ),
            )
            for task in found.tasks
        ),
        f"95 % Wilson intervals; errors are excluded. {CHANCE}",
    )


def _against(name: str, title: str, found: Sequence[Against]) -> Table | None:
    if not found:
        return None
    return Table(
        name,
        title,
        (
            Column("condition"),
            Column("level"),
            Column("success expected"),
            Column("pairs", "count"),
            *(Column(f"{what}{mode}", kind) for mode in ("", ", no mistakes") for what, kind in _DIFFERENCE),
        ),
        tuple(
            (
                score.condition,
                score.level or "all",
                score.allowed.plausible,
                score.allowed.pairs,
                *(
                    value
                    for drop in (score.allowed, score.flawless)
                    for value in (drop.control, drop.perturbed, drop.change, drop.interval, drop.p_holm)
                ),
            )
            for score in found
        ),
        "Paired with the control of the same task and seed: only tasks that have the condition count. "
        "95 % Newcombe intervals over starts; exact p, adjusted after Holm.",
    )


def _controls(found: Sequence[S]) -> Iterator[S]:
    return (score for score in found if score.condition == CONTROL)


def _columns(chance: Tabletop | None) -> tuple[Column, ...]:
    """Those of acting at random, where that was measured."""
    return (Column("random", "share"), Column("95 % interval, random", "share")) if chance else ()


def _nothing(chance: Tabletop | None) -> tuple[Value, ...]:
    return (None, None) if chance else ()
