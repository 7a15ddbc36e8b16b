"""What a diagnosis tests in runs on tables: does it go by the prompt, by the order of things, at once, ...?

Where words are nonsense, or masked, nothing doable may be asked for any more. Whoever needs to be told then
succeeds by luck alone; how many of its successes a policy keeps tells how many it owes to something else.
What a run cannot tell for want of successes it does not tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from assay.measures.drops import Drop
from assay.measures.evidence import HARMLESS, Evidence, Test, failing, fallen, loss
from assay.measures.flaws import Flaw
from assay.measures.profile import Profile
from assay.measures.rates import Rate
from assay.measures.result import Missing
from assay.measures.tabletop.tabletop import Tabletop
from assay.measures.tabletop.telling import FIRST, TOLERATED, Again, Kept, Novelty
from assay.stats.intervals import Interval

ENOUGH = 10
"""Successful controls without which nothing is read from a condition."""
ABLE = 0.1
"""Who succeeds in less than this share of the controls, beyond doubt, does not do the tasks."""
RARE = 0.2
"""A share that is small, if it is less than this beyond doubt."""
UNHARMED = 0.1
"""A loss that is small, if it is less than this beyond doubt."""
NEW = MappingProxyType({"L2": "new combinations", "L3": "new objects", "L4": "new tasks"})

_UNTOLD: Mapping[Flaw, tuple[Mapping[str, str], str]] = MappingProxyType(
    {
        Flaw.UNTOLD: (
            {
                "mask=instruction": "with the whole instruction masked",
                "instruction=other": "when asked for something else",
            },
            "Needs to be told what to do",
        ),
        Flaw.WORDLESS: (
            {
                "mask=language": "with the words masked",
                "gobbledygook=words": "with nonsense for words",
                "gobbledygook=tokens": "with nonsense for tokens",
            },
            "Needs the words of the prompt",
        ),
        Flaw.PICTURELESS: ({"mask=visual": "with the pictures masked"}, "Needs the pictures of the prompt"),
    }
)
"""Flaw -> conditions under which success is luck, the most telling first; and what no success shows."""
_LOST: Mapping[Flaw, tuple[Mapping[str, str], str]] = MappingProxyType(
    {
        Flaw.WORDING: ({"paraphrase": "told in other words"}, "Other words do no harm"),
        Flaw.DESCRIBED: (
            {"referents=text": "with words for the pictures"},
            "Finds what is described instead of shown",
        ),
        Flaw.ORDER: (
            {"order=permuted": "with the order permuted"},
            "Does not depend on the order in which things are listed",
        ),
        Flaw.DIFFICULTY: (
            {
                "difficulty=distracting": "with more distractors",
                "difficulty=extreme": "at extreme difficulty",
                "difficulty=extremely-distracting": "with more distractors at extreme difficulty",
            },
            "Harder versions of the tasks do no harm",
        ),
    }
)
"""Flaw -> conditions under which a good policy succeeds, and what that it does shows."""
_LACKING = {
    Flaw.UNTOLD: "no run masks the instruction",
    Flaw.WORDLESS: "no run masks the words of prompts",
    Flaw.PICTURELESS: "no run masks the pictures of prompts",
    Flaw.WORDING: "no run has prompts in other words",
    Flaw.DESCRIBED: "no run describes what prompts show",
    Flaw.ORDER: "no run permutes the order of objects",
    Flaw.RETRIES: "no run has controls",
    Flaw.DIFFICULTY: "no run has harder versions of the tasks",
    Flaw.NOVELTY: "no run has the first level and another",
}
QUESTIONS = MappingProxyType(
    {
        Flaw.UNABLE: "Does it do the tasks?",
        Flaw.UNTOLD: "Does it need to be told?",
        Flaw.WORDLESS: "Does it go by the words?",
        Flaw.PICTURELESS: "Does it go by the pictures?",
        Flaw.WORDING: "Do other words put it off?",
        Flaw.DESCRIBED: "Does it know things by words, too?",
        Flaw.ORDER: "Does it go by the order of objects?",
        Flaw.RETRIES: "Does it succeed only by trying again?",
        Flaw.DIFFICULTY: "Does difficulty break it?",
        Flaw.NOVELTY: "Does it do what is new?",
    }
)
"""What is asked about a policy on tables, in the order in which it is told."""


def table_tests(profiles: Sequence[Profile]) -> list[Test]:
    """Everything that the runs on tables can test."""
    return [
        test
        for run, each in enumerate(profiles)
        if isinstance(each.tabletop, Tabletop)
        for test in _of_run(run, each.tabletop, each.control)
    ]


def table_lacking(flaw: Flaw, profiles: Sequence[Profile]) -> str:
    """Why the runs on tables cannot tell whether there is a flaw; empty if nobody asked."""
    able = [
        each.tabletop
        for each in profiles
        if isinstance(each.tabletop, Tabletop) and not _unable(each.control)
    ]
    if flaw not in _LACKING or not able:  # whoever does not do the tasks is told so, once
        return ""
    reasons = [each.again.missing.partition(": ")[2] for each in able if isinstance(each.again, Missing)]
    if flaw is Flaw.RETRIES and reasons:
        return reasons[0]
    few = any(_looked(flaw, each) for each in able)
    return f"fewer than {ENOUGH} controls that could tell succeed" if few else _LACKING[flaw]


def _looked(flaw: Flaw, found: Tabletop) -> bool:
    """Whether a run has what could tell, if it only had more successes."""
    if flaw is Flaw.RETRIES:
        return isinstance(found.again, Again)
    if flaw is Flaw.NOVELTY:
        return bool(found.novelty)
    return bool({_bare(each.condition) for each in found.against} & {**_UNTOLD, **_LOST}[flaw][0].keys())


def _unable(control: Rate | Missing) -> bool:
    """Whether nothing can be read from what succeeds: it is next to nothing, or little of what there is."""
    if isinstance(control, Missing) or control.interval is None:
        return True
    return control.interval.high < (ABLE if control.successes >= ENOUGH else 0.5)


def _of_run(run: int, found: Tabletop, control: Rate | Missing) -> Iterator[Test]:
    if isinstance(control, Missing) or control.interval is None:
        return
    lost, unable = failing(run, control), _unable(control)
    assert lost.p is not None and lost.interval is not None
    told = replace(lost, says=f"{lost.says} ({_percent(lost.value, lost.interval)})")
    why = "it does not do the tasks, and" if control.interval.high < ABLE else "it succeeds too rarely:"
    more = f"; {why} nothing more can be told" if unable else ""
    shown = "Does the tasks" if lost.interval.high < UNHARMED else ""
    yield Test(Flaw.UNABLE, (told,), lost.p, lost.interval, more, otherwise=shown)
    if unable:
        return
    for flaw, (conditions, shown) in _UNTOLD.items():
        kept = {_bare(each.condition): each for each in found.kept if each.count >= ENOUGH}
        known = {name: kept[name] for name in conditions if name in kept}
        yield from _untold(run, flaw, known, shown)
    for flaw, (conditions, shown) in _LOST.items():
        drops = {_bare(each.condition): each.allowed for each in found.against if each.level is None}
        enough = {name: each for name, each in drops.items() if each.both + each.only_control >= ENOUGH}
        yield from _lost(run, flaw, {name: enough[name] for name in conditions if name in enough}, shown)
    if isinstance(found.again, Again) and found.again.successes >= ENOUGH:
        yield _again(run, found.again)
    yield from _novel(run, [each for each in found.novelty if each.hits >= ENOUGH])


def _untold(run: int, flaw: Flaw, known: Mapping[str, Kept], shown: str) -> Iterator[Test]:
    """Success where nothing doable is asked for, condition by condition."""
    wheres = _UNTOLD[flaw][0]
    evidence = [
        Evidence(
            run,
            f"tabletop.kept.{name}",
            f"{wheres[name]} it keeps {each.kept:,} of {each.count:,} successes "
            f"({_percent(each.share, each.interval)})",
            each.share,
            each.interval,
            each.p,
        )
        for name, each in known.items()
    ]
    brief = [f"{each.kept:,} of {each.count:,} {wheres[name]}" for name, each in known.items()]
    sizes = [each.interval for each in known.values()]
    rarely = all(size.high < RARE for size in sizes)
    more = f"; {100 * TOLERATED:.0f} % may be luck"
    yield from _tests(flaw, evidence, brief, sizes, shown if rarely else "", more, TOLERATED)


def _lost(run: int, flaw: Flaw, known: Mapping[str, Drop], shown: str) -> Iterator[Test]:
    """Success where a good policy succeeds, condition by condition."""
    evidence, brief = [], []
    for name, each in known.items():
        now, before = each.both + each.only_perturbed, each.both + each.only_control
        brief.append(f"{now:,} of {each.pairs:,} {_LOST[flaw][0][name]}")
        says = f"{brief[-1]}, {before:,} of {each.pairs:,} unchanged ({_points(each.change, each.interval)})"
        p = fallen(each.change, each.p)
        evidence.append(Evidence(run, f"tabletop.against.{name}", says, each.change, each.interval, p))
    sizes = [loss(each.interval) for each in known.values()]
    harmless = all(size.high < UNHARMED for size in sizes)
    yield from _tests(flaw, evidence, brief, sizes, shown if harmless else "", least=HARMLESS)


def _again(run: int, found: Again) -> Test:
    says = (
        f"{found.again:,} of {found.successes:,} successes took more than the fewest actions "
        f"({_percent(found.share, found.interval)}; sweeps left out): {found.successes:,} of {found.count:,} "
        f"succeed with mistakes allowed, {found.successes - found.again:,} without"
    )
    evidence = Evidence(run, "tabletop.again", says, found.share, found.interval, found.p)
    shown = "Does not need to try again" if found.interval.high < RARE else ""
    return Test(Flaw.RETRIES, (evidence,), found.p, found.interval, otherwise=shown)


def _novel(run: int, known: Sequence[Novelty]) -> Iterator[Test]:
    """The first level against each of the others."""
    evidence, brief = [], []
    for each in known:
        now, before = 100 * each.score.score, 100 * each.usual.score
        others = "" if each.same_tasks else ", with other tasks, which may be easier"
        brief.append(f"{now:.1f} % at {each.level} ({NEW[each.level]})")
        says = f"{brief[-1]}, {before:.1f} % at {FIRST}{others} ({_points(each.change, each.interval)})"
        p = fallen(each.change, each.p)
        evidence.append(Evidence(run, f"tabletop.novelty.{each.level}", says, each.change, each.interval, p))
    sizes = [loss(each.interval) for each in known]
    shown = "What is new does no harm" if all(size.high < UNHARMED for size in sizes) else ""
    yield from _tests(Flaw.NOVELTY, evidence, brief, sizes, shown, least=HARMLESS)


def _tests(
    flaw: Flaw,
    evidence: Sequence[Evidence],
    brief: Sequence[str],
    sizes: Sequence[Interval],
    otherwise: str,
    more: str = "",
    least: float = 0.0,
) -> Iterator[Test]:
    """One test for each piece of evidence; the others of the flaw are told with it, in brief."""
    for place, (each, size) in enumerate(zip(evidence, sizes, strict=True)):
        rest = "".join(f"; {other}" for number, other in enumerate(brief) if number != place)
        assert each.p is not None
        told = replace(each, says=each.says + rest)
        yield Test(flaw, (told,), each.p, size, more, least, otherwise)


def _bare(condition: str) -> str:
    """A condition without the folder that an experiment may put before it."""
    return condition.rpartition("/")[2]


def _percent(share: float, interval: Interval) -> str:
    return f"{100 * share:.1f} %, 95 % interval {100 * interval.low:.1f} to {100 * interval.high:.1f}"


def _points(change: float, interval: Interval) -> str:
    change, low, high = (100 * each for each in (change, interval.low, interval.high))
    said = f"{change:+.1f} points, 95 % interval {low:+.1f} to {high:+.1f}"
    return said.replace("+0.0", "0.0").replace("-0.0", "0.0").replace("-", "\N{MINUS SIGN}")
