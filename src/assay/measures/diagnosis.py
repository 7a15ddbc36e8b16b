"""Diagnosis: the flaws of a policy, as claims with numbers; `sentences` puts them into words.

    for finding in diagnose(profile(libero), profile(para), profile(pro)):
        print(finding.verdict, finding.flaw, finding.degree, finding.p)

Each flaw is a hypothesis that a measure tests against chance, one-sided. Runs are pooled, and all tests are one family
(`multiple_testing`): a flawless policy is accused in at most 5 % of the reports. The degree comes from the interval:
*mostly* is significantly more than half. A flaw caused by another one is *explained*, if the episodes themselves show
it. If the informative starts are too few, the finding says so, and how many seeds would be enough.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
import polars as pl

from assay.episodes.perturbation import Change
from assay.measures.findings import (
    HARMLESS,
    Claim,
    Evidence,
    Fall,
    Finding,
    FlawTest,
    Unnoticed,
    Untested,
    Verdict,
    Where,
)
from assay.measures.flaws import BY_PATH, Flaw, shown_by
from assay.measures.measure import MEASURES, describe_flaw
from assay.measures.multiple_testing import NAMED_SHARE, AdjustedP, adjust, least_adjusted, with_adjusted_p
from assay.measures.profile import Profile
from assay.measures.result import Missing, attempt
from assay.measures.sample_size import detectable, more_seeds, telling
from assay.measures.search import FORMS, LossPattern, PatternKind, search
from assay.measures.success.drops import AXES, CHANGES, DROPS
from assay.measures.success.other_tasks import OTHER_TASKS
from assay.measures.success.rates import CONTROLS, SUCCESS_RATE
from assay.measures.success.task_changes import (
    TASK_CHANGES,
    TaskChanges,
    measure_cells,
    measure_task_changes,
    uneven_p,
)
from assay.support.stats.significance import SURE, binomial_at_least

OWN_FAILURES = 0.5
"""Share of the failures that must repeat the control's trajectory for memorisation to explain a loss."""
MISJUDGED = 0.1
"""Tolerated share of repeated trajectories not recognised as such: the control's spread excludes one in twenty."""
ABILITY = (Flaw.UNABLE, Flaw.MISSES, Flaw.KIND)
"""Flaws that are visible in unperturbed episodes and do not concern robustness."""
_SUSPICIOUS_P = 0.2
"""One-sided p value below which a loss is not dismissed as chance.

It applies to the fall over all changes, and to the adjusted p value of one change.
"""
_MIN_CHANGES = 3
"""Minimum number of changes for the statement that all of them cost the same."""


@dataclass(frozen=True, slots=True)
class ExaminedRuns:
    """A diagnosis, with the p values of all comparisons made for it."""

    findings: tuple[Finding, ...]
    adjusted: AdjustedP

    def with_adjusted_p(self, profile: Profile, run: int = 0) -> Profile:
        """Return the profile of one of the runs, with the p value of the diagnosis for each difference."""
        return with_adjusted_p(profile, self.adjusted, run)


def diagnose(*profiles: Profile) -> tuple[Finding, ...]:
    """Diagnose one policy from the profiles of its runs: one finding for each flaw.

    Flaws that were found come first, the most significant at the top. The absence of flaws is a finding as well.
    """
    return examine(*profiles).findings


