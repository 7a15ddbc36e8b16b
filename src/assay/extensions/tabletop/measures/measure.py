"""Tabletop section of a report: the paper's tables with intervals, and their interpretation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import TypeVar

from matplotlib.figure import Figure

from assay.episodes.spec import CONTROL
from assay.extensions.tabletop.measures.findings import FLAWS, prompt_tests, tabletop_wording
from assay.extensions.tabletop.measures.scores import (
    NAME,
    NEEDED,
    LevelScore,
    Tabletop,
    TaskScore,
    measure_tabletop,
)
from assay.extensions.tabletop.tasks import KINDS
from assay.measures.measure import Measure, Panel
from assay.measures.profile import Profile
from assay.measures.result import MeasureError, Missing
from assay.measures.success.rates import SUCCESS
from assay.measures.views.forest import Mark, forest, height
from assay.measures.views.heat_map import bare_axes, fill_cell
from assay.measures.views.style import (
    BLUE,
    FAINT,
    HALF,
    ORANGE,
    WIDTH,
    Drawing,
    percent_axis,
    series,
    share_limits,
)
from assay.measures.views.table import Column, Kind, Table
from assay.measures.views.wording import KeyNumber, between, p_phrase, percent, plural, points
from assay.report.run_report import RunReport

STRATIFIED = "95 % Wilson intervals, stratified by task; errors are excluded."
CHANCE = "Chance by the paper's convention: 1/800 per required action."
_SEPARATE = ("order=", "difficulty=")
"""Prefixes of the conditions that have a separate table."""
_NO_MISTAKES = ", no mistakes"
S = TypeVar("S", LevelScore, TaskScore)


def _contrasts_table(
    measured: Tabletop, report: RunReport, *, name: str, change: str, prefixes: tuple[str, ...]
) -> Table | None:
    """Return a table of differences from the control under conditions with one of the prefixes.

    Without ``prefixes``: under the remaining conditions.
    """
    contrasts = [
        contrast
        for contrast in measured.against
        if contrast.condition.startswith(prefixes or _SEPARATE) == bool(prefixes)
    ]
    fields: tuple[tuple[str, str, Kind], ...] = (
        ("control", "control", "share"),
        ("perturbed", "changed", "share"),
        ("change", "difference", "change"),
        ("interval", "95 % interval", "change"),
        ("p_holm", "Holm p", "p"),
    )
    table = Table.of(
        name,
        f"{change}, by level",
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
        note="Paired with the control of the same task and seed, on tasks to which the condition applies. "
        "95 % Newcombe intervals over starts; exact p-values with Holm's correction.",
    )
    return table if contrasts else None


def runs_table(runs: Mapping[str, Tabletop]) -> Table:
    """Return a table of the scores of several runs by condition and level, in the paper's layout."""
    scores = {
        (score.condition, run, score.level): score for run, result in runs.items() for score in result.levels
    }
    conditions = list(dict.fromkeys(condition for condition, *_ in scores))
    lines = sorted(
        dict.fromkeys((condition, run) for condition, run, _ in scores),
        key=lambda line: conditions.index(line[0]),
    )
    heads = ("", ", 95 % interval", _NO_MISTAKES, f"{_NO_MISTAKES}, 95 % interval")
    read = attrgetter("allowed.score", "allowed.interval", "flawless.score", "flawless.interval")
    levels = sorted({level for *_, level in scores})
    return Table(
        "table-runs",
        "Success rate by condition, level and run",
        (
            Column("condition"),
            Column("run"),
            *(Column(level + head, "share") for level in levels for head in heads),
        ),
        tuple(
            (
                *line,
                *(
                    value
                    for level in levels
                    for value in (read(scores[*line, level]) if (*line, level) in scores else [None] * 4)
                ),
            )
            for line in lines
        ),
        f"Unweighted means over tasks; {STRATIFIED}",
    )


def numbers(measured: Tabletop, profile: Profile) -> Iterator[KeyNumber]:
    """Yield the score at each level."""
    for control in _controls(measured.levels):
        about = (
            f"Mean success rate over the tasks in controls at level {control.level}, with mistakes allowed."
        )
        yield KeyNumber.of(
            control.level, percent(control.allowed.score), control.allowed.interval, control.count, about
        )


def sentences(measured: Tabletop, profile: Profile) -> Iterator[str]:
    """Yield sentences on the score at each level, and on whether the policy needs words or images more."""
    usual = list(_controls(measured.levels))
    if usual:
        names = ", ".join(
            f"{score.level} {100 * score.allowed.score:.1f} % ({between(score.allowed.interval, 100)}; "
            f"without mistakes {100 * score.flawless.score:.1f} %)"
            for score in usual
        )
        yield f"Unperturbed, it scores {names} (unweighted means over tasks, 95 % intervals)."
    both = measured.modalities
    if not isinstance(both, Missing):
        needs = "which of the two it needs more is unclear"
        if both.p < 0.05 and not both.interval.low <= 0 <= both.interval.high:
            needs = f"it needs the {'words' if both.change > 0 else 'images'} more"
        yield (
            f"Of {both.starts:,} starts in which the control succeeds, {both.wordless:,} succeed without the words of "
            f"the prompt and {both.blind:,} without its images: {needs} ({points(both.change)} points, "
            f"95 % interval {between(both.interval, 100)}, {p_phrase(both.p)})."
        )


