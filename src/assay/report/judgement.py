"""Verdicts of duels and gates in words: sentences, Markdown, JUnit's XML."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from assay.measures.views.wording import NOT, number, percent, plural, points
from assay.support.stats.judgement import Judgement, Line, Verdict

HEADS = ("condition", "pairs", "A %", "B %", "B - A", "interval", "B is")
_CLAIMS = {
    Verdict.BETTER: "{b} is better than {a}",
    Verdict.EQUIVALENT: "{b} and {a} are equivalent, to within {margin} points",
    Verdict.NOT_WORSE: "{b} is not worse than {a} by more than {margin} points; whether it is better is undecided",
    Verdict.WORSE: "{b} is worse than {a}",
    Verdict.UNDECIDED: "It is undecided whether {b} or {a} is better",
}


def in_words(found: Judgement) -> list[str]:
    """The verdict first, then how it was come by."""
    said = [sentence(found, found.overall)]
    if found.each:
        parts = {
            verdict: [str(line.condition) for line in found.conditions if line.verdict is verdict]
            for verdict in Verdict
        }
        several = [f"{verdict} in {', '.join(names)}" for verdict, names in parts.items() if names]
        said.append(f"By condition, B is {'; '.join(several)}.")
    if found.measure != "success":
        said.append(
            f"What is compared is {found.measure}: how far episodes come, from 0 to 100 %; a success is 100 %."
        )
    broken = f"; {plural(found.errors, 'error')}, which count for neither" if found.errors else ""
    if found.anytime:
        said.append(
            f"{found.played:,} of {found.planned:,} planned episodes were played{broken}. Intervals hold whenever one "
            f"looks, with {percent(1 - found.alpha, 0)}, and likewise for all conditions at once; the tasks are taken "
            "as given."
        )
    else:
        said.append(
            f"{plural(found.overall.pairs, 'shared episode')}{broken}. Tests and intervals are those of assay compare, "
            f"at {percent(1 - found.alpha, 0)}, and likewise for all conditions at once; the tasks are taken as given."
        )
    return said


def sentence(found: Judgement, line: Line) -> str:
    """One claim with its numbers."""
    claim = _CLAIMS[line.verdict].format(
        a=f"A ({found.first})", b=f"B ({found.second})", margin=number(100 * found.margin)
    )
    where = "" if line.condition is None else f"{line.condition}: "
    if line.change is None:
        return f"{where}{claim}: no episode was done by both without an error."
    does = "succeeds in" if found.measure == "success" else "makes progress of"
    return (
        f"{where}{claim}: B {does} {percent(line.second_rate)}, A {'in' if does == 'succeeds in' else 'of'} "
        f"{percent(line.first_rate)}; "
        f"difference {points(line.change)} points ({_interval(line)}), {plural(line.starts, 'start')}."
    )


def rows(found: Judgement) -> list[tuple[str, ...]]:
    """A row for all together and for each condition, as `HEADS` says."""
    return [
        (
            "all, controls too" if line.condition is None else line.condition,
            f"{line.pairs:,}",
            NOT if line.first_rate is None else number(100 * line.first_rate),
            NOT if line.second_rate is None else number(100 * line.second_rate),
            NOT if line.change is None else points(line.change),
            _interval(line),
            line.verdict.value,
        )
        for line in (found.overall, *found.conditions)
    ]


def _interval(line: Line) -> str:
    return f"{number(100 * line.low)} to {number(100 * line.high)}"


def markdown(found: Judgement) -> str:
    """A heading, the verdict and the table, for a pull request."""
    verdict, *notes = in_words(found)
    lines = [f"## B is {found.verdict}", "", f"**{verdict}**", "", _row(HEADS), _row(["---"] * len(HEADS))]
    return "\n".join([*lines, *(_row(row) for row in rows(found)), "", *notes, ""])


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def junit(found: Judgement, name: str) -> str:
    """A test case for everything that was asked for: worse is a failure, undecided is skipped."""
    worse, undecided = (
        sum(line.verdict is verdict for line in found.asked) for verdict in (Verdict.WORSE, Verdict.UNDECIDED)
    )
    counts = {"tests": len(found.asked), "failures": worse, "skipped": undecided, "errors": 0}
    suite = ElementTree.Element("testsuite", {"name": name, **{k: str(v) for k, v in counts.items()}})
    for line in found.asked:
        case = ElementTree.SubElement(
            suite, "testcase", classname=f"{name}: {found.second}", name=line.condition or "overall"
        )
        said = sentence(found, line)
        if line.verdict is Verdict.WORSE:
            ElementTree.SubElement(case, "failure", message=said)
        elif line.verdict is Verdict.UNDECIDED:
            ElementTree.SubElement(case, "skipped", message=said)
        else:
            ElementTree.SubElement(case, "system-out").text = said
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"
