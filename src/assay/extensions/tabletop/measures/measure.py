"""Tabletop section of a report: the paper's tables with intervals, and the hypotheses that the diagnosis tests.

Nonsense or masked prompts no longer specify the task. A policy that needs its prompt then succeeds only by chance;
the fraction of successes it keeps shows how much of its success has other causes. Hypotheses with too few successes
remain untested.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from operator import attrgetter
from types import MappingProxyType
from typing import TypeVar

from matplotlib.figure import Figure

from assay.episodes.spec import CONTROL
from assay.extensions.tabletop.measures.scores import (
    FIRST,
    MIN_SUCCESSES,
    NAME,
    NEEDED,
    TOLERATED,
    LevelScore,
    NothingMore,
    PromptFlaw,
    Retried,
    Tabletop,
    TaskScore,
    measure_tabletop,
)
from assay.extensions.tabletop.tasks import KINDS
from assay.measures import findings
from assay.measures.findings import Claim, Evidence, Finding, FlawTest, Profiles, Untested
from assay.measures.flaws import Flaw, OwnFlaw
from assay.measures.measure import Measure, Panel, Profile
from assay.measures.result import MeasureError, Missing
from assay.measures.sentences import format_counts, format_difference, format_share, format_unperturbed
from assay.measures.success.drops import drop_evidence
from assay.measures.success.rates import CONTROLS, SUCCESS
from assay.measures.views import style
from assay.measures.views.forest import Mark, forest, height
from assay.measures.views.style import Drawing, bare_axes, fill_cell
from assay.measures.views.table import Column, Kind, Table, Value
from assay.measures.views.wording import KeyNumber, between, negate, p_phrase, percent, plural, points
from assay.report.run_report import RunReport
from assay.support.stats.intervals import Interval
from assay.support.stats.significance import binomial_at_least

STRATIFIED = "95 % Wilson intervals, stratified by task; errors are excluded."
CHANCE = "Chance level by the paper's convention: 1/800 per required action."
_SEPARATE = ("order=", "difficulty=")
"""Prefixes of the conditions that have a separate table."""
_NO_MISTAKES = ", no mistakes"
S = TypeVar("S", LevelScore, TaskScore)


def _contrasts_table(
    measured: Tabletop, report: RunReport, *, name: str, change: str, prefixes: tuple[str, ...]
) -> Table | None:
    """Return a table of differences from the control for conditions with one of the given prefixes.

    If ``prefixes`` is empty, the table shows the conditions that are in no other table.
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
        "95 % Newcombe intervals over starts; exact p values with Holm's correction, for a loss where success is "
        "expected.",
    )
    return table if contrasts else None


def runs_table(runs: Mapping[str, Tabletop]) -> Table:
    """Return a table of the scores of several runs by condition and level, in the paper's layout."""
    all_scores = [score for result in runs.values() for score in result.levels]
    levels = sorted({score.level for score in all_scores})
    read = attrgetter("allowed.score", "allowed.interval", "flawless.score", "flawless.interval")
    rows: list[tuple[Value, ...]] = []
    for condition in dict.fromkeys(score.condition for score in all_scores):
        for run, result in runs.items():
            cells = {score.level: read(score) for score in result.levels if score.condition == condition}
            if cells:
                values = (value for level in levels for value in cells.get(level, (None,) * 4))
                rows.append((condition, run, *values))
    heads = ("", ", 95 % interval", _NO_MISTAKES, f"{_NO_MISTAKES}, 95 % interval")
    columns = [Column(level + head, "share") for level in levels for head in heads]
    return Table(
        "table-runs",
        "Success rate by condition, level and run",
        (Column("condition"), Column("run"), *columns),
        tuple(rows),
        f"Unweighted means over tasks; {STRATIFIED}",
    )


def numbers(measured: Tabletop, profile: Profile) -> Iterator[KeyNumber]:
    """Yield the score at each level."""
    for control in _controls(measured.levels):
        about = f"Unperturbed success rate at level {control.level}: mean over tasks, with mistakes allowed."
        yield KeyNumber.of(
            control.level, percent(control.allowed.score), control.allowed.interval, control.count, about
        )