def levels_table(measured: Tabletop, report: RunReport) -> Table:
    """Return a table of success rates by condition and level."""
    return Table.of(
        "table-levels",
        "Success rate by condition and level",
        measured.levels,
        *("condition", "level", "tasks", "count", "errors", "control", "allowed.score", "allowed.interval"),
        Column("no mistakes", "share", value=attrgetter("flawless.score")),
        Column(f"95 % interval{_NO_MISTAKES}", "share", value=attrgetter("flawless.interval")),
        "chance",
        note=f"Scores are unweighted means over tasks; {STRATIFIED} {CHANCE}",
    )


def tasks_table(measured: Tabletop, report: RunReport) -> Table:
    """Return a table of success rates by condition, level and task."""
    return Table.of(
        "table-tasks",
        "Success rate by condition, level and task",
        measured.tasks,
        *("condition", "level", "kind", "allowed.successes"),
        Column(f"successes{_NO_MISTAKES}", "count", value=attrgetter("flawless.successes")),
        *("allowed.count", "allowed.errors", "allowed.rate", "allowed.interval"),
        Column("no mistakes", "share", value=attrgetter("flawless.rate")),
        Column(f"95 % interval{_NO_MISTAKES}", "share", value=attrgetter("flawless.interval")),
        "chance",
        note=f"95 % Wilson intervals; errors are excluded. {CHANCE}",
    )


def _controls(scores: Sequence[S]) -> Iterator[S]:
    return (score for score in scores if score.condition == CONTROL)


def tasks_figure(measured: Tabletop, report: RunReport) -> Drawing:
    """Plot the success rate on each unperturbed task at each level, with and without mistakes allowed."""
    scores = {(task.kind, task.level): task for task in _controls(measured.tasks)}
    kinds = sorted({kind for kind, _ in scores}, key=lambda kind: int(kind[1:]))
    levels = sorted({level for _, level in scores})
    if not kinds:
        raise MeasureError("the run has no control")

    def paint(figure: Figure) -> None:
        modes = (("mistakes allowed", "allowed"), ("no mistakes", "flawless"))
        for axes, (title, mode) in zip(figure.subplots(1, 2, sharey=True), modes, strict=True):
            for (kind, level), score in scores.items():
                row, column, rate = kinds.index(kind), levels.index(level), getattr(score, mode).rate
                ink = fill_cell(axes, row, column, rate)
                text = "" if rate is None else f"{100 * rate:.0f}"
                axes.text(column + 0.5, row + 0.5, text, ha="center", va="center", color=ink, fontsize=7.5)
            axes.set_xlim(0, len(levels))
            axes.set_ylim(len(kinds), 0)
            axes.set_xticks([place + 0.5 for place in range(len(levels))], levels)
            names = [f"{KINDS[kind].name.replace('_', ' ')}  {kind}" for kind in kinds]
            axes.set_yticks([place + 0.5 for place in range(len(kinds))], names)
            axes.xaxis.set_ticks_position("top")
            axes.set_title(title)
            bare_axes(axes)

    count = sum(score.allowed.count for score in scores.values())
    caption = (
        f"Success in percent, {plural(count, 'control')}; blank: the task does not exist at that level. "
        "Counts and Wilson intervals are in the table."
    )
    size = (WIDTH, 0.8 + 0.24 * len(kinds))
    return Drawing("table-tasks", "Success rate by task and level", caption, size, paint)


