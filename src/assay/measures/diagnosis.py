"""Diagnosis: the flaws of a policy, as claims with numbers; `sentences` describes them in English.

    for finding in diagnose(profile(libero), profile(para), profile(pro)):
        print(finding.verdict, finding.flaw, finding.degree, finding.p)

Each flaw is tested as a one-sided hypothesis by a measure. Runs are pooled, and all tests form one family
(`multiple_testing`): at most 5 % of the reports on a flawless policy claim a flaw. The degree follows from the
interval: *mostly* means significantly more than half. A flaw is *explained* if the episodes show that another flaw
causes it, and part of a general decline if all changes cost about the same. Losses that are not significant state how
many seeds would reveal a loss worth finding.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from assay.episodes.perturbation import Change
from assay.measures import LOSS_WORTH_FINDING
from assay.measures.attribution import ATTRIBUTION
from assay.measures.failure.starts import STARTS
from assay.measures.findings import (
    HARMLESS,
    Claim,
    Errors,
    Evidence,
    Fall,
    Finding,
    FlawTest,
    Unnoticed,
    Untested,
    Verdict,
    Where,
    select_results,
)
from assay.measures.flaws import BY_PATH, Degree, Flaw, shown_by
from assay.measures.measure import MEASURES, Profile, describe_flaw
from assay.measures.multiple_testing import AdjustedP, adjust, adjust_instead
from assay.measures.result import Missing, attempt
from assay.measures.sample_size import detectable, more_seeds, telling
from assay.measures.search import FORMS, LossPattern, PatternKind, search
from assay.measures.success.drops import AXES, CHANGES, DROPS
from assay.measures.success.other_tasks import OTHER_TASKS, replace_other_tasks
from assay.measures.success.rates import MAX_ERROR_SHARE
from assay.measures.success.task_changes import (
    TASK_CHANGES,
    TaskChanges,
    measure_cells,
    measure_task_changes,
    uneven_p,
)
from assay.support.stats.intervals import Interval
from assay.support.stats.significance import SURE, binomial_at_least, control_false_discoveries

OWN_FAILURES = 0.5
"""Minimum fraction of the failures that must repeat the control's trajectory for memorisation to explain a loss."""
MISJUDGED = 0.1
"""Tolerated fraction of repeated trajectories that are not recognised as such; one in twenty is expected."""
ABILITY = (Flaw.UNABLE, Flaw.MISSES, Flaw.KIND)
"""Flaws that are visible in unperturbed episodes and do not concern robustness."""
_MIN_CHANGES = 3
"""Minimum number of changes for the claim that all of them cost the same."""


def diagnose(*profiles: Profile, detect: float = LOSS_WORTH_FINDING) -> tuple[Finding, ...]:
    """Diagnose one policy from the profiles of its runs, with one finding for each flaw.

    Flaws that were found come first, in order of significance. Without any, a finding says so. Seeds are
    recommended for a loss of ``detect`` (0 to 1).
    """
    return examine(*profiles, detect=detect)[0]