def examine(*profiles: Profile) -> ExaminedRuns:
    """Diagnose a policy and keep the p values of all comparisons."""
    tests, untested = _run_tests(profiles)
    values, least = [test.p for test in tests], [test.least_p for test in tests]
    raised = adjust(values, least)
    best: dict[str, int] = {}
    findings: list[Finding] = []
    for flaw in dict.fromkeys((*Flaw, *(test.flaw for test in tests), *untested)):
        places = sorted(
            (place for place, test in enumerate(tests) if test.flaw == flaw),
            key=lambda place: (least_adjusted(place, values, least) >= SURE, values[place]),
        )
        if places:
            first = best[flaw] = places[0]
            too_few = least_adjusted(first, values, least) >= SURE
            findings.append(_conclude([tests[place] for place in places], raised[first], too_few))
        elif flaw in untested:
            reason = untested[flaw]
            findings.append(
                Finding(flaw, Verdict.CANNOT_TELL, Claim.UNTESTED, None, (), None, untested=reason)
            )
    best_tests = {flaw: tests[place] for flaw, place in best.items()}
    times = {flaw: _family_factor(place, values) for flaw, place in best.items()}
    changes = [result for profile in profiles if (result := profile.get(TASK_CHANGES)) is not None]
    together = None
    if changes:
        together = (
            changes[0] if len(changes) == 1 else measure_task_changes(pl.concat(c.rows for c in changes))
        )
    others = [other for profile in profiles if (other := profile.get(OTHER_TASKS)) is not None]
    rows = [*(result.rows for result in changes), *(other.rows for other in others)]
    paired = pl.concat(rows) if rows else None
    present = {
        finding.flaw: best_tests[finding.flaw] for finding in findings if finding.verdict is Verdict.FOUND
    }
    findings = [_with_cause(finding, present, paired) for finding in findings]
    findings = [_with_tasks(finding, together) for finding in findings]
    findings = [_with_more_seeds(finding, best_tests, times) for finding in findings]
    patterns = search(list(enumerate(profiles)))
    findings += _particular_cases(patterns, present, changes)
    findings = _with_headline(findings, best_tests, times, together, profiles)
    order = list(Verdict)
    findings.sort(
        key=lambda each: (
            each.flaw not in (Flaw.NOTHING, Flaw.LOSS),
            order.index(each.verdict),
            each.p or 0.0,
        )
    )
    return ExaminedRuns(tuple(findings), _collect_p(tests, raised, patterns))


def _with_headline(
    findings: Sequence[Finding],
    tests: Mapping[str, FlawTest],
    times: Mapping[str, float],
    together: TaskChanges | None,
    profiles: Sequence[Profile],
) -> list[Finding]:
    """Add the headline of the report to the findings.

    It is the overall drop, if no specific flaw was found or all changes cost about the same; otherwise that there is
    too little data, or that no flaw was found.
    """
    named = {finding.flaw for finding in findings if finding.verdict is Verdict.FOUND}
    robust = named - {*ABILITY, Flaw.LOSS}
    likely = _likeliest_loss(findings)
    fall = _fall(tests.get(Flaw.LOSS), times, together, profiles, likely)
    rest = [finding for finding in findings if finding.flaw != Flaw.LOSS]
    lost = next((finding for finding in findings if finding.flaw == Flaw.LOSS), None)
    if fall is not None and lost is not None and Flaw.LOSS in named:
        alike = fall.alike_p is not None and fall.alike_p >= SURE
        if alike and not robust & set(BY_PATH):  # losses of single conditions are part of it
            rest = [finding for finding in rest if not _are_condition_cases(finding)]
            return [*rest, replace(lost, detail=fall)]
        return rest if robust else [*rest, replace(lost, detail=fall)]
    if robust:
        return rest
    costs = rest  # if changes are only made together, the fall over all of them is known
    if lost is not None and not any(finding.evidence and finding.evidence[0].cost for finding in rest):
        costs = [*rest, lost]
    looked = [cost for cost in costs if cost.verdict is Verdict.NOT_FOUND]
    seen, least_known = _sensitivity(costs, tests, times)
    few = sum(finding.claim is Claim.TOO_FEW for finding in rest)
    if fall is not None and _too_few(fall, lost, seen, likely):
        return [*rest, Finding(Flaw.NOTHING, Verdict.CANNOT_TELL, Claim.TOO_FEW, None, (), None, detail=fall)]
    if named:
        return rest
    if not looked:
        return [*rest, Finding(Flaw.NOTHING, Verdict.CANNOT_TELL, Claim.UNTESTED, None, (), None)]
    detail = Unnoticed(len(looked), *least_known, seen, few)
    firsts = tuple(finding.evidence[0] for finding in looked)
    return [*rest, Finding(Flaw.NOTHING, Verdict.FOUND, Claim.PRESENT, None, firsts, None, detail=detail)]


def _are_condition_cases(finding: Finding) -> bool:
    """Return whether a finding is about particular cases that are conditions and joint changes, in all tasks."""
    kinds = {PatternKind.CONDITION.name.lower(), PatternKind.TOGETHER.name.lower()}
    return finding.flaw == Flaw.PARTICULAR and {evidence.measure for evidence in finding.evidence} <= kinds


