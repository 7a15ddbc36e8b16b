"""Cost of the phrasing of the action, and of spelling and punctuation, with all names kept; success with nonsense."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from assay.episodes.perturbation import Change
from assay.measures import findings
from assay.measures.findings import Evidence, FlawTest, Profiles, Shows, Untested
from assay.measures.flaws import Flaw
from assay.measures.frames import compare_sides, guessable, require, side_counts, two_sides, valid_rows
from assay.measures.measure import Measure, RunData
from assay.measures.result import FOR_DRAWING, MeasureError, Result
from assay.measures.sample_size import least_one_sided, telling
from assay.measures.success.drops import DROPS, Drop, drop_evidence, drops, pool_drops
from assay.measures.views.wording import negate
from assay.support.stats.intervals import Interval, wilson_interval
from assay.support.stats.significance import binomial_at_least, holm, within

STRATUM = ("task", "object")


@dataclass(frozen=True, slots=True)
class ActionGap(Result):
    """Wordings that use one phrasing of the action, compared with other phrasings; object names are kept."""

    action: str
    successes: int
    """Number of successes with this phrasing."""
    count: int
    """Number of episodes with this phrasing."""
    others: int
    """Number of successes with the other phrasings."""
    others_count: int
    """Number of episodes with the other phrasings."""
    change: float
    """Success with this phrasing minus success with the others, within strata weighted by information."""
    interval: Interval
    """Newcombe interval over strata; includes 0 if the test is not significant."""
    strata: int
    """Number of strata with both kinds of wording: tasks x ways of naming objects."""
    p: float
    """Exact p value: the larger of two, permuting wordings within strata, or episodes within strata and seeds."""
    p_holm: float = 1.0
    """p value adjusted for all phrasings (Holm)."""


@dataclass(frozen=True, slots=True, eq=False)
class ActionGaps(Result):
    """Cost of phrasings of the action."""

    actions: tuple[ActionGap, ...]
    """Phrasings, in decreasing order of cost."""
    rows: pl.DataFrame = field(repr=False, metadata=FOR_DRAWING)
    """Episodes, one row each: task, seed, object, action, instruction, success (0 or 1)."""


def action_gaps(frame: pl.DataFrame) -> ActionGaps:
    """Measure the cost of each phrasing of the action. Needs the columns of `label_changes`."""
    require(frame, "action", "object")
    rows = frame.filter(pl.col("change") == Change.WORDING).drop_nulls(["action", "object"])
    if not len(rows):
        raise MeasureError("no paraphrase keeps every name")
    result = pool_actions([valid_rows(rows)])
    if not result.actions:
        raise MeasureError("no task has several phrasings of the action with all names kept")
    return result


def pool_actions(parts: Sequence[pl.DataFrame]) -> ActionGaps:
    """Measure the cost of each phrasing, from the rows of one or several runs of a policy."""
    rows = pl.concat(part.select(*STRATUM, "seed", "action", "instruction", "success") for part in parts)
    usual = (pl.col("success").mean() > 0.5).cast(pl.Int64).alias("success")
    wordings = rows.group_by(*STRATUM, "action", "instruction", maintain_order=True).agg(usual)
    gaps = []
    for action in sorted(rows["action"].unique()):
        chosen = pl.col("action") == action
        table = two_sides(rows, STRATUM, chosen)
        if not len(table):
            continue
        # Seeds of one wording are not independent, and another start is not another phrasing.
        units = (two_sides(wordings, STRATUM, chosen), two_sides(rows, (*STRATUM, "seed"), chosen))
        p = max(within(*side_counts(unit)[[2, 3, 0, 1]]) for unit in units)
        estimate, _ = compare_sides(table, p)
        others, others_count, successes, count = (int(side.sum()) for side in side_counts(table))
        numbers = (estimate.difference, estimate.interval, len(table), p)
        gaps.append(ActionGap(action, successes, count, others, others_count, *numbers))
    adjusted = holm([gap.p for gap in gaps])
    gaps = [replace(gap, p_holm=p) for gap, p in zip(gaps, adjusted, strict=True)]
    return ActionGaps(tuple(sorted(gaps, key=lambda gap: gap.change)), rows)


def _test_phrasings(profiles: Profiles) -> Iterator[FlawTest | Untested]:
    """Test the costliest phrasing of the action against all other phrasings; object names are kept."""
    runs, results = findings.select_results(profiles, ACTIONS)
    if not results:
        return
    gaps = pool_actions([result.rows for result in results]).actions
    adjusted = holm([findings.one_sided_p(gap.change, gap.p) for gap in gaps])
    ranked = sorted(zip(adjusted, gaps, strict=True), key=lambda entry: (entry[0], entry[1].change))
    evidence = []
    for p, gap in ranked:
        part = (ACTIONS.name, gap.action, gap.change, gap.interval, findings.one_sided_p(gap.change, gap.p))
        counts = (gap.successes, gap.count, gap.others, gap.others_count)
        evidence.append(
            findings.evidence_from(runs, *part, *counts, shows=findings.shows_loss(p, gap.interval))
        )
    p, worst = ranked[0]
    yield FlawTest(Flaw.WORDING, tuple(evidence), p, negate(worst.interval))


ACTIONS = Measure(
    "actions",
    "Phrasings of the action, each compared with the others, with all names kept.",
    lambda run: action_gaps(run.changed),
    needs=("action", "object"),
    tests=_test_phrasings,
)


SURFACE_LABEL = "surface"
"""Label of episodes whose instruction differs only in spelling or punctuation; its value names the variant."""


def _test_forms(profiles: Profiles) -> Iterator[FlawTest | Untested]:
    """Test the cost of other spelling or punctuation: all forms together, then each form, the costliest first."""
    runs, results = findings.select_results(profiles, SURFACE)
    by_form: dict[str, list[Drop]] = {}
    for drop in (drop for result in results for drop in result):
        by_form.setdefault(str(drop.group[SURFACE_LABEL]), []).append(drop)
    forms = [(form, drop) for form, parts in by_form.items() if (drop := pool_drops(parts)).control]
    if not forms:
        return
    adjusted = holm([drop.p_loss for _, drop in forms])
    ranked = sorted(zip(adjusted, forms, strict=True), key=lambda entry: (entry[0], entry[1][1].change))
    evidence = tuple(
        replace(drop_evidence(runs, SURFACE.name, form, drop), shows=findings.shows_loss(p, drop.interval))
        for p, (form, drop) in ranked
    )
    together = pool_drops([drop for _, drop in forms])
    worst = ranked[0][1][1] if evidence[0].shows is Shows.LOSS else together
    # Two tests, of a small loss in all forms and of a large one in a single form: the smaller p counts, doubled.
    p = min(1.0, 2 * min(together.p_loss, ranked[0][0]))
    least = 2 * least_one_sided(telling(together.table))
    yield FlawTest(Flaw.SURFACE, evidence, p, negate(worst.interval), least_p=least)


SURFACE = Measure(
    "surface",
    "Paired difference from the control if the same words are written differently, by form.",
    lambda run: drops(run.frame, (SURFACE_LABEL,), stopped=run.stopped),
    needs=(SURFACE_LABEL,),
    tests=_test_forms,
)


def nonsense(run: RunData) -> Drop:
    """Return the nonsense or counterfactual condition in which the task's goal is reached least often.

    Guessable instructions are excluded: following them does not show that they were ignored.
    """
    guessed = set(guessable(run.frame)["condition"])
    drops = [
        drop
        for drop in run.result(DROPS)
        if not drop.plausible
        and drop.family.startswith("words")
        and drop.group.get("condition") not in guessed
    ]
    if all(drop.control == 0 for drop in drops):
        raise MeasureError(
            "no episode with a nonsense or counterfactual instruction has a control that succeeds"
        )
    return min(drops, key=lambda drop: drop.perturbed)


def _test_nonsense(profiles: Profiles) -> Iterator[FlawTest | Untested]:
    """Test success with nonsense instructions, for runs without trajectories."""
    for run, profile in profiles:
        drop = profile.get(NONSENSE)
        if drop is None or profile.get("memorisation") is not None:
            continue
        independent = int(drop.perturbed * drop.starts + 1e-9)  # episodes of one start may be identical
        p = binomial_at_least(independent, drop.starts, findings.TOLERATED)
        interval = wilson_interval(drop.perturbed, drop.starts)
        (condition,) = drop.group.values()
        numbers = (drop.perturbed, interval, p, drop.both + drop.only_perturbed, drop.pairs)
        evidence = Evidence(run, NONSENSE.name, str(condition), *numbers)
        yield FlawTest(Flaw.IGNORES_WORDS, (evidence,), p, interval, least_p=findings.TOLERATED**drop.starts)
    yield Untested(Flaw.IGNORES_WORDS, NONSENSE.name)


NONSENSE = Measure(
    "nonsense",
    "How often the task's goal is reached although the instruction does not request it.",
    nonsense,
    tests=_test_nonsense,
)