def examine(*profiles: Profile, detect: float = LOSS_WORTH_FINDING) -> tuple[tuple[Finding, ...], AdjustedP]:
    """Return the findings of `diagnose`, and the adjusted p values of all comparisons for `with_adjusted_p`."""
    tests, untested = _run_tests(profiles)
    values, least = [test.p for test in tests], [test.least_p for test in tests]
    raised = adjust(values, least)
    best: dict[str, FlawTest] = {}
    findings: list[Finding] = []
    for flaw in dict.fromkeys((*Flaw, *(test.flaw for test in tests), *untested)):
        places = sorted(
            (place for place, test in enumerate(tests) if test.flaw == flaw),
            key=lambda place: (adjust_instead(place, least[place], values, least) >= SURE, values[place]),
        )
        if not places:
            if flaw in untested:
                no_test = (Verdict.CANNOT_TELL, Claim.UNTESTED, None, (), None)
                findings.append(Finding(flaw, *no_test, untested=untested[flaw]))
            continue
        first, p = tests[places[0]], raised[places[0]]
        # Holm's factor once all tests have enough starts: tests that are already significant do not count.
        surer = sum(value < first.p and value < SURE / len(values) for value in values)
        best[flaw] = first = replace(first, family_factor=len(values) - surer)
        verdict, claim = Verdict.FOUND, Claim.PRESENT
        if adjust_instead(places[0], least[places[0]], values, least) >= SURE:
            verdict, claim = Verdict.CANNOT_TELL, Claim.TOO_FEW
        elif p >= SURE or first.size.low <= 0 or abs(first.evidence[0].value) < first.min_effect:
            verdict, claim = Verdict.NOT_FOUND, Claim.ABSENT if first.refuted else Claim.NO_SIGN
        evidence = tuple(evidence for place in places for evidence in tests[place].evidence)
        findings.append(
            Finding(flaw, verdict, claim, Degree.of(first.size), evidence, p, detail=first.detail)
        )
    every = list(enumerate(profiles))
    changes, others = select_results(every, TASK_CHANGES)[1], select_results(every, OTHER_TASKS)[1]
    pooled = changes[0] if changes else None
    if len(changes) > 1:
        pooled = measure_task_changes(pl.concat(change.rows for change in changes))
    frames = [*(change.rows for change in changes), *(other.rows for other in others)]
    paired = pl.concat(frames, how="diagonal") if frames else None
    present = {finding.flaw: best[finding.flaw] for finding in findings if finding.verdict is Verdict.FOUND}
    findings = [_complete(finding, present, paired, pooled) for finding in findings]
    seeds = _count_seeds(profiles)
    for place, finding in enumerate(findings):
        is_unsure = finding.claim in (Claim.TOO_FEW, Claim.NO_SIGN)
        if is_unsure and (design := _design(best[finding.flaw])) is not None:
            findings[place] = replace(finding, more=more_seeds(detect, *design, seeds))
    patterns = search(every)
    findings += _particular_cases(patterns, present, changes)
    findings = _with_headline(findings, best, pooled, profiles)
    errors = sum(sum(profile.errors.values()) for profile in profiles)
    if errors > MAX_ERROR_SHARE * (done := sum(profile.done for profile in profiles)):
        refusal = (Verdict.CANNOT_TELL, Claim.ERRORS, None, (), None)
        findings = [finding for finding in findings if finding.flaw != Flaw.NOTHING]
        findings.append(Finding(Flaw.NOTHING, *refusal, detail=Errors(errors, done)))
    order = list(Verdict)
    findings.sort(
        key=lambda finding: (
            finding.claim is not Claim.ERRORS,
            finding.flaw not in (Flaw.NOTHING, Flaw.LOSS),
            order.index(finding.verdict),
            finding.p or 0.0,
        )
    )
    return tuple(findings), _collect_p(tests, raised, patterns, profiles)


def _run_tests(profiles: Sequence[Profile]) -> tuple[list[FlawTest], dict[str, Untested]]:
    """Return all tests that the runs allow, and the reason why each remaining flaw cannot be tested.

    If the tests of a measure raise an exception, its flaws are reported as untested.
    """
    tests: list[FlawTest] = []
    untested: dict[str, Untested] = {}
    for measure in (MEASURES[name] for name in MEASURES):
        having = [(run, profile) for run, profile in enumerate(profiles) if measure.name in profile]
        if measure.tests is None or not having:
            continue
        results = attempt(lambda tests, runs: list(tests(runs)), measure.tests, having)
        if isinstance(results, Missing):
            reason = (f"its test {results.missing}",)
            results = [Untested(flaw.name, measure.name, notes=reason) for flaw in measure.flaws]
        for test in results:
            if isinstance(test, Untested):
                untested.setdefault(test.flaw, test)
            else:
                tests.append(test)
    return tests, untested


