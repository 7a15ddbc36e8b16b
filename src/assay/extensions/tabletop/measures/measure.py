"""Tabletop section of a report: the paper's tables with intervals, and their interpretation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from operator import attrgetter
from types import MappingProxyType
from typing import Any, TypeVar

from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from assay.episodes.spec import CONTROL
from assay.extensions.tabletop.measures.findings import FLAWS, prompt_tests, tabletop_wording
from assay.extensions.tabletop.measures.scores import (
    NAME,
    NEEDED,
    LevelScore,
    PromptFlaw,
    Tabletop,
    TaskScore,
    measure_tabletop,
)
from assay.extensions.tabletop.tasks import KINDS
from assay.measures.flaws import Flaw
from assay.measures.measure import Measure, Panel
from assay.measures.profile import Profile
from assay.measures.result import MeasureError, Missing
from assay.measures.sentences import format_finding
from assay.measures.success.rates import SUCCESS
from assay.measures.views.forest import Mark, forest, height
from assay.measures.views.style import (
    BLACK,
    BLUE,
    EMPTY,
    FAINT,
    HALF,
    ORANGE,
    SHADES,
    WIDTH,
    Drawing,
    percent_axis,
    series,
    share_limits,
)
from assay.measures.views.table import Column, Kind, Table, Value
from assay.measures.views.wording import KeyNumber, between, p_phrase, percent, plural, points
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
_NO_MISTAKES = ", no mistakes"
S = TypeVar("S", LevelScore, TaskScore)


def _contrasts_table(
    found: Tabletop, report: RunReport, *, name: str, change: str, concerns: Callable[[str], bool]
) -> Table | None:
    """Return a table of differences from the control under the conditions for which ``concerns`` is true."""
    contrasts = [contrast for contrast in found.against if concerns(contrast.condition)]
    fields: tuple[tuple[str, str, Kind], ...] = (
        ("control", "control", "share"),
        ("perturbed", "changed", "share"),
        ("change", "difference", "change"),
        ("interval", "95 % interval", "change"),
        ("p_holm", "Holm p", "p"),
    )
    table = Table.of(
        name,
        f"What {change}, level by level",
        contrasts,
        "condition",
        Column("level", value=lambda contrast: contrast.level or "all"),
        "allowed.plausible",
        "allowed.pairs",
        *(
            Column(heading + suffix, kind, value=attrgetter(f"{mode}.{field}"))
            for mode, suffix in (("allowed", ""), ("flawless", _NO_MISTAKES))
            for field, heading, kind in fields
        ),
        note="Paired with the control of the same task and seed: only tasks that have the condition count. "
        "95 % Newcombe intervals over starts; exact p, adjusted after Holm.",
    )
    return table if contrasts else None


def runs_table(runs: Mapping[str, Tabletop]) -> Table:
    """Return a table of scores of several runs by condition and level, in the paper's layout."""
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
    """Yield the scores of the levels."""
    for control in _controls(found.levels):
        about = f"Success in controls of level {control.level}, mistakes allowed: the mean over its tasks."
        yield KeyNumber.of(
            control.level, percent(control.allowed.score), control.allowed.interval, control.count, about
        )


def sentences(found: Tabletop, profile: Profile) -> Iterator[str]:
    """Yield sentences on the scores of the levels, and on whether the policy needs words or images more."""
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
    """Return a table of the run's answer to each question."""
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
    """Return a table of success by condition and level, with a random policy's success if a run provides it."""
    chance = report.random(NAME)
    return Table.of(
        "table-levels",
        "Success by condition and level",
        found.levels,
        *("condition", "level", "tasks", "count", "errors", "control", "allowed.score", "allowed.interval"),
        Column("no mistakes", "share", value=attrgetter("flawless.score")),
        Column(f"95 % interval{_NO_MISTAKES}", "share", value=attrgetter("flawless.interval")),
        "chance",
        *_random_columns("score", ("level",), chance.levels if chance else None),
        note=f"Scores are unweighted means over the tasks; {STRATIFIED} {CHANCE}",
    )


def tasks_table(found: Tabletop, report: RunReport) -> Table:
    """Return a table of success by condition, level and task, with a random policy's if a run provides it."""
    chance = report.random(NAME)
    return Table.of(
        "table-tasks",
        "Success by condition, level and task",
        found.tasks,
        *("condition", "level", "kind", "allowed.successes"),
        Column(f"successes{_NO_MISTAKES}", "count", value=attrgetter("flawless.successes")),
        *("allowed.count", "allowed.errors", "allowed.rate", "allowed.interval"),
        Column("no mistakes", "share", value=attrgetter("flawless.rate")),
        Column(f"95 % interval{_NO_MISTAKES}", "share", value=attrgetter("flawless.interval")),
        "chance",
        *_random_columns("rate", ("kind", "level"), chance.tasks if chance else None),
        note=f"95 % Wilson intervals; errors are excluded. {CHANCE}",
    )


