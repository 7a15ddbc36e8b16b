from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from bench.diagnosis import AsRead
from tests.measures.conftest import Made

from assay.extensions.tabletop.experiments import PROMPT_CHANGES
from assay.extensions.tabletop.measures.scores import NothingMore, PromptFlaw, mean_of, measure_tabletop
from assay.extensions.tabletop.prompts.perturbations import Harder
from assay.extensions.tabletop.tasks.task import Difficulty
from assay.measures import Claim, Degree, Finding, Flaw, Verdict, diagnose, profile
from assay.measures.findings import Unnoticed
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


@pytest.fixture
def made() -> type[Made]:
    return Made


"""How many actions a success takes, from condition, task and seed; 0 for a failure, None for an error."""


def table(made, does: Does, conditions=PROMPTS, tasks=TASKS, seeds=range(10), most=10) -> Iterator:
    """The episodes of one who does so much, each told something else."""
    for condition in conditions:
        for task in tasks:
            kind, level = task.split("/")
            labels = {"kind": kind, "level": level, "best": BEST}
            if condition != "control":
                labels["plausible"] = CHANGES[condition].plausible
                labels["axis"] = CHANGES[condition].kind.split("/")[0]
            for seed in seeds:
                took = does(condition, task, seed)
                yield made(
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


def told(findings) -> dict[str, Finding]:
    return {each.flaw: each for each in findings}


def found(findings) -> set[str]:
    return {each.flaw for each in findings if each.verdict is Verdict.FOUND}


def test_one_run_says_what_succeeds_with_mistakes_and_without(run, made):
    def does(condition, task, seed):
        return None if seed == 9 else (BEST if seed < 4 else BEST + 1 if seed < 6 else 0)

    measured = measure_tabletop(run(table(made, does, ("control",))).frame(), START)
    (one, *_) = measured.tasks
    assert (one.kind, one.level, one.condition) == ("T1", "L1", "control")
    assert (one.allowed.successes, one.allowed.count, one.allowed.errors) == (6, 9, 1)
    assert (one.flawless.successes, one.flawless.count) == (4, 9)
    assert one.allowed.interval == wilson_interval(6 / 9, 9), "words and best go with the start"
    assert one.chance == pytest.approx(1 / 800**BEST)
    assert [each.level for each in measured.levels] == ["L1", "L2", "L4"]
    assert measured.levels[0].errors == 2 and measured.levels[0].tasks == 2


def test_a_level_is_the_unweighted_mean_of_its_tasks(run, made):
    episodes = [
        *table(made, lambda *_: BEST, ("control",), ("T1/L1",), range(8)),
        *table(made, lambda *_: 0, ("control",), ("T3/L1",), range(2)),
    ]
    (level,) = measure_tabletop(run(episodes).frame(), START).levels
    assert level.allowed.score == 0.5 and level.count == 10 and level.control == 0.5


def test_the_interval_of_one_task_is_wilsons():
    assert mean_of([rate(7, 20)]).interval == wilson_interval(0.35, 20)


@pytest.mark.parametrize("shares", [(0.99,) * 13, (0.02, 0.97, 0.99, 1.0), (0.1, 0.5, 0.9), (0.0, 1.0, 0.5)])
@pytest.mark.parametrize("count", [10, 50])
def test_the_interval_of_a_mean_of_tasks_holds_the_truth_in_95_of_100_runs(shares, count):
    drawn = np.random.default_rng(0).binomial(count, shares, (600, len(shares)))
    intervals = [mean_of([rate(int(hits), count) for hits in row]).interval for row in drawn]
    held = np.mean([each.low - 1e-9 <= np.mean(shares) <= each.high + 1e-9 for each in intervals])
    assert held > 0.925


def rate(hits: int, count: int) -> Rate:
    return Rate({}, hits, count, 0, hits / count, None, None)


def test_conditions_are_paired_with_their_controls_level_by_level(run, made):
    def does(condition, task, seed):
        return BEST if condition == "control" or seed < 3 else 0

    measured = measure_tabletop(run(table(made, does, ("control", "order=permuted"))).frame(), START)
    assert [(each.level, each.allowed.pairs) for each in measured.against] == [
        ("L1", 20),
        ("L2", 20),
        ("L4", 10),
        (None, 50),
    ]
    assert measured.against[-1].flawless.change == pytest.approx(-0.7)
    (kept,) = measured.kept
    assert (kept.kept, kept.count, kept.plausible) == (15, 50, True)
    assert measure_tabletop(run(table(made, does, ("control",))).frame(), START).against == ()


def test_it_tells_whether_words_or_pictures_are_missed_more(run, made):
    def does(condition, task, seed):
        return BEST if condition != "mask=language" or seed < 2 else 0

    both = measure_tabletop(run(table(made, does)).frame(), START).modalities
    assert (both.starts, both.wordless, both.blind) == (50, 10, 50)
    assert both.change == pytest.approx(0.8) and both.p < 0.001


def test_tasks_that_are_still_told_under_a_condition_say_nothing_about_it(run, made):
    tasks = ("T1/L1", "T2/L1", "T4/L1", "T15/L1", "T11/L1")
    measured = measure_tabletop(run(table(made, lambda *_: BEST, tasks=tasks)).frame(), START)
    counts = {each.condition: each.count for each in measured.kept}
    assert counts["mask=instruction"] == 50 and counts["mask=language"] == 30 == counts["mask=visual"]
    assert counts["gobbledygook=words"] == 30
    assert not {"mask=visual"} & {
        each.condition
        for each in measure_tabletop(run(table(made, lambda *_: BEST, tasks=("T2/L1",))).frame(), START).kept
    }


def test_one_who_goes_by_the_prompt_has_no_flaw(run, made):
    store = run(table(made, lambda condition, *_: BEST if sensible(condition) else 0))
    findings = diagnose(profile(store))
    assert found(findings) == {Flaw.NOTHING}
    untold = told(findings)[PromptFlaw.UNTOLD]
    assert untold.claim is Claim.ABSENT and untold.evidence[0].part == "mask=instruction"
    assert (untold.evidence[0].hits, untold.evidence[0].count) == (0, 50)
    assert untold.evidence[0].interval.high == pytest.approx(0.071, abs=5e-4)


def test_one_who_does_not_go_by_the_prompt_is_found_out_and_the_rest_follows(run, made):
    findings = diagnose(AsRead(run(table(made, lambda *_: BEST))))
    assert found(findings) == {PromptFlaw.UNTOLD}
    assert {each.flaw for each in findings if each.verdict is Verdict.EXPLAINED} == {
        PromptFlaw.WORDLESS,
        PromptFlaw.PICTURELESS,
    }
    untold = told(findings)[PromptFlaw.UNTOLD]
    assert untold.degree is Degree.MOSTLY
    assert {each.part: each.hits for each in untold.evidence}["instruction=other"] == 50


def test_one_who_goes_by_the_pictures_alone_is_told_from_one_who_needs_nothing(run, made):
    wordless = ("mask=language", "gobbledygook=words", "gobbledygook=tokens")
    store = run(
        table(made, lambda condition, *_: BEST if sensible(condition) or condition in wordless else 0)
    )
    assert found(diagnose(profile(store))) == {PromptFlaw.WORDLESS}


def test_one_who_goes_by_the_order_of_objects_is_found_out(run, made):
    def does(condition, task, seed):
        return BEST if sensible(condition) and (condition != "order=permuted" or seed < 2) else 0

    findings = diagnose(AsRead(run(table(made, does))))
    assert found(findings) == {PromptFlaw.ORDER}
    (order,) = told(findings)[PromptFlaw.ORDER].evidence
    assert (order.hits, order.reference_hits, order.count) == (10, 50, 50)
    assert order.value == pytest.approx(-0.8)


def test_of_one_who_does_not_do_the_tasks_nothing_more_is_told(run, made):
    store = run(table(made, lambda condition, task, seed: BEST if seed == 0 else 0, seeds=range(40)))
    (finding,) = diagnose(profile(store))
    assert finding.flaw is Flaw.UNABLE and finding.detail == NothingMore(unable=True)


def test_of_one_who_fails_nearly_always_in_a_short_run_nothing_more_is_told_either(run, made):
    store = run(
        table(made, lambda condition, task, seed: BEST * (seed == 0), tasks=("T1/L1",), seeds=range(9))
    )
    (finding,) = diagnose(profile(store))
    assert finding.flaw is Flaw.UNABLE
    assert finding.detail == NothingMore(unable=False)


def test_too_few_successes_tell_nothing(run, made):
    store = run(table(made, lambda *_: BEST, tasks=("T1/L1",), seeds=range(9)))
    findings = {each.flaw: each for each in diagnose(profile(store))}
    assert findings[PromptFlaw.UNTOLD].verdict is Verdict.CANNOT_TELL
    assert (
        findings[PromptFlaw.UNTOLD].untested.too_few and not findings[PromptFlaw.DIFFICULTY].untested.too_few
    )
    assert found(findings.values()) == {Flaw.NOTHING}
    unseen = findings[Flaw.NOTHING].detail
    assert isinstance(unseen, Unnoticed) and unseen.looked_for == 1


def test_successes_that_took_more_than_one_attempt_are_counted_and_sweeps_are_not(run, made):
    tasks = (*TASKS, "T12/L1")
    store = run(table(made, lambda c, task, seed: BEST + (seed > 2 or task == "T12/L1"), tasks=tasks))
    findings = diagnose(profile(store))
    (again,) = told(findings)[PromptFlaw.RETRIES].evidence
    assert (again.hits, again.count, again.reference_hits, again.reference_count) == (35, 50, 50, 50)


def test_where_no_mistakes_were_allowed_nobody_knows_whether_they_would_have_helped(run, made):
    store = run(table(made, lambda c, task, seed: BEST * (seed > 2), ("control",), most=BEST))
    measured = profile(store)
    assert isinstance(measured["tabletop"].again, Missing)
    assert told(diagnose(measured))[PromptFlaw.RETRIES].untested.notes == (
        "no more than the fewest actions were allowed",
    )


def test_difficulty_that_breaks_it_is_found_and_a_trifle_is_not(run, made):
    def broken(condition, task, seed):
        return BEST if condition != "difficulty=extreme" or seed < 20 else 0

    findings = diagnose(AsRead(run(table(made, broken, HARDER, seeds=range(40)))))
    assert found(findings) == {PromptFlaw.DIFFICULTY}
    difficulty = told(findings)[PromptFlaw.DIFFICULTY]
    assert difficulty.degree is Degree.PARTLY and difficulty.evidence[0].hits == 100

    def trifle(condition, task, seed):
        return BEST if condition != "difficulty=extreme" or seed > 1 else 0

    measured = profile(run(table(made, trifle, HARDER, seeds=range(60))))
    (drop,) = (
        each.allowed
        for each in measured["tabletop"].against
        if each.condition == "difficulty=extreme" and each.level is None
    )
    assert drop.p < 0.01 and drop.interval.high < 0, "it is there"
    assert found(diagnose(measured)) == {Flaw.NOTHING}


def test_novelty_is_told_against_the_same_tasks_where_there_are_such(run, made):
    def does(condition, task, seed):
        return BEST if task.endswith("L1") or (task.endswith("L2") and seed < 15) else 0

    measured = profile(run(table(made, does, ("control",), seeds=range(30))))
    second, fourth = measured["tabletop"].novelty
    assert second.same_tasks and not fourth.same_tasks
    assert second.change == pytest.approx(-0.5) and second.p < 1e-6
    levels = {each.part: each for each in told(diagnose(measured))[PromptFlaw.NOVELTY].evidence}
    assert levels["L2"].share == 0.5 and levels["L2"].same_tasks and not levels["L4"].same_tasks


def test_runs_on_both_suites_are_read_together(run, made):
    stores = (
        run(table(made, lambda condition, *_: BEST if sensible(condition) else 0)),
        run(table(made, lambda condition, *_: BEST * (condition == "control"), HARDER)),
    )
    assert found(diagnose(*map(profile, stores))) == {PromptFlaw.DIFFICULTY}


def test_what_is_said_about_liberos_worlds_is_not_said_about_tables(run, made):
    measured = profile(run(table(made, lambda *_: BEST)))
    findings = diagnose(measured)
    assert not {each.flaw for each in findings} & {
        *(Flaw.IGNORES_WORDS, Flaw.MEMORISES, Flaw.MISSES, Flaw.POSITION, Flaw.CAMERA, Flaw.UNKNOWN_NAMES)
    }
    assert not {"pride", "memorisation", "changes", "starts"} & set(measured)
    assert [each.rate for each in measured["no_mistakes"]] == [1.0] * len(PROMPTS)


def test_a_run_elsewhere_is_no_run_on_tables(run, made):
    with pytest.raises(MeasureError, match="no episode has kind or level or best"):
        measure_tabletop(run([made(True)]).frame(), START)
    assert "tabletop" not in profile(run([made(True)]))


def test_a_run_that_broke_altogether_is_still_measured(run, made):
    measured = profile(run(table(made, lambda *_: None, ("control",))))
    assert isinstance(measured["tabletop"], Missing) and "ended in an error" in measured["tabletop"].missing
    assert diagnose(measured)