def _complete(
    finding: Finding,
    present: Mapping[str, FlawTest],
    paired: pl.DataFrame | None,
    pooled: TaskChanges | None,
) -> Finding:
    """Add a flaw's cause and tasks if it was found."""
    if finding.claim is not Claim.PRESENT:
        return finding
    causes = (flaw for flaw in present if explains(present[flaw], present[finding.flaw], paired))
    if (cause := next(causes, None)) is not None:
        finding = replace(finding, verdict=Verdict.EXPLAINED, cause=cause)
    if pooled is None or finding.flaw == Flaw.LOSS:
        return finding
    rows = pooled.rows.filter(_shown_by_alone(finding.flaw))
    if (count := rows["task"].n_unique()) < 2:
        return finding
    p, change = uneven_p(rows), finding.evidence[0].part
    is_uneven = p is not None and p < SURE
    cells = measure_cells(change, rows.with_columns(change=pl.lit(change))) if is_uneven else []
    return replace(finding, where=Where(p, tuple(cell for cell in cells if cell.more_p < SURE), count))


def _shown_by_alone(flaw: str) -> pl.Expr:
    """Return a polars expression that is true if the change in a row reveals only this flaw."""
    return pl.col("change").map_elements(lambda change: shown_by(change) == (flaw,), return_dtype=pl.Boolean)


def explains(cause: FlawTest, other: FlawTest, rows: pl.DataFrame | None) -> bool:
    """Return whether one flaw that was found causes another.

    For example, a policy that repeats memorised trajectories fails when objects are moved. The episodes show it: those
    that fail repeat the control's trajectory, and the others succeed as often as the controls. If the failures follow
    other trajectories, memorisation does not explain them.

    ``rows`` are all perturbed episodes with a control, with the columns task, start, change, success,
    control_success, alike (repeats the control's trajectory; null if not judged) and elsewhere (starts at a
    different position from the control).
    """
    if other.flaw not in describe_flaw(cause.flaw).consequences:
        return False
    covers = abs(cause.evidence[0].value) >= other.size.low - max(other.min_effect, HARMLESS)
    if cause.flaw not in BY_PATH or other.flaw == Flaw.IGNORES_WORDS or rows is None:
        return covers
    affected = rows.filter(_shown_by_alone(other.flaw))
    is_lost = (pl.col("control_success") == 1) & (pl.col("success") == 0)
    lost, judged = affected.filter(is_lost), affected.drop_nulls("alike")
    if not len(judged):
        return covers and bool(len(lost)) and bool(lost["elsewhere"].all())
    failures = judged.filter(is_lost)
    if not len(failures) or failures["alike"].mean() < OWN_FAILURES:  # type: ignore[operator]
        return False
    # If memorisation were the only flaw, trajectories that differ from the control's would fail as often as controls
    # do, and a few repeated trajectories would not be recognised as such.
    repeated, control = float(judged["alike"].mean()), float(affected["control_success"].mean())  # type: ignore[arg-type]
    expected = (1 - repeated) * (1 - control) + repeated * MISJUDGED
    others = int((~failures["alike"]).sum())
    return others <= HARMLESS * len(judged) or binomial_at_least(others, len(judged), expected) >= SURE


