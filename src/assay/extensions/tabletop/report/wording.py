"""The evidence of runs on tables in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from assay.extensions.tabletop.measures.instruction_use import FIRST, TOLERATED
from assay.measures.evidence import Evidence
from assay.measures.findings import Claim, Finding
from assay.measures.flaws import Flaw
from assay.measures.views.wording import describe_change, percent
from assay.report.evidence_words import counted, difference_said, share_said, unperturbed_said

NEW = MappingProxyType({"L2": "new combinations", "L3": "new objects", "L4": "new tasks"})


def _others(rest: Iterable[Evidence]) -> str:
    """Other conditions of the same flaw, in brief."""
    return "".join(f"; {counted(each.hits, each.count)} {describe_change(each.part)}" for each in rest)


def _kept(finding: Finding) -> tuple[str, str]:
    first, *rest = finding.evidence
    said = (
        f"{describe_change(first.part)} it keeps {counted(first.hits, first.count)} successes "
        f"({share_said(first.value, first.interval)}){_others(rest)}"
    )
    return said, f"{100 * TOLERATED:.0f} % may be chance" if finding.claim is Claim.PRESENT else ""


def _paired(finding: Finding) -> tuple[str, str]:
    first, *rest = finding.evidence
    return (
        f"{counted(first.hits, first.count)} succeed {describe_change(first.part)}, "
        f"{unperturbed_said(first)} unperturbed "
        f"({difference_said(first)}){_others(rest)}",
        "",
    )


def _again(finding: Finding) -> tuple[str, str]:
    first = finding.evidence[0]
    straight = (first.count or 0) - (first.hits or 0)
    return (
        f"{counted(first.hits, first.count)} successes took more than the fewest actions "
        f"({share_said(first.value, first.interval)}; sweeps left out): "
        f"{counted(first.reference_hits, first.reference_count)} succeed with mistakes allowed, {straight:,} without",
        "",
    )


def _novel(finding: Finding) -> tuple[str, str]:
    first, *rest = finding.evidence
    others = "" if first.same_tasks else ", with other tasks, which may be easier"
    return (
        f"{_level(first)}, {percent(first.reference)} at {FIRST}{others} ({difference_said(first)})"
        + "".join(f"; {_level(each)}" for each in rest),
        "",
    )


def _level(each: Evidence) -> str:
    return f"{percent(each.share)} at {each.part} ({NEW.get(each.part, 'new')})"


_ON_TABLES: Mapping[str, Callable[[Finding], tuple[str, str]]] = MappingProxyType(
    {
        Flaw.UNTOLD: _kept,
        Flaw.WORDLESS: _kept,
        Flaw.PICTURELESS: _kept,
        Flaw.WORDING: _paired,
        Flaw.DESCRIBED: _paired,
        Flaw.ORDER: _paired,
        Flaw.DIFFICULTY: _paired,
        Flaw.RETRIES: _again,
        Flaw.NOVELTY: _novel,
    }
)
"""How the evidence of runs on tables is told."""


def table_wording(finding: Finding) -> tuple[str, str]:
    """The evidence of a run on tables, and a caveat."""
    return _ON_TABLES[finding.flaw](finding)
