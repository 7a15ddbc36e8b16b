from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from bench.diagnosis import AsRead
from tests.measures.conftest import Made

from assay.extensions.tabletop.measures.scores import NothingMore, PromptFlaw, mean_of, measure_tabletop
from assay.extensions.tabletop.prompts.perturbations import PROMPT_CHANGES, Harder
from assay.extensions.tabletop.tasks.task import Difficulty
from assay.measures.diagnosis import diagnose
from assay.measures.findings import Claim, Finding, Unnoticed, Verdict
from assay.measures.flaws import Degree, Flaw
from assay.measures.measure import profile
from assay.measures.result import MeasureError, Missing
from assay.measures.success.rates import Rate
from assay.support.stats.intervals import wilson_interval

CHANGES = dict(PROMPT_CHANGES) | {
    f"difficulty={each}": Harder(each) for each in Difficulty if each is not Difficulty.DEFAULT
}
PROMPTS = ("control", *dict(PROMPT_CHANGES))
HARDER = ("control", *(name for name in CHANGES if name not in PROMPTS))
TASKS = ("T1/L1", "T3/L1", "T1/L2", "T3/L2", "T8/L4")
START = ("instruction", "best")
"""What goes with a start."""
BEST = 2
Does = Callable[[str, str, int], int | None]
"""How many actions a success takes, from condition, task and seed; 0 for a failure, None for an error."""


def table(does: Does, conditions=PROMPTS, tasks=TASKS, seeds=range(10), most=10) -> Iterator:
    """Episodes of a policy that acts as ``does``, with an instruction for each start."""
    for condition in conditions:
        for task in tasks:
            kind, level = task.split("/")
            labels = {"kind": kind, "level": level, "best": BEST}
            if condition != "control":
                labels["plausible"] = CHANGES[condition].plausible
                labels["axis"] = CHANGES[condition].kind.split("/")[0]
            for seed in seeds:
                took = does(condition, task, seed)
                yield Made(
                    None if took is None else took > 0,
                    task=f"tabletop/{task}",
                    seed=seed,
                    condition=condition,
                    labels=labels,
                    steps=took or most,
                    words=f"Put [thing {seed % 4}] into [bowl].",
                    truth={},
                    experiment="prompts",
                    change=CHANGES.get(condition),
                )


def sensible(condition: str) -> bool:
    return condition == "control" or CHANGES[condition].plausible


def by_flaw(findings) -> dict[str, Finding]:
    return {finding.flaw: finding for finding in findings}


def found(findings) -> set[str]:
    return {each.flaw for each in findings if each.verdict is Verdict.FOUND}


def test_success_is_measured_with_and_without_mistakes_by_task_and_level(run):
    def does(condition, task, seed):
        return None if seed == 9 else (BEST if seed < 4 else BEST + 1 if seed < 6 else 0)

    measured = measure_tabletop(run(table(does, ("control",))).frame(), START)
    (first, *_) = measured.tasks
    assert (first.kind, first.level, first.condition) == ("T1", "L1", "control")
    assert (first.allowed.successes, first.allowed.count, first.allowed.errors) == (6, 9, 1)
    assert (first.flawless.successes, first.flawless.count) == (4, 9)
    assert first.allowed.interval == wilson_interval(6 / 9, 9), "words and best go with the start"
    assert first.chance == pytest.approx(1 / 800**BEST)
    assert [level.level for level in measured.levels] == ["L1", "L2", "L4"]
    assert measured.levels[0].errors == 2 and measured.levels[0].tasks == 2
    episodes = [
        *table(lambda *_: BEST, ("control",), ("T1/L1",), range(8)),
        *table(lambda *_: 0, ("control",), ("T3/L1",), range(2)),
    ]
    (level,) = measure_tabletop(run(episodes).frame(), START).levels
    assert level.allowed.score == 0.5 and level.count == 10, "the unweighted mean of its tasks"