def _with_headline(
    findings: Sequence[Finding],
    tests: Mapping[str, FlawTest],
    pooled: TaskChanges | None,
    profiles: Sequence[Profile],
) -> list[Finding]:
    """Add the headline to the findings, unless flaws were found that serve as the headline.

    The headline is the overall drop if all changes cost about the same or no specific flaw was found; changes that cost
    no more than it are parts of it. Without a significant drop, it states that there is too little data or that no
    flaw was found.
    """
    named = {finding.flaw for finding in findings if finding.verdict is Verdict.FOUND}
    robust = named - {*ABILITY, Flaw.LOSS, Flaw.PARTICULAR}
    rest = [finding for finding in findings if finding.flaw != Flaw.LOSS]
    lost = next((finding for finding in findings if finding.flaw == Flaw.LOSS), None)
    costs = [finding for finding in rest if finding.evidence and finding.evidence[0].cost]
    suspicious = [cost for cost in costs if len(costs) > 1 and cost.is_suspicious]
    likely = min(suspicious, key=lambda cost: cost.p or 0.0, default=None)
    fall = _measure_fall(tests.get(Flaw.LOSS), pooled, lost, likely)
    if fall is not None and lost is not None and Flaw.LOSS in named:
        lost = replace(lost, detail=fall)
        is_alike = fall.alike_p is not None and fall.alike_p >= SURE and not robust & set(BY_PATH)
        if robust and not is_alike:
            return rest
        if is_alike and not fall.costly:
            rest = [_as_part(finding, lost) for finding in rest]
        if is_alike or lost.evidence[0].part:
            kinds = {PatternKind.CONDITION.name.lower(), PatternKind.TOGETHER.name.lower()}
            rest = [  # without the losses of single conditions, which are part of it
                finding
                for finding in rest
                if finding.flaw != Flaw.PARTICULAR or {item.measure for item in finding.evidence} - kinds
            ]
        return [*rest, lost]
    if robust or Flaw.PARTICULAR in named:
        return rest
    # If changes are only made together, the drop over all of them is known.
    tested = [*rest, *([lost] if lost is not None and not costs else [])]
    tested = [finding for finding in tested if finding.verdict is Verdict.NOT_FOUND]
    seen, flaw, loss = _sensitivity(tested, tests)
    if fall is not None:
        observed = fall.control_hits / fall.control_count - fall.hits / fall.count
        is_suspicious = observed > HARMLESS and fall.p is not None and fall.p < SURE
        if seen is None or likely is not None or is_suspicious:
            too_few = (Verdict.CANNOT_TELL, Claim.TOO_FEW, None, (), None)
            return [*rest, Finding(Flaw.NOTHING, *too_few, detail=fall)]
    if named:
        return rest
    if not tested:
        starts = select_results(list(enumerate(profiles)), STARTS)[1]
        reason = None
        if starts and all(result.rows["seed"].n_unique() < 2 for result in starts):
            reason = Untested(
                Flaw.NOTHING, STARTS.name, True, ("one seed is not enough; use at least 2 seeds",)
            )
        no_test = (Verdict.CANNOT_TELL, Claim.UNTESTED, None, (), None)
        return [*rest, Finding(Flaw.NOTHING, *no_test, untested=reason)]
    few = sum(finding.claim is Claim.TOO_FEW for finding in rest)
    replays = tests[Flaw.MEMORISES].size.high if Flaw.MEMORISES in tests else None
    detail = Unnoticed(len(tested), flaw, loss, seen, few, replays)
    firsts = tuple(finding.evidence[0] for finding in tested)
    return [*rest, Finding(Flaw.NOTHING, Verdict.FOUND, Claim.PRESENT, None, firsts, None, detail=detail)]


def _as_part(finding: Finding, decline: Finding) -> Finding:
    """Return a loss that is not larger than the general decline as a part of it, and other findings unchanged."""
    first = finding.evidence[0] if finding.evidence else None
    if finding.verdict is not Verdict.FOUND or first is None or not first.cost or first.interval is None:
        return finding
    is_larger = first.interval.high < decline.evidence[0].value
    return finding if is_larger else replace(finding, verdict=Verdict.EXPLAINED, cause=Flaw.LOSS)


def _count_seeds(profiles: Sequence[Profile]) -> int:
    """Return the number of seeds so far, of the task with the most seeds."""
    results = select_results(list(enumerate(profiles)), STARTS)[1]
    seeds = {
        (task, seed) for result in results for task, seed in result.rows.select("task", "seed").iter_rows()
    }
    return max(Counter(task for task, _ in seeds).values(), default=0)