def sentences(measured: Tabletop, profile: Profile) -> Iterator[str]:
    """Yield a sentence on the score at each level, and one on whether the policy needs words or images more."""
    usual = list(_controls(measured.levels))
    if usual:
        names = ", ".join(
            f"{score.level} {100 * score.allowed.score:.1f} % ({between(score.allowed.interval, 100)}; "
            f"without mistakes {100 * score.flawless.score:.1f} %)"
            for score in usual
        )
        yield f"In unperturbed episodes, the policy scores {names} (unweighted means over tasks, 95 % intervals)."
    both = measured.modalities
    if not isinstance(both, Missing):
        needs = "which of the two the policy needs more is unclear"
        if both.p < 0.05 and not both.interval.low <= 0 <= both.interval.high:
            needs = f"the policy needs the {'words' if both.change > 0 else 'images'} more"
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
        raise MeasureError("the run has no controls")

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
    size = (style.WIDTH, 0.8 + 0.24 * len(kinds))
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
                        [score.control] * 2,
                        [row - 0.38, row + 0.12],
                        color=style.FAINT,
                        linewidth=1.4,
                        zorder=1,
                    )
                for mean, y, colour, shape, face in (
                    (score.allowed, row - 0.13, style.BLUE, "o", style.BLUE),
                    (score.flawless, row + 0.17, style.ORANGE, "s", "white"),
                ):
                    axes.plot([mean.interval.low, mean.interval.high], [y] * 2, color=colour, linewidth=1.2)
                    axes.plot(
                        mean.score, y, shape, color=colour, markerfacecolor=face, markersize=4, zorder=3
                    )
            axes.set_title(level)
            axes.set_xlim(-0.04, 1.04)
            axes.set_xticks([0, 0.5, 1])
            style.percent_axis(axes.xaxis)
            axes.set_yticks(range(len(conditions)), conditions)
            axes.set_ylim(len(conditions) - 0.4, -0.6)
            axes.tick_params(axis="y", length=0)
            axes.grid(axis="y", visible=False)

    caption = (
        f"Unweighted means of the tasks' success, {plural(sum(score.count for score in scores), 'episode')}; "
        "filled circles: mistakes allowed, hollow squares: no mistakes. Lines: 95 % Wilson intervals, stratified "
        "by task. Grey ticks: the same tasks unperturbed, mistakes allowed."
    )
    size = (style.WIDTH, 0.9 + 0.3 * len(conditions))
    return Drawing("table-levels", "Success rate by condition and level", caption, size, paint)


def kept_figure(measured: Tabletop, report: RunReport) -> Drawing:
    """Plot success under each condition, from the starts whose control succeeds."""
    groups: dict[str, list[Mark]] = {}
    for retained in measured.kept:
        name = f"the prompt {'specifies' if retained.plausible else 'does not specify'} the task"
        share, interval = retained.share, retained.interval
        cells = percent(share), between(interval, 100), f"{retained.kept:,}/{retained.count:,}"
        colour, shape = (style.BLUE, "o") if retained.plausible else (style.ORANGE, "D")
        mark = Mark(retained.condition, share, interval, cells, color=colour, marker=shape)
        groups.setdefault(name, []).append(mark)
    if not groups:
        raise MeasureError("no perturbed episode has a control that succeeded")

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        forest(
            axes, groups, along="success where the control succeeds", heads=("success", "95 % interval", "n")
        )
        axes.set_xlim(-0.02, 1.02)
        style.percent_axis(axes.xaxis)

    caption = (
        "Fraction of the starts with a successful control that also succeed under the condition; "
        f"{plural(sum(retained.count for retained in measured.kept), 'pair')}. Diamonds: the prompt does not specify "
        "the task, so a policy that follows it succeeds only by chance. Lines: 95 % Wilson intervals."
    )
    return Drawing(
        "table-kept", "Success where the control succeeds", caption, (style.WIDTH, height(groups)), paint
    )