def _likeliest_loss(findings: Sequence[Finding]) -> Finding | None:
    """Return the most significant loss under one of several changes that is suspicious but not significant."""
    costs = [
        finding
        for finding in findings
        if finding.evidence and finding.evidence[0].cost and finding.flaw != Flaw.LOSS
    ]
    unsure = [
        cost
        for cost in costs
        if cost.claim in (Claim.NO_SIGN, Claim.TOO_FEW)
        and cost.evidence[0].value < -HARMLESS
        and cost.p is not None
        and cost.p < _SUSPICIOUS_P
    ]
    return min(unsure, key=lambda cost: cost.p or 0.0) if unsure and len(costs) > 1 else None


def _too_few(fall: Fall, lost: Finding | None, seen: float | None, likely: Finding | None) -> bool:
    """Return whether the starts are too few to conclude that there is no flaw.

    Either a total loss would not have been detected, or success fell in a suspicious way that is not significant.
    """
    observed = fall.control_hits / fall.control_count - fall.hits / fall.count
    p = None if lost is None else lost.evidence[0].p
    return seen is None or likely is not None or (observed > HARMLESS and p is not None and p < _SUSPICIOUS_P)


def _sensitivity(
    findings: Sequence[Finding], tests: Mapping[str, FlawTest], times: Mapping[str, float]
) -> tuple[float | None, tuple[str | None, float | None]]:
    """Return the loss that every tested change would have revealed.

    Also returns the flaw with the widest interval, and its largest loss.
    """
    sizes: list[float | None] = []
    unknown: dict[str, float] = {}
    for finding in findings:
        test = tests.get(finding.flaw)
        if finding.verdict is not Verdict.NOT_FOUND or test is None or not finding.evidence[0].cost:
            continue
        first = finding.evidence[0]
        assert first.interval is not None
        unknown[finding.flaw] = min(
            -evidence.interval.low
            for evidence in finding.evidence
            if evidence.cost and evidence.interval is not None
        )
        usual = first.reference
        if usual is None and first.reference_count:
            usual = (first.reference_hits or 0) / first.reference_count
        if test.least_p and usual is not None:
            starts = round(-math.log2(test.least_p))
            pairs = max((first.count or 1) / max(starts, 1), 1.0)
            sizes.append(detectable(usual, first.interval, starts, times[finding.flaw], pairs))
    widest = max(unknown, key=lambda flaw: unknown[flaw]) if unknown else None
    finite = [size for size in sizes if size is not None]
    seen = max(finite) if finite and len(finite) == len(sizes) else None
    return seen, (widest, None if widest is None else unknown[widest])


def _fall(
    test: FlawTest | None,
    times: Mapping[str, float],
    together: TaskChanges | None,
    profiles: Sequence[Profile],
    likely: Finding | None,
) -> Fall | None:
    if test is None or test.table is None:
        return None
    control, count = (test.table[name].to_numpy().astype(float) for name in ("control", "count"))
    before = int(np.rint(control / count).sum()), len(count)
    after = int(test.table["perturbed"].sum()), int(count.sum())
    if len(profiles) == 1:  # the numbers shown beside it
        usual, now = profiles[0].get(CONTROLS), profiles[0].get(SUCCESS_RATE)
        if usual is not None and now is not None:
            before, after = (usual.successes, usual.count), (now.successes, now.count)
    alike: float | None = None
    costly: tuple[str, ...] = ()
    if together is not None and len(together.costs) >= _MIN_CHANGES:
        alike = together.alike_p
        costly = tuple(
            cost.change
            for cost in together.costs
            if cost.more is not None and cost.more < 0 and (cost.more_p or 0.0) < SURE
        )
    return Fall(
        control_hits=before[0],
        control_count=before[1],
        hits=after[0],
        count=after[1],
        telling=telling(test.table),
        more=more_seeds(test.table, times[Flaw.LOSS]),
        alike_p=alike,
        costly=costly,
        likely=None if likely is None else likely.flaw,
        likely_p=None if likely is None else likely.p,
    )


def _family_factor(place: int, values: Sequence[float], part: float = NAMED_SHARE) -> float:
    """Return the factor on the p value of one test once all tests have enough starts.

    Tests that are more significant do not count against it.
    """
    surer = sum(value < values[place] and value < SURE / len(values) for value in values)
    return (len(values) - surer) / part