def _design(test: FlawTest) -> tuple[float, Interval, int, float, float] | None:
    """Return the arguments of `detectable` that describe a test; None if it does not test the cost of a change."""
    first = test.evidence[0]
    usual = first.reference
    if usual is None and first.reference_count:
        usual = (first.reference_hits or 0) / first.reference_count
    if not first.cost or first.interval is None or not test.least_p or usual is None:
        return None
    starts = round(-math.log2(test.least_p))
    return usual, first.interval, starts, test.family_factor, max((first.count or 1) / max(starts, 1), 1.0)


def _sensitivity(
    tested: Sequence[Finding], tests: Mapping[str, FlawTest]
) -> tuple[float | None, str | None, float | None]:
    """Return the smallest loss detectable under all changes, the flaw with the widest interval, and its upper
    bound."""
    sizes: list[float | None] = []
    unknown: dict[str, float] = {}
    for finding in tested:
        test, first = tests.get(finding.flaw), finding.evidence[0]
        if test is None or not first.cost:
            continue
        assert first.interval is not None
        unknown[finding.flaw] = min(
            -evidence.interval.low
            for evidence in finding.evidence
            if evidence.cost and evidence.interval is not None
        )
        if (design := _design(test)) is not None:
            sizes.append(detectable(*design))
    seen = None if None in sizes else max((size for size in sizes if size is not None), default=None)
    widest = max(unknown, key=lambda flaw: unknown[flaw], default=None)
    return seen, widest, None if widest is None else unknown[widest]


def _measure_fall(
    test: FlawTest | None, pooled: TaskChanges | None, lost: Finding | None, likely: Finding | None
) -> Fall | None:
    """Return the overall drop in success; None if it was not tested."""
    if test is None or test.table is None:
        return None
    control, count = (test.table[name].to_numpy().astype(float) for name in ("control", "count"))
    before = int(np.rint(control / count).sum()), len(count)
    after = int(test.table["perturbed"].sum()), int(count.sum())
    costs = pooled.costs if pooled is not None and len(pooled.costs) >= _MIN_CHANGES else ()
    return Fall(
        *before,
        *after,
        telling=telling(test.table),
        more=None if lost is None else lost.more,
        p=test.p,
        alike_p=pooled.alike_p if pooled is not None and costs else None,
        costly=tuple(
            cost.change
            for cost in costs
            if cost.more is not None and cost.more < 0 and (cost.more_p or 0.0) < SURE
        ),
        likely=None if likely is None else likely.flaw,
        likely_p=None if likely is None else likely.p,
    )


def _particular_cases(
    patterns: Iterable[LossPattern], present: Collection[str], results: Sequence[TaskChanges]
) -> list[Finding]:
    """Return an exploratory finding with the losses that no other finding covers; empty without such losses.

    A covered pattern keeps its place in the family but has no evidence, which leaves the control of false discoveries
    valid. Of patterns that may share episodes, only that with the most evidence is reported.
    """
    covered = {*present, *(flaw for cause in present for flaw in describe_flaw(cause).consequences)}
    changes: dict[str, set[str]] = {}
    for result in results:
        own = dict(result.rows.group_by("condition").agg(pl.col("change").unique()).iter_rows())
        for condition, change in result.changes.items():  # the rows tell names from other words
            changes.setdefault(condition, set()).update(own.get(condition, [change]))

    def is_covered(pattern: LossPattern) -> bool:
        own = {pattern.change} if pattern.change else changes.get(pattern.what, set())
        if own and all(set(shown_by(change)) & covered for change in own):
            return True
        return pattern.kind is PatternKind.SAYING and Flaw.WORDING in present and not pattern.task

    pairs = [(pattern.log_evidence, pattern) for pattern in patterns if pattern.log_evidence is not None]
    pairs = [(-math.inf if is_covered(pattern) else value, pattern) for value, pattern in pairs]
    pairs.sort(key=lambda pair: -pair[0])
    levels = control_false_discoveries([value for value, _ in pairs])
    discoveries = [
        (level, pattern) for level, (_, pattern) in zip(levels, pairs, strict=True) if level < SURE
    ]
    kept: list[LossPattern] = []
    evidence = []
    for _, pattern in discoveries:
        if any(_overlap(pattern, other) for other in kept):
            continue
        kept.append(pattern)
        hits, count, reference_hits, reference_count = pattern.counts
        usual = reference_hits / reference_count
        part = (pattern.run, pattern.kind.name.lower(), pattern.what, hits / count - usual, None, pattern.p)
        evidence.append(Evidence(*part, *pattern.counts, reference=usual, task=pattern.task))
    if not discoveries:
        return []
    return [
        Finding(
            *(Flaw.PARTICULAR, Verdict.FOUND, Claim.PRESENT, None, tuple(evidence)),
            max(level for level, _ in discoveries),
            exploratory=True,
        )
    ]