def _random_columns(share: str, key: tuple[str, ...], scores: Sequence[S] | None) -> tuple[Column, ...]:
    """Return columns of a random policy's success, matched by ``key``; empty if it was not measured."""
    if scores is None:
        return ()
    read_key = attrgetter(*key)
    random = {read_key(control): control.allowed for control in _controls(scores)}

    def read(field: str) -> Callable[[Any], Any]:
        return lambda score: getattr(random.get(read_key(score)), field, None)

    return (
        Column("random", "share", value=read(share)),
        Column("95 % interval, random", "share", value=read("interval")),
    )


def _controls(found: Sequence[S]) -> Iterator[S]:
    return (score for score in found if score.condition == CONTROL)


LEVELS = ("L1", "L2", "L3", "L4")


def tasks_figure(measured: Tabletop, report: RunReport) -> Drawing:
    """Draw the success of each unperturbed task at each level, with mistakes allowed and without."""
    control_scores = {(task.kind, task.level): task for task in measured.tasks if task.condition == CONTROL}
    kinds = sorted({kind for kind, _ in control_scores}, key=lambda kind: int(kind[1:]))
    levels = [level for level in LEVELS if any(level == scored_level for _, scored_level in control_scores)]
    if not kinds:
        raise MeasureError("there is no control")

    def paint(figure: Figure) -> None:
        both = figure.subplots(1, 2, sharey=True)
        for axes, title, strict in zip(both, ("mistakes allowed", "no mistakes"), (False, True), strict=True):
            for row, kind in enumerate(kinds):
                for column, level in enumerate(levels):
                    score = control_scores.get((kind, level))
                    rate = score and (score.flawless if strict else score.allowed)
                    _cell(axes, row, column, rate.rate if rate else None, there=score is not None)
            axes.set_xlim(0, len(levels))
            axes.set_ylim(len(kinds), 0)
            axes.set_xticks([place + 0.5 for place in range(len(levels))], levels)
            axes.set_yticks(
                [place + 0.5 for place in range(len(kinds))],
                [
                    f"{KINDS[kind].name.replace('_', ' ')}  {kind}" if kind in KINDS else kind
                    for kind in kinds
                ],
            )
            axes.xaxis.set_ticks_position("top")
            axes.set_title(title)
            axes.tick_params(length=0)
            axes.grid(visible=False)
            for side in axes.spines.values():
                side.set_visible(False)

    count = sum(score.allowed.count for score in control_scores.values())
    caption = (
        f"Success in percent, {plural(count, 'control')}; blank: there is no such task at that level. "
        "Counts and Wilson intervals are in the table."
    )
    size = (WIDTH, 0.8 + 0.24 * len(kinds))
    return Drawing("table-tasks", "Success by task and level", caption, size, paint)


def levels_figure(measured: Tabletop, report: RunReport) -> Drawing:
    """Draw the score of each condition at each level, and the measured score of a random policy."""
    scores, random = measured.levels, report.random(NAME)
    chance = {
        score.level: score.allowed.score
        for score in (random.levels if random else ())
        if score.condition == CONTROL
    }
    conditions = list(dict.fromkeys(score.condition for score in scores))
    levels = [level for level in LEVELS if any(level == score.level for score in scores)]
    by_condition = {(score.condition, score.level): score for score in scores}

    def paint(figure: Figure) -> None:
        panels = figure.subplots(1, len(levels), sharey=True, squeeze=False)[0]
        for axes, level in zip(panels, levels, strict=True):
            if level in chance:
                axes.axvline(chance[level], color=FAINT, linewidth=0.9, linestyle=":", zorder=1)
            for row, condition in enumerate(conditions):
                if (score := by_condition.get((condition, level))) is not None:
                    _score(axes, score, row)
            axes.set_title(level)
            axes.set_xlim(-0.04, 1.04)
            axes.set_xticks([0, 0.5, 1])
            percent_axis(axes.xaxis)
            axes.set_yticks(range(len(conditions)), conditions)
            axes.set_ylim(len(conditions) - 0.4, -0.6)
            axes.tick_params(axis="y", length=0)
            axes.grid(axis="y", visible=False)

    dotted = " Dotted: measured when acting at random." if chance else ""
    caption = (
        f"Unweighted means of the tasks' success, {plural(sum(score.count for score in scores), 'episode')}; "
        "filled circles: mistakes allowed, hollow squares: none. Lines: 95 % Wilson intervals, stratified by "
        f"task. Grey ticks: the same tasks with nothing changed, mistakes allowed.{dotted}"
    )
    return Drawing(
        "table-levels",
        "Success by condition and level",
        caption,
        (WIDTH, 0.9 + 0.3 * len(conditions)),
        paint,
    )


