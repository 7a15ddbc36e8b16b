"""Hypotheses that the diagnosis tests on tabletop runs: reliance on the prompt, object order, retries and others.

Nonsense or masked prompts no longer specify the task. A policy that needs its prompt then succeeds only by chance;
the fraction of successes it keeps shows how much of its success has other causes. Hypotheses with too few successes
remain untested.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from assay.extensions.tabletop.measures.scores import (
    FIRST,
    MIN_SUCCESSES,
    NAME,
    TOLERATED,
    NothingMore,
    PromptFlaw,
    Retried,
    Tabletop,
)
from assay.measures.findings import (
    HARMLESS,
    Claim,
    Evidence,
    Finding,
    FlawTest,
    Profiles,
    Untested,
    one_sided_p,
)
from assay.measures.findings import TOLERATED as TOLERATED_FAILURES
from assay.measures.flaws import Flaw, OwnFlaw
from assay.measures.result import Missing
from assay.measures.sentences import format_counts, format_difference, format_share, format_unperturbed
from assay.measures.success.drops import drop_evidence
from assay.measures.success.rates import CONTROLS
from assay.measures.views.wording import negate, percent
from assay.support.stats.intervals import Interval
from assay.support.stats.significance import binomial_at_least

ABLE = 0.1
"""Threshold for the success rate in controls; a policy significantly below it is unable to perform the tasks."""
RARE = 0.2
"""Threshold for a fraction; a significantly smaller fraction counts as rare."""
UNHARMED = 0.1
"""Threshold for a loss; a policy with a significantly smaller loss counts as unharmed."""
CHANCE_CONDITIONS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        PromptFlaw.PROMPT_UNUSED: ("mask=instruction", "instruction=other"),
        PromptFlaw.WORDS_UNUSED: ("mask=language", "gobbledygook=words", "gobbledygook=tokens"),
        PromptFlaw.IMAGES_UNUSED: ("mask=visual",),
    }
)
"""Flaw -> conditions under which success is due to chance, the most informative first."""
SOLVABLE_CONDITIONS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        Flaw.WORDING: ("paraphrase",),
        PromptFlaw.DESCRIPTIONS: ("referents=text",),
        PromptFlaw.ORDER: ("order=permuted",),
        PromptFlaw.DIFFICULTY: (
            "difficulty=distracting",
            "difficulty=extreme",
            "difficulty=extremely-distracting",
        ),
    }
)
"""Flaw -> conditions under which success is expected."""
FLAWS = tuple(
    OwnFlaw(name, claim, absent, f"no run {lacking}", consequences)
    for name, claim, absent, lacking, consequences in (
        (PromptFlaw.PROMPT_UNUSED, "Performs the tasks without the prompt", "Needs the prompt", "masks the prompt",
         (PromptFlaw.WORDS_UNUSED, PromptFlaw.IMAGES_UNUSED)),
        (PromptFlaw.WORDS_UNUSED, "Performs the tasks without the words of the prompt", "Needs the words of the prompt",
         "masks the words of prompts", ()),
        (PromptFlaw.IMAGES_UNUSED, "Performs the tasks without the images of the prompt",
         "Needs the images of the prompt", "masks the images of prompts", ()),
        (PromptFlaw.DESCRIPTIONS, "Does not find objects that are described instead of shown",
         "Finds objects that are described instead of shown", "describes the objects that prompts show", ()),
        (PromptFlaw.ORDER, "Depends on the order of the objects", "Does not depend on the order of the objects",
         "permutes the order of objects", ()),
        (PromptFlaw.RETRIES, "Succeeds only after retries", "Does not need retries", "has controls", ()),
        (PromptFlaw.DIFFICULTY, "Fails harder versions of the tasks", "Robust to harder versions of the tasks",
         "includes harder versions of the tasks", ()),
        (PromptFlaw.NOVELTY, "Does not generalise to new combinations, objects or tasks",
         "Generalises to new combinations, objects and tasks", "covers the first and another level", ()),
    )
)  # fmt: skip
_TESTED = (*CHANCE_CONDITIONS, *SOLVABLE_CONDITIONS, PromptFlaw.RETRIES, PromptFlaw.NOVELTY)


def prompt_tests(profiles: Profiles) -> Iterator[FlawTest | Untested]:
    """Yield all tests that tabletop runs allow, and the remaining flaws as untested."""
    able = []
    for run, profile in profiles:
        result, control = profile.get(NAME), profile.get(CONTROLS)
        if result is None or control is None or control.interval is None:
            continue
        # Successes that are rare, or few and in the minority, do not show what the policy relies on.
        limit = ABLE if control.successes >= MIN_SUCCESSES else 0.5
        unable = control.interval.high < limit
        failures = control.count - control.successes
        lost = Interval(1 - control.interval.high, 1 - control.interval.low, control.interval.method)
        p, share = (
            binomial_at_least(failures, control.count, TOLERATED_FAILURES),
            1 - control.successes / control.count,
        )
        evidence = Evidence(run, CONTROLS.name, "", share, lost, p, hits=failures, count=control.count)
        detail = NothingMore(control.interval.high < ABLE) if unable else None
        yield FlawTest(Flaw.UNABLE, (evidence,), p, lost, refuted=lost.high < UNHARMED, detail=detail)
        if not unable:
            able.append(result)
            yield from _run_tests(run, result)
    for flaw in _TESTED if able else ():  # a policy that cannot perform the tasks is not tested further
        notes = tuple(result.again.missing for result in able if isinstance(result.again, Missing))
        if flaw == PromptFlaw.RETRIES and notes:
            yield Untested(flaw, NAME, notes=notes[:1])
        else:
            # Whether a run could test the flaw if it had more successes.
            conditions = {*CHANCE_CONDITIONS.get(flaw, ()), *SOLVABLE_CONDITIONS.get(flaw, ())}
            too_few = any(
                (flaw == PromptFlaw.RETRIES and isinstance(result.again, Retried))
                or (flaw == PromptFlaw.NOVELTY and result.novelty)
                or any(_bare(contrast.condition) in conditions for contrast in result.against)
                for result in able
            )
            notes = ()
            if too_few:
                notes = (f"fewer than {MIN_SUCCESSES} of the informative controls succeed",)
            elif flaw == Flaw.WORDING:
                notes = ("no run has paraphrased prompts",)
            yield Untested(flaw, NAME, too_few=too_few, notes=notes)


def _run_tests(run: int, result: Tabletop) -> Iterator[FlawTest]:
    retained = {
        _bare(success.condition): success for success in result.kept if success.count >= MIN_SUCCESSES
    }
    for flaw, conditions in CHANCE_CONDITIONS.items():
        available = {name: retained[name] for name in conditions if name in retained}
        refuted = all(success.interval.high < RARE for success in available.values())
        for name, success in available.items():
            share, interval, p = success.share, success.interval, success.p
            evidence = Evidence(run, NAME, name, share, interval, p, hits=success.kept, count=success.count)
            yield FlawTest(flaw, (evidence,), p, interval, TOLERATED, refuted=refuted)
    drops = {
        _bare(contrast.condition): contrast.allowed for contrast in result.against if contrast.level is None
    }
    enough = {name: drop for name, drop in drops.items() if drop.both + drop.only_control >= MIN_SUCCESSES}
    for flaw, conditions in SOLVABLE_CONDITIONS.items():
        yield from _cost_tests(
            flaw, [drop_evidence((run,), NAME, name, enough[name]) for name in conditions if name in enough]
        )
    again = result.again
    if isinstance(again, Retried) and again.successes >= MIN_SUCCESSES:
        evidence = Evidence(
            run, NAME, "again", again.share, again.interval, again.p, hits=again.again, count=again.successes,
            reference_hits=again.successes, reference_count=again.count,
        )  # fmt: skip
        refuted = again.interval.high < RARE
        yield FlawTest(PromptFlaw.RETRIES, (evidence,), again.p, again.interval, refuted=refuted)
    novel = [
        Evidence(
            run, NAME, level.level, level.change, level.interval, one_sided_p(level.change, level.p),
            share=level.score.score, reference=level.usual.score, cost=True, same_tasks=level.same_tasks,
        )
        for level in result.novelty
        if level.hits >= MIN_SUCCESSES
    ]  # fmt: skip
    yield from _cost_tests(PromptFlaw.NOVELTY, novel)


def _cost_tests(flaw: str, evidence: Sequence[Evidence]) -> Iterator[FlawTest]:
    """Yield one test for each loss under conditions in which success is expected."""
    sizes = [negate(item.interval) for item in evidence if item.interval is not None]
    refuted = all(size.high < UNHARMED for size in sizes)
    for item, size in zip(evidence, sizes, strict=True):
        assert item.p is not None
        yield FlawTest(flaw, (item,), item.p, size, HARMLESS, refuted=refuted)


def _bare(condition: str) -> str:
    """Return a condition without the prefix that an experiment may add."""
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
        "referents=text": "with descriptions instead of images",
        "order=permuted": "with permuted objects",
        "difficulty=distracting": "with more distractors",
        "difficulty=extreme": "at extreme difficulty",
        "difficulty=extremely-distracting": "with more distractors at extreme difficulty",
    }
)
"""Condition -> its description in a sentence."""
NEW = MappingProxyType({"L2": "new combinations", "L3": "new objects", "L4": "new tasks"})


def tabletop_wording(finding: Finding) -> tuple[str, str]:
    """Return the evidence from a tabletop run as a sentence, and a caveat."""
    first, *rest = finding.evidence
    if finding.flaw == PromptFlaw.NOVELTY:
        levels = [
            f"{percent(item.share)} at {item.part} ({NEW.get(item.part, 'new')})" for item in finding.evidence
        ]
        easier = "" if first.same_tasks else ", on different tasks, which may be easier"
        levels[0] += f", {percent(first.reference)} at {FIRST}{easier} ({format_difference(first)})"
        return "; ".join(levels), ""
    counts, share = format_counts(first.hits, first.count), format_share(first.value, first.interval)
    if finding.flaw == PromptFlaw.RETRIES:
        return (
            f"{counts} successes took more than the fewest actions ({share}; sweeping tasks excluded): "
            f"{format_counts(first.reference_hits, first.reference_count)} succeed with mistakes allowed, "
            f"{(first.count or 0) - (first.hits or 0):,} without",
            "",
        )
    condition = CONDITION_PHRASES[first.part]
    others = "".join(
        f"; {format_counts(item.hits, item.count)} {CONDITION_PHRASES[item.part]}" for item in rest
    )
    if finding.flaw in CHANCE_CONDITIONS:
        caveat = f"{100 * TOLERATED:.0f} % may be due to chance" if finding.claim is Claim.PRESENT else ""
        return f"{condition} it keeps {counts} successes ({share}){others}", caveat
    unperturbed, difference = format_unperturbed(first), format_difference(first)
    return f"{counts} succeed {condition}, {unperturbed} unperturbed ({difference}){others}", ""