def _overlap(first: LossPattern, second: LossPattern) -> bool:
    """Return whether two loss patterns may share episodes, according to their kinds, tasks and phrasings."""
    phrasing = PatternKind.SAYING
    if (first.kind is phrasing) != (second.kind is phrasing):
        return False
    if first.task and second.task and first.task != second.task:
        return False
    if first.kind is not phrasing:
        return True
    ways = [set(FORMS.get(pattern.what, (pattern.what,))) for pattern in (first, second)]
    return bool(ways[0] & ways[1])


def _collect_p(
    tests: Sequence[FlawTest],
    raised: Sequence[float],
    patterns: Iterable[LossPattern],
    profiles: Sequence[Profile],
) -> dict[tuple[int, str, str], float]:
    """Return the adjusted p value of every reported difference, by run, measure and part.

    A flaw may be tested on other episodes than those of a row: on all combinations of a factor, or on several runs.
    The row's own p value is then adjusted in place of that test's, and is significant only if that test is.
    """
    measures = {
        PatternKind.AXIS: AXES.name,
        PatternKind.TOGETHER: CHANGES.name,
        PatternKind.CONDITION: DROPS.name,
    }
    # These flaws are tested on parts of a change; tables show the complete change.
    whole: Mapping[str, Change] = {
        Flaw.OTHER_TASKS: Change.TASK,
        Flaw.UNKNOWN_NAMES: Change.NAMES,
        Flaw.SURFACE: Change.SURFACE,
    }
    searched = {
        (pattern.run, measures[pattern.kind], pattern.what): pattern.p_adjusted
        for pattern in patterns
        if pattern.kind in measures
    }
    named: dict[tuple[int, str, str], float] = {}
    values, least = [test.p for test in tests], [test.least_p for test in tests]
    for place, test in enumerate(tests):
        first = test.evidence[0]
        change = str(whole.get(test.flaw, first.part))
        for run in first.runs or (first.run,) if test.flaw != Flaw.LOSS and first.cost else ():
            for measure, part, p in _tests_of(change, profiles[run]):
                named[run, measure, part] = max(raised[place], adjust_instead(place, p, values, least))
    return searched | named


def _tests_of(change: str, profile: Profile) -> Iterator[tuple[str, str, float]]:
    """Yield the measure, the part and the p value of each row that shows the cost of a change."""
    for drop in replace_other_tasks(profile.get(CHANGES) or (), profile.get(OTHER_TASKS)):
        if drop.group["change"] == change and drop.p is not None:
            yield CHANGES.name, change, drop.p
    if (result := profile.get(ATTRIBUTION)) is not None:
        factors = {contrast.factor for contrast in result.contrasts if contrast.change == change}
        for effect in result.effects:
            if len(effect.factors) == 1 and effect.factors[0] in factors:
                yield ATTRIBUTION.name, effect.factors[0], effect.p
