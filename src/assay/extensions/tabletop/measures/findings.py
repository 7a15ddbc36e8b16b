"""Hypotheses that the diagnosis tests in tabletop runs: reliance on the prompt, the order of objects, retries, ...

Nonsense or masked prompts no longer ask for the task. A policy that needs its prompt then
succeeds by luck alone; how many of its successes it keeps tells how many it owes to something else. What a run
cannot tell for want of successes it does not tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from assay.extensions.tabletop.measures.scores import (
    FIRST,
    MIN_SUCCESSES,
    NAME,
    TOLERATED,
    KeptSuccess,
    NothingMore,
    Novelty,
    PromptFlaw,
    Retried,
    Tabletop,
)
from assay.measures.evidence_text import format_counts, format_difference, format_share, format_unperturbed
from assay.measures.findings import (
    HARMLESS,
    Claim,
    Evidence,
    Finding,
    FlawTest,
    Profiles,
    Untested,
    loss,
    one_sided_p,
    p_above_tolerated,
)
from assay.measures.flaws import Flaw, OwnFlaw
from assay.measures.result import Missing
from assay.measures.success.drops import drop_evidence
from assay.measures.success.rates import CONTROLS, Rate
from assay.measures.views.wording import percent
from assay.support.stats.intervals import Interval

ABLE = 0.1
"""A policy that succeeds in less than this share of the controls, beyond doubt, does not do the tasks."""
RARE = 0.2
"""A share that is small, if it is less than this beyond doubt."""
UNHARMED = 0.1
"""A loss that is small, if it is less than this beyond doubt."""
UNTOLD: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        PromptFlaw.UNTOLD: ("mask=instruction", "instruction=other"),
        PromptFlaw.WORDLESS: ("mask=language", "gobbledygook=words", "gobbledygook=tokens"),
        PromptFlaw.PICTURELESS: ("mask=visual",),
    }
)
"""Flaw -> conditions under which success is luck, the most telling first."""
LOST: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        Flaw.WORDING: ("paraphrase",),
        PromptFlaw.DESCRIBED: ("referents=text",),
        PromptFlaw.ORDER: ("order=permuted",),
        PromptFlaw.DIFFICULTY: (
            "difficulty=distracting",
            "difficulty=extreme",
            "difficulty=extremely-distracting",
        ),
    }
)
"""Flaw -> conditions under which success is expected."""
FLAWS = (
    OwnFlaw(
        PromptFlaw.UNTOLD,
        "Performs the tasks without the prompt",
        "Needs the prompt",
        "no run masks the prompt",
        consequences=(PromptFlaw.WORDLESS, PromptFlaw.PICTURELESS),
    ),
    OwnFlaw(
        PromptFlaw.WORDLESS,
        "Performs the tasks without the words of the prompt",
        "Needs the words of the prompt",
        "no run masks the words of prompts",
    ),
    OwnFlaw(
        PromptFlaw.PICTURELESS,
        "Performs the tasks without the images of the prompt",
        "Needs the images of the prompt",
        "no run masks the images of prompts",
    ),
    OwnFlaw(
        PromptFlaw.DESCRIBED,
        "Does not find objects that are described instead of shown",
        "Finds objects that are described instead of shown",
        "no run describes the objects that prompts show",
    ),
    OwnFlaw(
        PromptFlaw.ORDER,
        "Depends on the order of the objects",
        "Does not depend on the order of the objects",
        "no run permutes the order of objects",
    ),
    OwnFlaw(
        PromptFlaw.RETRIES,
        "Succeeds only after retries",
        "Does not need retries",
        "no run has controls",
    ),
    OwnFlaw(
        PromptFlaw.DIFFICULTY,
        "Fails harder versions of the tasks",
        "Robust to harder versions of the tasks",
        "no run has harder versions of the tasks",
    ),
    OwnFlaw(
        PromptFlaw.NOVELTY,
        "Does not generalise to new combinations, objects or tasks",
        "Generalises to new combinations, objects and tasks",
        "no run has the first level and another",
    ),
)
_TESTED = (*UNTOLD, *LOST, PromptFlaw.RETRIES, PromptFlaw.NOVELTY)


def prompt_tests(among: Profiles) -> Iterator[FlawTest | Untested]:
    """Everything that runs on tables can test, and what they cannot."""
    able = []
    for run, profile in among:
        result, control = profile.get(NAME), profile.get(CONTROLS)
        if result is not None and control is not None and control.interval is not None:
            unable = _unable(control)
            yield _failing(run, control, unable)
            if not unable:
                able.append(result)
                yield from _of_run(run, result)
    for flaw in _TESTED if able else ():  # of a policy that does not do the tasks nothing else is asked
        notes = tuple(result.again.missing for result in able if isinstance(result.again, Missing))
        if flaw == PromptFlaw.RETRIES and notes:
            yield Untested(flaw, NAME, notes=notes[:1])
        else:
            too_few = any(_has_data(flaw, result) for result in able)
            notes = ()
            if too_few:
                notes = (f"fewer than {MIN_SUCCESSES} of the informative controls succeed",)
            elif flaw == Flaw.WORDING:
                notes = ("no run has paraphrased prompts",)
            yield Untested(flaw, NAME, too_few=too_few, notes=notes)


def _has_data(flaw: str, found: Tabletop) -> bool:
    """Whether a run has what could tell, if it only had more successes."""
    if flaw == PromptFlaw.RETRIES:
        return isinstance(found.again, Retried)
    if flaw == PromptFlaw.NOVELTY:
        return bool(found.novelty)
    return bool(
        {_bare(contrast.condition) for contrast in found.against}
        & {*UNTOLD.get(flaw, ()), *LOST.get(flaw, ())}
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
    kept_by_name = {
        _bare(retained.condition): retained for retained in found.kept if retained.count >= MIN_SUCCESSES
    }
    for flaw, conditions in UNTOLD.items():
        yield from _untold(
            run, flaw, {name: kept_by_name[name] for name in conditions if name in kept_by_name}
        )
    drops = {
        _bare(contrast.condition): contrast.allowed for contrast in found.against if contrast.level is None
    }
    enough = {name: drop for name, drop in drops.items() if drop.both + drop.only_control >= MIN_SUCCESSES}
    for flaw, conditions in LOST.items():
        evidence = [drop_evidence((run,), NAME, name, enough[name]) for name in conditions if name in enough]
        yield from _cost_tests(flaw, evidence)
    if isinstance(found.again, Retried) and found.again.successes >= MIN_SUCCESSES:
        yield _retries_test(run, found.again)
    novel = [_novelty_evidence(run, novelty) for novelty in found.novelty if novelty.hits >= MIN_SUCCESSES]
    yield from _cost_tests(PromptFlaw.NOVELTY, novel)


def _untold(run: int, flaw: str, known: Mapping[str, KeptSuccess]) -> Iterator[FlawTest]:
    """Success where nothing doable is asked for, condition by condition."""
    refuted = all(retained.interval.high < RARE for retained in known.values())
    for name, retained in known.items():
        evidence = Evidence(
            run,
            NAME,
            name,
            retained.share,
            retained.interval,
            retained.p,
            hits=retained.kept,
            count=retained.count,
        )
        yield FlawTest(flaw, (evidence,), retained.p, retained.interval, TOLERATED, refuted=refuted)


def _cost_tests(flaw: str, evidence: Sequence[Evidence]) -> Iterator[FlawTest]:
    """Losses where success is expected, one test for each."""
    sizes = [loss(item.interval) for item in evidence if item.interval is not None]
    refuted = all(size.high < UNHARMED for size in sizes)
    for item, size in zip(evidence, sizes, strict=True):
        assert item.p is not None
        yield FlawTest(flaw, (item,), item.p, size, HARMLESS, refuted=refuted)


def _retries_test(run: int, found: Retried) -> FlawTest:
    evidence = Evidence(
        run,
        NAME,
        "again",
        found.share,
        found.interval,
        found.p,
        hits=found.again,
        count=found.successes,
        reference_hits=found.successes,
        reference_count=found.count,
    )
    return FlawTest(
        PromptFlaw.RETRIES, (evidence,), found.p, found.interval, refuted=found.interval.high < RARE
    )


def _novelty_evidence(run: int, each: Novelty) -> Evidence:
    """A level against the first."""
    return Evidence(
        run,
        NAME,
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


CONDITION_PHRASES: Mapping[str, str] = MappingProxyType(
    {
        "mask=instruction": "with the whole prompt masked",
        "instruction=other": "with the prompt of another task",
        "mask=language": "with the words masked",
        "gobbledygook=words": "with nonsense words",
        "gobbledygook=tokens": "with nonsense tokens",
        "mask=visual": "with the images masked",
        "paraphrase": "with paraphrased prompts",
        "referents=text": "with words for the images",
        "order=permuted": "with the order permuted",
        "difficulty=distracting": "with more distractors",
        "difficulty=extreme": "at extreme difficulty",
        "difficulty=extremely-distracting": "with more distractors at extreme difficulty",
    }
)
"""Condition -> its description in a sentence."""
NEW = MappingProxyType({"L2": "new combinations", "L3": "new objects", "L4": "new tasks"})


def _describe_condition(name: str) -> str:
    return CONDITION_PHRASES.get(name, f"under {name}")


def _others(rest: Iterable[Evidence]) -> str:
    """Other conditions of the same flaw, in brief."""
    return "".join(
        f"; {format_counts(item.hits, item.count)} {_describe_condition(item.part)}" for item in rest
    )


def _kept_words(finding: Finding) -> tuple[str, str]:
    first, *rest = finding.evidence
    sentence = (
        f"{_describe_condition(first.part)} it keeps {format_counts(first.hits, first.count)} successes "
        f"({format_share(first.value, first.interval)}){_others(rest)}"
    )
    return sentence, f"{100 * TOLERATED:.0f} % may be chance" if finding.claim is Claim.PRESENT else ""


def _paired_words(finding: Finding) -> tuple[str, str]:
    first, *rest = finding.evidence
    return (
        f"{format_counts(first.hits, first.count)} succeed {_describe_condition(first.part)}, "
        f"{format_unperturbed(first)} unperturbed "
        f"({format_difference(first)}){_others(rest)}",
        "",
    )


def _retries_words(finding: Finding) -> tuple[str, str]:
    first = finding.evidence[0]
    straight = (first.count or 0) - (first.hits or 0)
    return (
        f"{format_counts(first.hits, first.count)} successes took more than the fewest actions "
        f"({format_share(first.value, first.interval)}; sweeps left out): "
        f"{format_counts(first.reference_hits, first.reference_count)} succeed with mistakes allowed, {straight:,} "
        "without",
        "",
    )


def _novelty_words(finding: Finding) -> tuple[str, str]:
    first, *rest = finding.evidence
    others = "" if first.same_tasks else ", with other tasks, which may be easier"
    return (
        f"{_level_words(first)}, {percent(first.reference)} at {FIRST}{others} ({format_difference(first)})"
        + "".join(f"; {_level_words(item)}" for item in rest),
        "",
    )


def _level_words(each: Evidence) -> str:
    return f"{percent(each.share)} at {each.part} ({NEW.get(each.part, 'new')})"


_ON_TABLES: Mapping[str, Callable[[Finding], tuple[str, str]]] = MappingProxyType(
    {
        PromptFlaw.UNTOLD: _kept_words,
        PromptFlaw.WORDLESS: _kept_words,
        PromptFlaw.PICTURELESS: _kept_words,
        Flaw.WORDING: _paired_words,
        PromptFlaw.DESCRIBED: _paired_words,
        PromptFlaw.ORDER: _paired_words,
        PromptFlaw.DIFFICULTY: _paired_words,
        PromptFlaw.RETRIES: _retries_words,
        PromptFlaw.NOVELTY: _novelty_words,
    }
)
"""Flaw -> format of its evidence."""


def tabletop_wording(finding: Finding) -> tuple[str, str]:
    """The evidence of a run on tables, and a caveat."""
    return _ON_TABLES[finding.flaw](finding)
