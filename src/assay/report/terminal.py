"""A report's summary for a terminal: what is wrong, the numbers that matter most, and what was found besides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay.measures.sentences import Diagnosis, not_tested
from assay.report.advice import advice
from assay.report.run_report import RunReport
from assay.report.summary import banners, key_numbers, sentences


def summary(report: RunReport, *, alone: bool = True) -> Iterator[tuple[str, str]]:
    """Lines, each with its style: ``bold``, ``yellow``, ``cyan``, ``dim``, or empty.

    Of a run that is not ``alone``, what was not tested is told once for all: `untested_summary`.
    """
    yield f"{report.title} ({report.name})" if report.name not in report.title else report.title, "bold"
    for line in banners(report):
        yield line, "yellow"
    told = report.told
    yield from _diagnosis(told)
    if report.only_errors:
        yield from ((traceback, "") for traceback in report.tracebacks[:3])
    for advised in advice(report):
        yield f"{advised.text} {advised.command}".strip(), "cyan"
    numbers = key_numbers(report.profile)
    widest = max((len(number.name) for number in numbers), default=0)
    for number in numbers:
        yield f"  {number.name:<{widest}}  {number.value}  ({number.detail})", ""
    for line in sentences(report.profile):
        yield f"- {line}", ""
    for line in (*told.others, *(told.not_tested if alone else ())):
        yield f"- {line}", "dim"


def untested_summary(reports: Sequence[RunReport]) -> Iterator[tuple[str, str]]:
    """What none of several runs tests."""
    told = [report.told.untested for report in reports if not report.only_errors]
    yield from ((line, "dim") for line in not_tested(told, " by any of these runs"))


def joint_summary(title: str, told: Diagnosis) -> Iterator[tuple[str, str]]:
    """The same of several runs of one policy: what they say together."""
    yield title, "bold"
    yield from _diagnosis(told)
    if told.seeds is not None:
        yield f"{told.seeds.text}.", "cyan"
    for line in told.others:
        yield f"- {line}", "dim"


def _diagnosis(told: Diagnosis) -> Iterator[tuple[str, str]]:
    """What was found, what that explains, and what is not certain."""
    yield from ((line, "bold") for line in told.found)
    yield from ((line, "") for line in (*told.explained, *told.unsure))