@pytest.mark.parametrize("shares", [(0.99,) * 13, (0.02, 0.97, 0.99, 1.0), (0.1, 0.5, 0.9), (0.0, 1.0, 0.5)])
@pytest.mark.parametrize("count", [10, 50])
def test_the_interval_of_a_mean_of_tasks_holds_the_truth_in_95_of_100_runs(shares, count):
    drawn = np.random.default_rng(0).binomial(count, shares, (600, len(shares)))
    intervals = [mean_of([rate(int(hits), count) for hits in row]).interval for row in drawn]
    held = np.mean([each.low - 1e-9 <= np.mean(shares) <= each.high + 1e-9 for each in intervals])
    assert held > 0.925


def rate(hits: int, count: int) -> Rate:
    return Rate({}, hits, count, 0, hits / count, None, None)


def test_conditions_are_paired_with_their_controls_level_by_level(run):
    def does(condition, task, seed):
        return BEST if condition == "control" or seed < 3 else 0

    measured = measure_tabletop(run(table(does, ("control", "order=permuted"))).frame(), START)
    pairs = {each.level: each.allowed.pairs for each in measured.against}
    assert pairs == {"L1": 20, "L2": 20, "L4": 10, None: 50}
    assert measured.against[-1].flawless.change == pytest.approx(-0.7)
    (kept,) = measured.kept
    assert (kept.kept, kept.count, kept.plausible) == (15, 50, True)
    assert measure_tabletop(run(table(does, ("control",))).frame(), START).against == ()


def test_the_missed_modality_is_measured(run):
    def does(condition, task, seed):
        return BEST if condition != "mask=language" or seed < 2 else 0

    both = measure_tabletop(run(table(does)).frame(), START).modalities
    assert (both.starts, both.wordless, both.blind) == (50, 10, 50)
    assert both.change == pytest.approx(0.8) and both.p < 0.001


def test_a_condition_is_not_judged_by_tasks_that_it_leaves_solvable(run):
    tasks = ("T1/L1", "T2/L1", "T4/L1", "T15/L1", "T11/L1")
    measured = measure_tabletop(run(table(lambda *_: BEST, tasks=tasks)).frame(), START)
    counts = {kept.condition: kept.count for kept in measured.kept}
    assert counts["mask=instruction"] == 50 and counts["mask=language"] == 30 == counts["mask=visual"]
    assert counts["gobbledygook=words"] == 30


def test_a_policy_that_follows_the_prompt_has_no_flaw_and_one_without_words_has_one(run):
    store = run(table(lambda condition, *_: BEST if sensible(condition) else 0))
    findings = diagnose(profile(store))
    assert found(findings) == {Flaw.NOTHING}
    untold = by_flaw(findings)[PromptFlaw.PROMPT_UNUSED]
    assert untold.claim is Claim.ABSENT and untold.evidence[0].part == "mask=instruction"
    assert (untold.evidence[0].hits, untold.evidence[0].count) == (0, 50)
    assert untold.evidence[0].interval.high == pytest.approx(0.071, abs=5e-4)
    wordless = ("mask=language", "gobbledygook=words", "gobbledygook=tokens")
    store = run(table(lambda name, *_: BEST if sensible(name) or name in wordless else 0))
    assert found(diagnose(profile(store))) == {PromptFlaw.WORDS_UNUSED}


def test_ignoring_the_prompt_is_found_and_explains_the_other_flaws(run):
    findings = diagnose(AsRead(run(table(lambda *_: BEST))))
    assert found(findings) == {PromptFlaw.PROMPT_UNUSED}
    explained = {finding.flaw for finding in findings if finding.verdict is Verdict.EXPLAINED}
    assert explained == {PromptFlaw.WORDS_UNUSED, PromptFlaw.IMAGES_UNUSED}
    untold = by_flaw(findings)[PromptFlaw.PROMPT_UNUSED]
    assert untold.degree is Degree.MOSTLY
    assert {part.part: part.hits for part in untold.evidence}["instruction=other"] == 50


