"""What a diagnosis tests in runs on tables: does it go by the prompt, by the order of objects, at once, ...?

Where words are nonsense, or masked, nothing doable may be asked for any more. A policy that needs to be told then
succeeds by luck alone; how many of its successes it keeps tells how many it owes to something else. What a run
cannot tell for want of successes it does not tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from assay.extensions.tabletop.measures.instruction_use import (
    FIRST,
    MIN_SUCCESSES,
    TOLERATED,
    KeptSuccess,
    NothingMore,
    Novelty,
    Retried,
)
from assay.extensions.tabletop.measures.tabletop import TABLETOP, Tabletop
from assay.measures.evidence_text import format_counts, format_difference, format_share, format_unperturbed
from assay.measures.findings import HARMLESS, Profiles, Claim, Evidence, Finding, FlawTest, Untested, loss, one_sided_p, p_above_tolerated
from assay.measures.success.drops import drop_evidence
from assay.measures.flaws import Flaw
from assay.measures.result import Missing
from assay.measures.success.rates import CONTROLS, Rate
from assay.measures.views.wording import describe_change, percent
from assay.support.stats.intervals import Interval

ABLE = 0.1
"""A policy that succeeds in less than this share of the controls, beyond doubt, does not do the tasks."""
RARE = 0.2
"""A share that is small, if it is less than this beyond doubt."""
UNHARMED = 0.1
"""A loss that is small, if it is less than this beyond doubt."""
UNTOLD = MappingProxyType(
    {
        Flaw.UNTOLD: ("mask=instruction", "instruction=other"),
        Flaw.WORDLESS: ("mask=language", "gobbledygook=words", "gobbledygook=tokens"),
        Flaw.PICTURELESS: ("mask=visual",),
    }
)
"""Flaw -> conditions under which success is luck, the most telling first."""
LOST = MappingProxyType(
    {
        Flaw.WORDING: ("paraphrase",),
        Flaw.DESCRIBED: ("referents=text",),
        Flaw.ORDER: ("order=permuted",),
        Flaw.DIFFICULTY: (
            "difficulty=distracting",
            "difficulty=extreme",
            "difficulty=extremely-distracting",
        ),
    }
)
"""Flaw -> conditions under which success is expected."""
_ASKED = (*UNTOLD, *LOST, Flaw.RETRIES, Flaw.NOVELTY)


def prompt_tests(among: Profiles) -> Iterator[FlawTest | Untested]:
    """Everything that runs on tables can test, and what they cannot."""
    able = []
    for run, profile in among:
        found, control = profile.get(TABLETOP), profile.get(CONTROLS)
        if found is not None and control is not None and control.interval is not None:
            unable = _unable(control)
            yield _failing(run, control, unable)
            if not unable:
                able.append(found)
                yield from _of_run(run, found)
    for flaw in _ASKED if able else ():  # of a policy that does not do the tasks nothing else is asked
        notes = tuple(each.again.missing for each in able if isinstance(each.again, Missing))
        if flaw is Flaw.RETRIES and notes:
            yield Untested(flaw, TABLETOP.name, notes=notes[:1])
        else:
            yield Untested(flaw, TABLETOP.name, too_few=any(_has_data(flaw, each) for each in able))


def _has_data(flaw: Flaw, found: Tabletop) -> bool:
    """Whether a run has what could tell, if it only had more successes."""
    if flaw is Flaw.RETRIES:
        return isinstance(found.again, Retried)
    if flaw is Flaw.NOVELTY:
        return bool(found.novelty)
    return bool(
        {_bare(each.condition) for each in found.against} & {*UNTOLD.get(flaw, ()), *LOST.get(flaw, ())}
    )


def _unable(control: Rate) -> bool:
    """Whether nothing can be read from what succeeds: it is next to nothing, or little of what there is."""
    return control.interval is None or control.interval.high < (
        ABLE if control.successes >= MIN_SUCCESSES else 0.5
    )


def _failing(run: int, control: Rate, unable: bool) -> FlawTest:
    """How often nothing is changed and it fails all the same."""
    assert control.interval is not None
    failures = control.count - control.successes
    lost = Interval(1 - control.interval.high, 1 - control.interval.low, control.interval.method)
    p, share = p_above_tolerated(failures, control.count), 1 - control.successes / control.count
    evidence = Evidence(run, CONTROLS.name, "", share, lost, p, hits=failures, count=control.count)
    detail = NothingMore(control.interval.high < ABLE) if unable else None
    return FlawTest(Flaw.UNABLE, (evidence,), p, lost, refuted=lost.high < UNHARMED, detail=detail)


def _of_run(run: int, found: Tabletop) -> Iterator[FlawTest]:
    kept = {_bare(each.condition): each for each in found.kept if each.count >= MIN_SUCCESSES}
    for flaw, conditions in UNTOLD.items():
        yield from _untold(run, flaw, {name: kept[name] for name in conditions if name in kept})
    drops = {_bare(each.condition): each.allowed for each in found.against if each.level is None}
    enough = {name: each for name, each in drops.items() if each.both + each.only_control >= MIN_SUCCESSES}
    for flaw, conditions in LOST.items():
        evidence = [
            drop_evidence((run,), TABLETOP.name, name, enough[name]) for name in conditions if name in enough
        ]
        yield from _cost_tests(flaw, evidence)
    if isinstance(found.again, Retried) and found.again.successes >= MIN_SUCCESSES:
        yield _retries_test(run, found.again)
    novel = [_novelty_evidence(run, each) for each in found.novelty if each.hits >= MIN_SUCCESSES]
    yield from _cost_tests(Flaw.NOVELTY, novel)


def _untold(run: int, flaw: Flaw, known: Mapping[str, KeptSuccess]) -> Iterator[FlawTest]:
    """Success where nothing doable is asked for, condition by condition."""
    refuted = all(each.interval.high < RARE for each in known.values())
    for name, each in known.items():
        evidence = Evidence(
            run, TABLETOP.name, name, each.share, each.interval, each.p, hits=each.kept, count=each.count
        )
        yield FlawTest(flaw, (evidence,), each.p, each.interval, TOLERATED, refuted=refuted)


def _cost_tests(flaw: Flaw, evidence: Sequence[Evidence]) -> Iterator[FlawTest]:
    """Losses where success is expected, one test for each."""
    sizes = [loss(each.interval) for each in evidence if each.interval is not None]
    refuted = all(size.high < UNHARMED for size in sizes)
    for each, size in zip(evidence, sizes, strict=True):
        assert each.p is not None
        yield FlawTest(flaw, (each,), each.p, size, HARMLESS, refuted=refuted)


def _retries_test(run: int, found: Retried) -> FlawTest:
    evidence = Evidence(
        run,
        TABLETOP.name,
        "again",
        found.share,
        found.interval,
        found.p,
        hits=found.again,
        count=found.successes,
        reference_hits=found.successes,
        reference_count=found.count,
    )
    return FlawTest(Flaw.RETRIES, (evidence,), found.p, found.interval, refuted=found.interval.high < RARE)


def _novelty_evidence(run: int, each: Novelty) -> Evidence:
    """A level against the first."""
    return Evidence(
        run,
        TABLETOP.name,
        each.level,
        each.change,
        each.interval,
        one_sided_p(each.change, each.p),
        share=each.score.score,
        reference=each.usual.score,
        cost=True,
        same_tasks=each.same_tasks,
    )


def _bare(condition: str) -> str:
    """A condition without the folder that an experiment may put before it."""
    return condition.rpartition("/")[2]


NEW = MappingProxyType({"L2": "new combinations", "L3": "new objects", "L4": "new tasks"})


def _others(rest: Iterable[Evidence]) -> str:
    """Other conditions of the same flaw, in brief."""
    return "".join(f"; {counted(each.hits, each.count)} {describe_change(each.part)}" for each in rest)


def _kept_words(finding: Finding) -> tuple[str, str]:
    first, *rest = finding.evidence
    said = (
        f"{describe_change(first.part)} it keeps {counted(first.hits, first.count)} successes "
        f"({share_said(first.value, first.interval)}){_others(rest)}"
    )
    return said, f"{100 * TOLERATED:.0f} % may be chance" if finding.claim is Claim.PRESENT else ""


def _paired_words(finding: Finding) -> tuple[str, str]:
    first, *rest = finding.evidence
    return (
        f"{counted(first.hits, first.count)} succeed {describe_change(first.part)}, "
        f"{unperturbed_said(first)} unperturbed "
        f"({difference_said(first)}){_others(rest)}",
        "",
    )


def _retries_words(finding: Finding) -> tuple[str, str]:
    first = finding.evidence[0]
    straight = (first.count or 0) - (first.hits or 0)
    return (
        f"{counted(first.hits, first.count)} successes took more than the fewest actions "
        f"({share_said(first.value, first.interval)}; sweeps left out): "
        f"{counted(first.reference_hits, first.reference_count)} succeed with mistakes allowed, {straight:,} without",
        "",
    )


def _novelty_words(finding: Finding) -> tuple[str, str]:
    first, *rest = finding.evidence
    others = "" if first.same_tasks else ", with other tasks, which may be easier"
    return (
        f"{_level_words(first)}, {percent(first.reference)} at {FIRST}{others} ({difference_said(first)})"
        + "".join(f"; {_level_words(each)}" for each in rest),
        "",
    )


def _level_words(each: Evidence) -> str:
    return f"{percent(each.share)} at {each.part} ({NEW.get(each.part, 'new')})"


_ON_TABLES: Mapping[str, Callable[[Finding], tuple[str, str]]] = MappingProxyType(
    {
        Flaw.UNTOLD: _kept_words,
        Flaw.WORDLESS: _kept_words,
        Flaw.PICTURELESS: _kept_words,
        Flaw.WORDING: _paired_words,
        Flaw.DESCRIBED: _paired_words,
        Flaw.ORDER: _paired_words,
        Flaw.DIFFICULTY: _paired_words,
        Flaw.RETRIES: _retries_words,
        Flaw.NOVELTY: _novelty_words,
    }
)
"""How the evidence of runs on tables is told."""


def tabletop_wording(finding: Finding) -> tuple[str, str]:
    """The evidence of a run on tables, and a caveat."""
    return _ON_TABLES[finding.flaw](finding)