def runs_figure(runs: Mapping[str, Tabletop]) -> Drawing:
    """Plot the unperturbed scores of several runs by level, with one line per run."""
    controls = {
        run: {score.level: score for score in _controls(result.levels)} for run, result in runs.items()
    }
    levels = sorted({level for scores in controls.values() for level in scores})

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        for place, (run, scores) in enumerate(controls.items()):
            look, means = style.series(place), {level: score.allowed for level, score in scores.items()}
            x = [levels.index(level) + 0.06 * (place - (len(runs) - 1) / 2) for level in means]
            axes.plot(x, [mean.score for mean in means.values()], label=run, **look)
            low, high = ([getattr(mean.interval, end) for mean in means.values()] for end in ("low", "high"))
            axes.vlines(x, low, high, color=look["color"], linewidth=1.1)
        axes.set_xticks(range(len(levels)), levels)
        style.share_limits(axes)
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
    return Drawing("table-runs", "Success by level", caption, (style.HALF, 3.0 + 0.1 * len(runs)), paint)


ABLE = 0.1
"""Threshold for the success rate in controls; a policy significantly below it is unable to perform the tasks."""
RARE = 0.2
"""Threshold for a fraction; a significantly smaller fraction counts as rare."""
UNHARMED = 0.1
"""Threshold for a loss of success; a policy with a significantly smaller loss counts as robust."""
CHANCE_CONDITIONS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        PromptFlaw.PROMPT_UNUSED: ("mask=instruction", "instruction=other"),
        PromptFlaw.WORDS_UNUSED: ("mask=language", "gobbledygook=words", "gobbledygook=tokens"),
        PromptFlaw.IMAGES_UNUSED: ("mask=visual",),
    }
)
"""Flaw -> conditions under which a policy without the flaw succeeds only by chance; the most informative first."""
SOLVABLE_CONDITIONS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        Flaw.WORDING: ("paraphrase",),
        PromptFlaw.DESCRIPTIONS: ("referents=text",),
        PromptFlaw.ORDER: ("order=permuted",),
        PromptFlaw.DIFFICULTY: (
            "difficulty=distracting",
            "difficulty=extreme",
            "difficulty=extremely-distracting",
        ),
    }
)
"""Flaw -> conditions under which a policy without the flaw is expected to succeed."""
FLAWS = tuple(
    OwnFlaw(name, claim, absent, f"no run {lacking}", consequences)
    for name, claim, absent, lacking, consequences in (
        (PromptFlaw.PROMPT_UNUSED, "Performs the tasks without the prompt", "Needs the prompt", "masks the prompt",
         (PromptFlaw.WORDS_UNUSED, PromptFlaw.IMAGES_UNUSED)),
        (PromptFlaw.WORDS_UNUSED, "Performs the tasks without the words of the prompt", "Needs the words of the prompt",
         "masks the words of prompts", ()),
        (PromptFlaw.IMAGES_UNUSED, "Performs the tasks without the images of the prompt",
         "Needs the images of the prompt", "masks the images of prompts", ()),
        (PromptFlaw.DESCRIPTIONS, "Does not find objects that are described instead of shown",
         "Finds objects that are described instead of shown", "replaces images in prompts with descriptions", ()),
        (PromptFlaw.ORDER, "Depends on the order of the objects", "Does not depend on the order of the objects",
         "permutes the order of objects", ()),
        (PromptFlaw.RETRIES, "Succeeds only after retries", "Does not need retries", "has controls", ()),
        (PromptFlaw.DIFFICULTY, "Fails harder versions of the tasks", "Robust to harder versions of the tasks",
         "includes harder versions of the tasks", ()),
        (PromptFlaw.NOVELTY, "Does not generalise to new combinations, objects or tasks",
         "Generalises to new combinations, objects and tasks", "covers L1 and another level", ()),
    )
)  # fmt: skip
_TESTED = (*CHANCE_CONDITIONS, *SOLVABLE_CONDITIONS, PromptFlaw.RETRIES, PromptFlaw.NOVELTY)