def _run_tests(profiles: Sequence[Profile]) -> tuple[list[FlawTest], dict[str, Untested]]:
    """Return all tests that the runs allow, and the reasons why the other flaws cannot be tested.

    If the tests of a measure raise an exception, the flaws of that measure are reported as not tested.
    """
    tests: list[FlawTest] = []
    untested: dict[str, Untested] = {}
    for measure in (MEASURES[name] for name in MEASURES):
        having = [(run, profile) for run, profile in enumerate(profiles) if measure.name in profile]
        function = measure.tests
        if function is None or not having:
            continue
        results = attempt(lambda tests, runs: list(tests(runs)), function, having)
        if isinstance(results, Missing):
            reason = (f"its test {results.missing}",)
            results = [Untested(flaw.name, measure.name, notes=reason) for flaw in measure.flaws]
        for test in results:
            if isinstance(test, Untested):
                untested.setdefault(test.flaw, test)
            else:
                tests.append(test)
    return tests, untested


def _conclude(tests: Sequence[FlawTest], p: float, too_few: bool) -> Finding:
    best = tests[0]
    verdict, claim = Verdict.FOUND, Claim.PRESENT
    if too_few:
        verdict, claim = Verdict.CANNOT_TELL, Claim.TOO_FEW
    elif p >= SURE or best.size.low <= 0 or abs(best.evidence[0].value) < best.min_effect:
        verdict, claim = Verdict.NOT_FOUND, Claim.ABSENT if best.refuted else Claim.NO_SIGN
    evidence = tuple(evidence for test in tests for evidence in test.evidence)
    return Finding(best.flaw, verdict, claim, best.degree, evidence, p, detail=best.detail)


def _shown_by_alone(flaw: str) -> pl.Expr:
    """Return an expression for whether the change of a row reveals this flaw and no other."""
    return pl.col("change").map_elements(lambda change: shown_by(change) == (flaw,), return_dtype=pl.Boolean)


def _with_cause(finding: Finding, present: Mapping[str, FlawTest], rows: pl.DataFrame | None) -> Finding:
    if finding.flaw not in present:
        return finding
    for flaw, cause in present.items():
        if explains(cause, present[finding.flaw], rows):
            return replace(finding, verdict=Verdict.EXPLAINED, cause=flaw)
    return finding


def explains(cause: FlawTest, other: FlawTest, rows: pl.DataFrame | None) -> bool:
    """Whether one flaw that was found causes another one.

    A policy that repeats a trajectory fails where objects were moved. Then the failures are the episodes that repeat
    the control's trajectory, and without them there is no loss. Under another light a repeated trajectory fails no
    more than before, so that memory explains nothing.

    ``rows``: task, start, change, success, control_success, alike (repeats the control's trajectory; null if not
    judged), elsewhere (starts elsewhere than the control) of all perturbed episodes with a control.
    """
    if other.flaw not in describe_flaw(cause.flaw).consequences:
        return False
    by_size = cause.covers(other)
    if cause.flaw not in BY_PATH or other.flaw == Flaw.IGNORES_WORDS or rows is None:
        return by_size
    affected = rows.filter(_shown_by_alone(other.flaw))
    is_lost = (pl.col("control_success") == 1) & (pl.col("success") == 0)
    lost, judged = affected.filter(is_lost), affected.drop_nulls("alike")
    if not len(judged):
        return by_size and bool(len(lost)) and bool(lost["elsewhere"].all())
    failures = judged.filter(is_lost)
    if not len(failures) or failures["alike"].mean() < OWN_FAILURES:  # type: ignore[operator]
        return False
    # If memory were the only flaw, other trajectories would fail as often as controls do, and some repeated ones would
    # not look repeated.
    repeated, usual = float(judged["alike"].mean()), float(affected["control_success"].mean())  # type: ignore[arg-type]
    expected = (1 - repeated) * (1 - usual) + repeated * MISJUDGED
    others = int((~failures["alike"]).sum())
    return others <= HARMLESS * len(judged) or binomial_at_least(others, len(judged), expected) >= SURE


