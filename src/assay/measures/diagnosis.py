"""Diagnosis: what is wrong with a policy, as claims with numbers; ``assay.report.sentences`` puts them into words.

    for finding in diagnose(profile(libero), profile(para), profile(pro)):
        print(finding.verdict, finding.flaw, finding.degree, finding.p)

Each flaw is a hypothesis that a measure has tested against chance, on one side: only what is worse is a flaw.
What several runs have measured is taken together, and everything that is tested is one family (``family``): of a
flawless policy something is claimed in 5 % of the reports at most. How much of it there is, is said from the
interval: *mostly* is more than half beyond doubt. A flaw that another one brings about is *explained*, if the very
episodes show it (``causes``). Where the starts that can tell are too few to make a flaw certain, the finding says so,
and how many seeds would do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import polars as pl

from assay.episodes.perturbation import Change
from assay.measures.causes import explains
from assay.measures.enough import more_seeds
from assay.measures.evidence import HARMLESS, FlawTest, Untested
from assay.measures.family import adjusted, least_adjusted, multiplier
from assay.measures.findings import Claim, Finding, Verdict, Where
from assay.measures.flaws import Flaw, shown_by
from assay.measures.headline import FIRST, headline
from assay.measures.measure import MEASURES, load
from assay.measures.one_family import Adjusted, shown
from assay.measures.particular import particular
from assay.measures.profile import Profile
from assay.measures.search import Kind, Pattern, search
from assay.measures.success.drops import AXES, CHANGES, DROPS
from assay.measures.success.other_tasks import OTHER_TASKS
from assay.measures.success.task_changes import TASK_CHANGES, TaskChanges, cells, pooled, uneven_p
from assay.support.stats.significance import SURE


@dataclass(frozen=True, slots=True)
class Examination:
    """A diagnosis, and the p of everything that was compared on the way."""

    findings: tuple[Finding, ...]
    adjusted: Adjusted
    """Run, measure and part (a change, an axis, a condition) -> p, one-sided, adjusted for the whole family."""

    def shown(self, profile: Profile, run: int = 0) -> Profile:
        """The profile of one of the runs, in which each difference has the one p of the diagnosis."""
        return shown(profile, self.adjusted, run)


def diagnose(*profiles: Profile) -> tuple[Finding, ...]:
    """What is wrong with one policy, from the profiles of its runs: one finding for each flaw.

    What is found comes first, the surest at the head; that nothing is found is a finding too.
    """
    return examine(*profiles).findings


def examine(*profiles: Profile) -> Examination:
    """The same, with the p of everything that was compared."""
    tested, untested = _tests(profiles)
    values, least = [test.p for test in tested], [test.least_p for test in tested]
    raised = adjusted(values, least)
    best: dict[str, int] = {}
    findings: list[Finding] = []
    for flaw in dict.fromkeys((*Flaw, *(test.flaw for test in tested), *untested)):
        mine = sorted(
            (place for place, test in enumerate(tested) if test.flaw == flaw),
            key=lambda place: (least_adjusted(place, values, least) >= SURE, values[place]),
        )
        if mine:
            first = mine[0]
            few = least_adjusted(first, values, least) >= SURE
            findings.append(_finding([tested[place] for place in mine], raised[first], few))
            best[flaw] = first
        elif flaw in untested:
            findings.append(
                Finding(flaw, Verdict.CANNOT_TELL, Claim.UNTESTED, None, (), None, untested=untested[flaw])
            )
    tests = {flaw: tested[place] for flaw, place in best.items()}
    times = {flaw: multiplier(place, values) for flaw, place in best.items()}
    together = _together(profiles)
    here = {finding.flaw: tests[finding.flaw] for finding in findings if finding.verdict is Verdict.FOUND}
    findings = [_explained(finding, here, _paired(profiles)) for finding in findings]
    findings = [_with_where(finding, together) for finding in findings]
    findings = [_with_more(finding, tests, times) for finding in findings]
    patterns = search(list(enumerate(profiles)))
    findings += particular(patterns, here, profiles)
    findings = headline(findings, tests, times, together, profiles)
    order = list(Verdict)
    ranked = sorted(
        findings,
        key=lambda each: (each.flaw not in FIRST, order.index(each.verdict), each.p or 0.0),
    )
    return Examination(tuple(ranked), _all_p(tested, raised, patterns))


def _tests(profiles: Sequence[Profile]) -> tuple[list[FlawTest], dict[str, Untested]]:
    """Everything that the runs can test, and why they cannot test the rest."""
    tested: list[FlawTest] = []
    untested: dict[str, Untested] = {}
    for measure in (MEASURES[name] for name in MEASURES):
        among = [(run, each) for run, each in enumerate(profiles) if measure.name in each]
        for test in load(measure.tests)(among) if measure.tests and among else ():
            if isinstance(test, Untested):
                untested.setdefault(test.flaw, test)
            else:
                tested.append(test)
    return tested, untested


def _finding(tests: Sequence[FlawTest], p: float, too_few: bool) -> Finding:
    best = tests[0]
    verdict, claim = Verdict.FOUND, Claim.PRESENT
    if too_few:
        verdict, claim = Verdict.CANNOT_TELL, Claim.TOO_FEW
    elif p >= SURE or best.size.low <= 0 or abs(best.evidence[0].value) < best.min_effect:
        verdict, claim = Verdict.NOT_FOUND, Claim.ABSENT if best.refuted else Claim.NO_SIGN
    evidence = tuple(each for test in tests for each in test.evidence)
    return Finding(best.flaw, verdict, claim, best.degree, evidence, p, detail=best.detail)


def _explained(finding: Finding, here: Mapping[str, FlawTest], rows: pl.DataFrame | None) -> Finding:
    if finding.flaw not in here:
        return finding
    causes = [flaw for flaw, cause in here.items() if explains(cause, here[finding.flaw], rows)]
    return replace(finding, verdict=Verdict.EXPLAINED, cause=causes[0]) if causes else finding


def _paired(profiles: Sequence[Profile]) -> pl.DataFrame | None:
    """All perturbed episodes beside their controls, requests for other tasks among them."""
    found = [
        each.rows
        for profile in profiles
        for each in (profile.get(TASK_CHANGES), profile.get(OTHER_TASKS))
        if each is not None
    ]
    return pl.concat(found) if found else None


def _together(profiles: Sequence[Profile]) -> TaskChanges | None:
    """Tasks x changes of all runs."""
    found = [each for profile in profiles if (each := profile.get(TASK_CHANGES)) is not None]
    return found[0] if len(found) == 1 else pooled([each.rows for each in found]) if found else None


def _with_where(finding: Finding, together: TaskChanges | None) -> Finding:
    """In which tasks a flaw that was found shows."""
    if finding.claim is not Claim.PRESENT or together is None or finding.flaw == Flaw.LOSS:
        return finding
    rows = together.rows.filter(
        pl.col("change").map_elements(
            lambda change: shown_by(change) == (finding.flaw,), return_dtype=pl.Boolean
        )
    )
    if rows["task"].n_unique() < 2:
        return finding
    p = uneven_p(rows)
    change = finding.evidence[0].part
    found = cells(change, rows.with_columns(change=pl.lit(change))) if p is not None and p < SURE else []
    sure = tuple(each for each in found if each.more_p < SURE)
    return replace(finding, where=Where(p, sure, rows["task"].n_unique()))


def _with_more(finding: Finding, tests: Mapping[str, FlawTest], times: Mapping[str, float]) -> Finding:
    """How many seeds would make a loss certain that is not, where it does harm."""
    test = tests.get(finding.flaw)
    unsure = finding.claim in (Claim.TOO_FEW, Claim.NO_SIGN)
    if not unsure or test is None or test.table is None or -finding.evidence[0].value <= HARMLESS:
        return finding
    return replace(finding, more=more_seeds(test.table, times[finding.flaw]))


_WHOLE: Mapping[str, Change] = MappingProxyType(
    {
        Flaw.OTHER_TASKS: Change.TASK,
        Flaw.UNKNOWN_NAMES: Change.NAMES,
        Flaw.SURFACE: Change.SURFACE,
    }
)
"""Flaws whose test is not that of the change itself, but of what it is made of -> the change that is shown."""


def _all_p(
    tested: Sequence[FlawTest], raised: Sequence[float], patterns: Iterable[Pattern]
) -> dict[tuple[int, str, str], float]:
    """The p of every difference that is shown, under its run and the names of its measure and its part."""
    measures = {Kind.AXIS: AXES.name, Kind.TOGETHER: CHANGES.name, Kind.CONDITION: DROPS.name}
    found = {
        (pattern.run, measures[pattern.kind], pattern.what): pattern.p_adjusted
        for pattern in patterns
        if pattern.kind in measures
    }
    named = {
        (run, CHANGES.name, str(_WHOLE.get(test.flaw, first.part))): p
        for test, p in zip(tested, raised, strict=True)
        if test.flaw != Flaw.LOSS and (first := test.evidence[0]).cost
        for run in first.runs or (first.run,)
    }
    return found | named