def kept_figure(measured: Tabletop, report: RunReport) -> Drawing:
    """Draw the share of a policy's unperturbed successes that it keeps under each condition."""
    groups: dict[str, list[Mark]] = {}
    for retained in measured.kept:
        name = "told what to do" if retained.plausible else "not told what to do"
        groups.setdefault(name, []).append(
            Mark(
                retained.condition,
                retained.share,
                retained.interval,
                (
                    percent(retained.share),
                    between(retained.interval, 100),
                    f"{retained.kept:,}/{retained.count:,}",
                ),
                colour=BLUE if retained.plausible else ORANGE,
                shape="o" if retained.plausible else "D",
            )
        )
    if not groups:
        raise MeasureError("no control with a changed twin succeeds")

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        forest(axes, groups, along="successes kept", heads=("kept", "95 % interval", "n"))
        axes.set_xlim(-0.02, 1.02)
        percent_axis(axes.xaxis)

    caption = (
        f"Of the starts that succeed when nothing is changed, those that still succeed; "
        f"{plural(sum(retained.count for retained in measured.kept), 'pair')}. Diamonds: the prompt does not ask for "
        "the task, so that a policy that follows it succeeds by chance only. Lines: 95 % Wilson intervals."
    )
    return Drawing("table-kept", "Successes kept", caption, (WIDTH, height(groups)), paint)


def runs_figure(runs: Mapping[str, Tabletop]) -> Drawing:
    """Draw the unperturbed scores by level of several runs, one line for each."""
    controls = {
        run: {score.level: score.allowed for score in result.levels if score.condition == CONTROL}
        for run, result in runs.items()
    }
    levels = [level for level in LEVELS if any(level in control for control in controls.values())]

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        for place, (run, means) in enumerate(controls.items()):
            look = series(place)
            x = [levels.index(level) + 0.06 * (place - (len(runs) - 1) / 2) for level in means]
            axes.plot(x, [mean.score for mean in means.values()], label=run, **look)
            low, high = ([getattr(mean.interval, end) for mean in means.values()] for end in ("low", "high"))
            axes.vlines(x, low, high, color=look["color"], linewidth=1.1)
        axes.set_xticks(range(len(levels)), levels)
        share_limits(axes)
        axes.set_ylabel("success")
        figure.legend(loc="outside lower center", ncols=2)

    control_counts = "; ".join(
        f"{run}: {plural(sum(score.count for score in result.levels if score.condition == CONTROL), 'control')}"
        for run, result in runs.items()
    )
    caption = (
        f"Unweighted means of the tasks' success with mistakes allowed and nothing changed, {control_counts}. Lines: "
        "95 % Wilson intervals, stratified by task."
    )
    return Drawing("table-runs", "Success by level", caption, (HALF, 3.0 + 0.1 * len(runs)), paint)


def _cell(axes: Axes, row: int, column: int, share: float | None, *, there: bool) -> None:
    if not there:
        return
    shade = EMPTY if share is None else colormaps[SHADES](share)
    axes.add_patch(Rectangle((column, row), 1, 1, facecolor=shade, edgecolor="white", linewidth=1.0))
    if share is not None:
        ink = "white" if share < 0.55 else BLACK
        text = f"{100 * share:.0f}"
        axes.text(column + 0.5, row + 0.5, text, ha="center", va="center", color=ink, fontsize=7.5)


def _score(axes: Axes, each: LevelScore, row: int) -> None:
    """Draw both means of a condition, the strict one slightly lower, over that of the control."""
    if each.control is not None and each.condition != CONTROL:
        axes.plot([each.control] * 2, [row - 0.38, row + 0.12], color=FAINT, linewidth=1.4, zorder=1)
    for mean, off, colour, shape, filled in (
        (each.allowed, -0.13, BLUE, "o", True),
        (each.flawless, 0.17, ORANGE, "s", False),
    ):
        axes.plot([mean.interval.low, mean.interval.high], [row + off] * 2, color=colour, linewidth=1.2)
        face = colour if filled else "white"
        axes.plot(mean.score, row + off, shape, color=colour, markerfacecolor=face, markersize=4, zorder=3)


TABLETOP = Measure(
    NAME,
    "Success by task and level, with mistakes and without, and the reliance on the prompt.",
    lambda run: measure_tabletop(run.whole, run.world.start_columns),
    needs=NEEDED,
    world="tabletop",
    instead_of=("changes", "names", "nonsense", "starts", "levels", "task_changes", "other_tasks"),
    panels=(
        Panel("Reliance on the prompt", (reading_table,), (kept_figure,)),
        Panel("Tasks and levels", (levels_table, tasks_table), (tasks_figure, levels_figure)),
        Panel(
            SUCCESS,
            (
                partial(
                    _contrasts_table,
                    name="table-prompts",
                    change="other prompts cost",
                    concerns=lambda condition: not condition.startswith((_ORDER, _DIFFICULTY)),
                ),
                partial(
                    _contrasts_table,
                    name="table-order",
                    change="permuted objects cost",
                    concerns=lambda condition: condition.startswith(_ORDER),
                ),
                partial(
                    _contrasts_table,
                    name="table-difficulty",
                    change="difficulty costs",
                    concerns=lambda condition: condition.startswith(_DIFFICULTY),
                ),
            ),
        ),
    ),
    side_by_side=(runs_table, runs_figure),
    sentences=sentences,
    numbers=numbers,
    tests=prompt_tests,
    flaws=FLAWS,
    wording=tabletop_wording,
)