def _with_tasks(finding: Finding, together: TaskChanges | None) -> Finding:
    """Add the affected tasks to a flaw that was found."""
    if finding.claim is not Claim.PRESENT or together is None or finding.flaw == Flaw.LOSS:
        return finding
    rows = together.rows.filter(_shown_by_alone(finding.flaw))
    count = rows["task"].n_unique()
    if count < 2:
        return finding
    p, change = uneven_p(rows), finding.evidence[0].part
    cells = (
        measure_cells(change, rows.with_columns(change=pl.lit(change))) if p is not None and p < SURE else []
    )
    return replace(finding, where=Where(p, tuple(cell for cell in cells if cell.more_p < SURE), count))


def _with_more_seeds(finding: Finding, tests: Mapping[str, FlawTest], times: Mapping[str, float]) -> Finding:
    """Add the number of seeds that would make a harmful loss significant."""
    test = tests.get(finding.flaw)
    unsure = finding.claim in (Claim.TOO_FEW, Claim.NO_SIGN)
    if not unsure or test is None or test.table is None or -finding.evidence[0].value <= HARMLESS:
        return finding
    return replace(finding, more=more_seeds(test.table, times[finding.flaw]))


def _particular_cases(
    patterns: Iterable[LossPattern], present: Collection[str], results: Sequence[TaskChanges]
) -> list[Finding]:
    """Return the significant losses that are unrelated to the flaws that were found; each case once."""
    covered = {*present, *(flaw for cause in present for flaw in describe_flaw(cause).consequences)}
    changes = {condition: change for result in results for condition, change in result.changes.items()}
    kept: list[LossPattern] = []
    for pattern in patterns:
        if pattern.p_adjusted >= SURE or pattern.kind is PatternKind.AXIS:
            continue
        change = pattern.change or changes.get(pattern.what, "")
        if change and set(shown_by(change)) & covered:
            continue
        if pattern.kind is PatternKind.SAYING and Flaw.WORDING in present and not pattern.task:
            continue
        if not any(_overlap(pattern, other) for other in kept):
            kept.append(pattern)
    evidence = []
    for pattern in kept:
        hits, count, reference_hits, reference_count = pattern.counts
        usual = reference_hits / reference_count
        difference, kind = hits / count - usual, pattern.kind.name.lower()
        part = (pattern.run, kind, pattern.what, difference, None, pattern.p)
        evidence.append(Evidence(*part, *pattern.counts, reference=usual, task=pattern.task))
    if not kept:
        return []
    p = kept[0].p_adjusted
    return [Finding(Flaw.PARTICULAR, Verdict.FOUND, Claim.PRESENT, None, tuple(evidence), p)]


def _overlap(first: LossPattern, second: LossPattern) -> bool:
    """Return whether two cases may share episodes, judged by their names."""
    phrasing = PatternKind.SAYING
    if (first.kind is phrasing) != (second.kind is phrasing):
        return False
    if first.task and second.task and first.task != second.task:
        return False
    if first.kind is not phrasing:
        return True
    ways = [set(FORMS.get(pattern.what, (pattern.what,))) for pattern in (first, second)]
    return bool(ways[0] & ways[1])


_WHOLE_CHANGE: Mapping[str, Change] = MappingProxyType(
    {Flaw.OTHER_TASKS: Change.TASK, Flaw.UNKNOWN_NAMES: Change.NAMES, Flaw.SURFACE: Change.SURFACE}
)
"""Flaw that is tested on parts of a change -> the complete change, which tables show."""


def _collect_p(
    tests: Sequence[FlawTest], raised: Sequence[float], patterns: Iterable[LossPattern]
) -> dict[tuple[int, str, str], float]:
    """Return the p value of every reported difference, by run, measure and part."""
    measures = {
        PatternKind.AXIS: AXES.name,
        PatternKind.TOGETHER: CHANGES.name,
        PatternKind.CONDITION: DROPS.name,
    }
    searched = {
        (pattern.run, measures[pattern.kind], pattern.what): pattern.p_adjusted
        for pattern in patterns
        if pattern.kind in measures
    }
    named = {
        (run, CHANGES.name, str(_WHOLE_CHANGE.get(test.flaw, first.part))): p
        for test, p in zip(tests, raised, strict=True)
        if test.flaw != Flaw.LOSS and (first := test.evidence[0]).cost
        for run in first.runs or (first.run,)
    }
    return searched | named