def test_inability_precludes_every_other_finding(run):
    store = run(table(lambda condition, task, seed: BEST if seed == 0 else 0, seeds=range(40)))
    (finding,) = diagnose(profile(store))
    assert finding.flaw is Flaw.UNABLE and finding.detail == NothingMore(unable=True)


def test_too_few_successes_are_inconclusive(run):
    store = run(table(lambda *_: BEST, tasks=("T1/L1",), seeds=range(9)))
    findings = by_flaw(diagnose(profile(store)))
    assert findings[PromptFlaw.PROMPT_UNUSED].verdict is Verdict.CANNOT_TELL
    assert findings[PromptFlaw.PROMPT_UNUSED].untested.too_few
    assert not findings[PromptFlaw.DIFFICULTY].untested.too_few
    assert found(findings.values()) == {Flaw.NOTHING}
    unseen = findings[Flaw.NOTHING].detail
    assert isinstance(unseen, Unnoticed) and unseen.looked_for == 1


def test_retries_are_counted_except_in_sweeps(run):
    tasks = (*TASKS, "T12/L1")
    store = run(table(lambda c, task, seed: BEST + (seed > 2 or task == "T12/L1"), tasks=tasks))
    (again,) = by_flaw(diagnose(profile(store)))[PromptFlaw.RETRIES].evidence
    assert (again.hits, again.count, again.reference_hits, again.reference_count) == (35, 50, 50, 50)


def test_a_large_effect_of_difficulty_is_found_and_a_small_one_is_not(run):
    def broken(condition, task, seed):
        return BEST if condition != "difficulty=extreme" or seed < 20 else 0

    findings = diagnose(AsRead(run(table(broken, HARDER, seeds=range(40)))))
    assert found(findings) == {PromptFlaw.DIFFICULTY}
    difficulty = by_flaw(findings)[PromptFlaw.DIFFICULTY]
    assert difficulty.degree is Degree.PARTLY and difficulty.evidence[0].hits == 100

    def small(condition, task, seed):
        return BEST if condition != "difficulty=extreme" or seed > 1 else 0

    measured = profile(run(table(small, HARDER, seeds=range(60))))
    against = {(drop.condition, drop.level): drop.allowed for drop in measured["tabletop"].against}
    drop = against["difficulty=extreme", None]
    assert drop.p < 0.01 and drop.interval.high < 0, "significant"
    assert found(diagnose(measured)) == {Flaw.NOTHING}


def test_novelty_is_measured_against_the_same_tasks_if_possible(run):
    def does(condition, task, seed):
        return BEST if task.endswith("L1") or (task.endswith("L2") and seed < 15) else 0

    measured = profile(run(table(does, ("control",), seeds=range(30))))
    second, fourth = measured["tabletop"].novelty
    assert second.same_tasks and not fourth.same_tasks
    assert second.change == pytest.approx(-0.5) and second.p < 1e-6
    levels = {part.part: part for part in by_flaw(diagnose(measured))[PromptFlaw.NOVELTY].evidence}
    assert levels["L2"].share == 0.5 and levels["L2"].same_tasks and not levels["L4"].same_tasks


def test_only_runs_on_tables_are_measured_and_none_has_the_measures_of_libero(run):
    with pytest.raises(MeasureError, match="no episode has kind or level or best"):
        measure_tabletop(run([Made(True)]).frame(), START)
    assert "tabletop" not in profile(run([Made(True)]))
    measured = profile(run(table(lambda *_: BEST)))
    assert not {"pride", "memorisation", "changes", "starts"} & set(measured)
    broken = profile(run(table(lambda *_: None, ("control",))))
    assert isinstance(broken["tabletop"], Missing) and "ended in an error" in broken["tabletop"].missing
    assert diagnose(broken)