def prompt_tests(profiles: Profiles) -> Iterator[FlawTest | Untested]:
    """Yield the tests that are possible with these runs, and an `Untested` for every other flaw."""
    able = []
    for run, profile in profiles:
        result, control = profile.get(NAME), profile.get(CONTROLS)
        if result is None or control is None or control.interval is None:
            continue
        # Successes that are rare, or few and in the minority, do not show what the policy relies on.
        limit = ABLE if control.successes >= MIN_SUCCESSES else 0.5
        unable = control.interval.high < limit
        failures = control.count - control.successes
        lost = Interval(1 - control.interval.high, 1 - control.interval.low, control.interval.method)
        p = binomial_at_least(failures, control.count, findings.TOLERATED)
        share = 1 - control.successes / control.count
        evidence = Evidence(run, CONTROLS.name, "", share, lost, p, hits=failures, count=control.count)
        detail = NothingMore(control.interval.high < ABLE) if unable else None
        yield FlawTest(Flaw.UNABLE, (evidence,), p, lost, refuted=lost.high < UNHARMED, detail=detail)
        if not unable:
            able.append(result)
            yield from _run_tests(run, result)
    for flaw in _TESTED if able else ():  # a policy that cannot perform the tasks is not tested further
        notes = tuple(result.again.missing for result in able if isinstance(result.again, Missing))
        if flaw == PromptFlaw.RETRIES and notes:
            yield Untested(flaw, NAME, notes=notes[:1])
        else:
            # Whether a run could test the flaw if it had more successes.
            conditions = {*CHANCE_CONDITIONS.get(flaw, ()), *SOLVABLE_CONDITIONS.get(flaw, ())}
            too_few = any(
                (flaw == PromptFlaw.RETRIES and isinstance(result.again, Retried))
                or (flaw == PromptFlaw.NOVELTY and result.novelty)
                or any(_bare(contrast.condition) in conditions for contrast in result.against)
                for result in able
            )
            notes = ()
            if too_few:
                notes = (f"fewer than {MIN_SUCCESSES} of the informative controls succeed",)
            elif flaw == Flaw.WORDING:
                notes = ("no run has paraphrased prompts",)
            yield Untested(flaw, NAME, too_few=too_few, notes=notes)


def _run_tests(run: int, result: Tabletop) -> Iterator[FlawTest]:
    retained = {
        _bare(success.condition): success for success in result.kept if success.count >= MIN_SUCCESSES
    }
    for flaw, conditions in CHANCE_CONDITIONS.items():
        available = {name: retained[name] for name in conditions if name in retained}
        refuted = all(success.interval.high < RARE for success in available.values())
        for name, success in available.items():
            share, interval, p = success.share, success.interval, success.p
            evidence = Evidence(run, NAME, name, share, interval, p, hits=success.kept, count=success.count)
            yield FlawTest(flaw, (evidence,), p, interval, TOLERATED, refuted=refuted)
    drops = {
        _bare(contrast.condition): contrast.allowed for contrast in result.against if contrast.level is None
    }
    enough = {name: drop for name, drop in drops.items() if drop.both + drop.only_control >= MIN_SUCCESSES}
    for flaw, conditions in SOLVABLE_CONDITIONS.items():
        yield from _cost_tests(
            flaw, [drop_evidence((run,), NAME, name, enough[name]) for name in conditions if name in enough]
        )
    again = result.again
    if isinstance(again, Retried) and again.successes >= MIN_SUCCESSES:
        evidence = Evidence(
            run, NAME, "again", again.share, again.interval, again.p, hits=again.again, count=again.successes,
            reference_hits=again.successes, reference_count=again.count,
        )  # fmt: skip
        refuted = again.interval.high < RARE
        yield FlawTest(PromptFlaw.RETRIES, (evidence,), again.p, again.interval, refuted=refuted)
    novel = [
        Evidence(
            run, NAME, level.level, level.change, level.interval, findings.one_sided_p(level.change, level.p),
            share=level.score.score, reference=level.usual.score, cost=True, same_tasks=level.same_tasks,
        )
        for level in result.novelty
        if level.hits >= MIN_SUCCESSES
    ]  # fmt: skip
    yield from _cost_tests(PromptFlaw.NOVELTY, novel)