def levels_figure(measured: Tabletop, report: RunReport) -> Drawing:
    """Plot the score of each condition at each level."""
    scores = measured.levels
    conditions = list(dict.fromkeys(score.condition for score in scores))
    levels = sorted({score.level for score in scores})
    by_condition = {(score.condition, score.level): score for score in scores}

    def paint(figure: Figure) -> None:
        panels = figure.subplots(1, len(levels), sharey=True, squeeze=False)[0]
        for axes, level in zip(panels, levels, strict=True):
            for row, condition in enumerate(conditions):
                score = by_condition.get((condition, level))
                if score is None:
                    continue
                if score.control is not None and condition != CONTROL:
                    axes.plot(
                        [score.control] * 2, [row - 0.38, row + 0.12], color=FAINT, linewidth=1.4, zorder=1
                    )
                for mean, y, colour, shape, face in (
                    (score.allowed, row - 0.13, BLUE, "o", BLUE),
                    (score.flawless, row + 0.17, ORANGE, "s", "white"),
                ):
                    axes.plot([mean.interval.low, mean.interval.high], [y] * 2, color=colour, linewidth=1.2)
                    axes.plot(
                        mean.score, y, shape, color=colour, markerfacecolor=face, markersize=4, zorder=3
                    )
            axes.set_title(level)
            axes.set_xlim(-0.04, 1.04)
            axes.set_xticks([0, 0.5, 1])
            percent_axis(axes.xaxis)
            axes.set_yticks(range(len(conditions)), conditions)
            axes.set_ylim(len(conditions) - 0.4, -0.6)
            axes.tick_params(axis="y", length=0)
            axes.grid(axis="y", visible=False)

    caption = (
        f"Unweighted means of the tasks' success, {plural(sum(score.count for score in scores), 'episode')}; "
        "filled circles: mistakes allowed, hollow squares: no mistakes. Lines: 95 % Wilson intervals, stratified "
        "by task. Grey ticks: the same tasks unperturbed, mistakes allowed."
    )
    size = (WIDTH, 0.9 + 0.3 * len(conditions))
    return Drawing("table-levels", "Success rate by condition and level", caption, size, paint)


def kept_figure(measured: Tabletop, report: RunReport) -> Drawing:
    """Plot the fraction of a policy's unperturbed successes that it keeps under each condition."""
    groups: dict[str, list[Mark]] = {}
    for retained in measured.kept:
        name = f"the prompt {'specifies' if retained.plausible else 'does not specify'} the task"
        share, interval = retained.share, retained.interval
        cells = percent(share), between(interval, 100), f"{retained.kept:,}/{retained.count:,}"
        colour, shape = (BLUE, "o") if retained.plausible else (ORANGE, "D")
        mark = Mark(retained.condition, share, interval, cells, color=colour, marker=shape)
        groups.setdefault(name, []).append(mark)
    if not groups:
        raise MeasureError("no control of a perturbed episode succeeds")

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        forest(axes, groups, along="successes kept", heads=("kept", "95 % interval", "n"))
        axes.set_xlim(-0.02, 1.02)
        percent_axis(axes.xaxis)

    caption = (
        "Fraction of the starts that succeed unperturbed and still succeed under the condition; "
        f"{plural(sum(retained.count for retained in measured.kept), 'pair')}. Diamonds: the prompt does not specify "
        "the task, so a policy that follows it succeeds only by chance. Lines: 95 % Wilson intervals."
    )
    return Drawing("table-kept", "Successes kept", caption, (WIDTH, height(groups)), paint)


def runs_figure(runs: Mapping[str, Tabletop]) -> Drawing:
    """Plot the unperturbed scores of several runs by level, with one line per run."""
    controls = {
        run: {score.level: score for score in _controls(result.levels)} for run, result in runs.items()
    }
    levels = sorted({level for scores in controls.values() for level in scores})

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        for place, (run, scores) in enumerate(controls.items()):
            look, means = series(place), {level: score.allowed for level, score in scores.items()}
            x = [levels.index(level) + 0.06 * (place - (len(runs) - 1) / 2) for level in means]
            axes.plot(x, [mean.score for mean in means.values()], label=run, **look)
            low, high = ([getattr(mean.interval, end) for mean in means.values()] for end in ("low", "high"))
            axes.vlines(x, low, high, color=look["color"], linewidth=1.1)
        axes.set_xticks(range(len(levels)), levels)
        share_limits(axes)
        axes.set_ylabel("success")
        figure.legend(loc="outside lower center", ncols=2)

    counts = "; ".join(
        f"{run}: {plural(sum(score.count for score in scores.values()), 'control')}"
        for run, scores in controls.items()
    )
    caption = (
        f"Unweighted means of the tasks' success in controls, mistakes allowed, {counts}. Lines: 95 % Wilson "
        "intervals, stratified by task."
    )
    return Drawing("table-runs", "Success by level", caption, (HALF, 3.0 + 0.1 * len(runs)), paint)


TABLETOP = Measure(
    NAME,
    "Success rates by task and level, with and without mistakes allowed, and reliance on the prompt.",
    lambda run: measure_tabletop(run.whole, run.world.start_columns),
    needs=NEEDED,
    world="tabletop",
    instead_of=("changes", "names", "nonsense", "starts", "levels", "task_changes", "other_tasks"),
    panels=(
        Panel("Reliance on the prompt", (), (kept_figure,)),
        Panel("Tasks and levels", (levels_table, tasks_table), (tasks_figure, levels_figure)),
        Panel(
            SUCCESS,
            tuple(
                partial(_contrasts_table, name=name, change=change, prefixes=prefixes)
                for name, change, prefixes in (
                    ("table-prompts", "Effect of perturbed prompts", ()),
                    ("table-order", "Effect of permuted objects", ("order=",)),
                    ("table-difficulty", "Effect of higher difficulty", ("difficulty=",)),
                )
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