def _cost_tests(flaw: str, evidence: Sequence[Evidence]) -> Iterator[FlawTest]:
    """Yield one test for each loss under conditions in which success is expected."""
    sizes = [negate(item.interval) for item in evidence if item.interval is not None]
    refuted = all(size.high < UNHARMED for size in sizes)
    for item, size in zip(evidence, sizes, strict=True):
        assert item.p is not None
        yield FlawTest(flaw, (item,), item.p, size, findings.HARMLESS, refuted=refuted)


def _bare(condition: str) -> str:
    """Return the name of a condition without the prefix that an experiment may add to it."""
    return condition.rpartition("/")[2]


CONDITION_PHRASES: Mapping[str, str] = MappingProxyType(
    {
        "mask=instruction": "with the whole prompt masked",
        "instruction=other": "with the prompt of another task",
        "mask=language": "with the words masked",
        "gobbledygook=words": "with nonsense words",
        "gobbledygook=tokens": "with nonsense tokens",
        "mask=visual": "with the images masked",
        "paraphrase": "with paraphrased prompts",
        "referents=text": "with descriptions instead of images",
        "order=permuted": "with permuted objects",
        "difficulty=distracting": "with more distractors",
        "difficulty=extreme": "at extreme difficulty",
        "difficulty=extremely-distracting": "with more distractors at extreme difficulty",
    }
)
"""Condition -> its description in a sentence."""
NEW = MappingProxyType({"L2": "new combinations", "L3": "new objects", "L4": "new tasks"})


def tabletop_wording(finding: Finding) -> tuple[str, str]:
    """Return the evidence from a tabletop run as a sentence, and a caveat."""
    first, *rest = finding.evidence
    if finding.flaw == PromptFlaw.NOVELTY:
        levels = [
            f"{percent(item.share)} at {item.part} ({NEW.get(item.part, 'new')})" for item in finding.evidence
        ]
        easier = "" if first.same_tasks else ", on different tasks, which may be easier"
        levels[0] += f", {percent(first.reference)} at {FIRST}{easier} ({format_difference(first)})"
        return "; ".join(levels), ""
    counts, share = format_counts(first.hits, first.count), format_share(first.value, first.interval)
    if finding.flaw == PromptFlaw.RETRIES:
        return (
            f"{counts} successes took more than the minimum number of actions ({share}; sweeping tasks excluded): "
            f"{format_counts(first.reference_hits, first.reference_count)} succeed with mistakes allowed, "
            f"{(first.count or 0) - (first.hits or 0):,} without",
            "",
        )
    condition = CONDITION_PHRASES[first.part]
    others = "".join(
        f"; {format_counts(item.hits, item.count)} {CONDITION_PHRASES[item.part]}" for item in rest
    )
    if finding.flaw in CHANCE_CONDITIONS:
        caveat = f"{100 * TOLERATED:.0f} % may be due to chance" if finding.claim is Claim.PRESENT else ""
        return f"{condition}, the policy retains {counts} successes ({share}){others}", caveat
    unperturbed, difference = format_unperturbed(first), format_difference(first)
    return f"{counts} succeed {condition}, {unperturbed} unperturbed ({difference}){others}", ""


TABLETOP = Measure(
    NAME,
    "Success rates by task and level, with and without mistakes allowed, and reliance on the prompt.",
    lambda run: measure_tabletop(run.whole, run.world.start_columns),
    needs=NEEDED,
    world="tabletop",
    instead_of=(
        "changes",
        "names",
        "nonsense",
        "starts",
        "levels",
        "task_changes",
        "other_tasks",
        "over_tasks",
    ),
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
