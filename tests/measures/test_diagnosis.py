from __future__ import annotations

import json
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from bench.diagnosis import AsRead

from assay.measures.diagnosis import diagnose, examine
from assay.measures.findings import Claim, Evidence, Fall, Finding, Shows, Unnoticed, Untested, Verdict
from assay.measures.flaws import Degree, Flaw
from assay.measures.measure import profile
from assay.measures.multiple_testing import with_adjusted_p
from assay.measures.sentences import format_finding
from assay.measures.success.task_labels import LabelRate
from assay.measures.views.wording import negate
from assay.measures.world.curves import DistanceRate, Onset
from assay.perturb import Say
from assay.perturb.world.objects import Recolour
from assay.perturb.world.position import Displace

WORDS = {
    ("none", "hint"): "the bowl is not on the stove yet",
    ("none", "need"): "I need the bowl on the stove",
    ("habitual", "hint"): "the bowl is not on the range yet",
    ("habitual", "need"): "I need the bowl on the range",
    ("contextual", "hint"): "the vessel is not on the stove yet",
    ("contextual", "need"): "I need the vessel on the stove",
}
"""Wordings of "put the bowl on the stove": with both names, with another stove, with another bowl."""


def by(findings) -> dict[Flaw, Verdict]:
    return {each.flaw: each.verdict for each in findings}


def of(findings, flaw: Flaw) -> Finding:
    return next(each for each in findings if each.flaw is flaw)


def counts(evidence: Evidence) -> tuple[int | None, ...]:
    """Return hits and episodes, followed by those of the reference."""
    return evidence.hits, evidence.count, evidence.reference_hits, evidence.reference_count


def parts(finding: Finding) -> dict[str, Evidence]:
    return {each.part: each for each in finding.evidence}


def path(to: float) -> np.ndarray:
    """Return a path out and back, with a lateral displacement."""
    time = np.linspace(0, np.pi, 101)[:, None]
    return np.sin(time) * np.array([0.3, to, 0.2])


def worded(made, knows, seeds=range(4)):
    """Yield a grid of wordings; ``knows`` returns whether the policy succeeds with a text."""
    for seed in seeds:
        yield made(True, seed=seed)
        for (noun, action), text in WORDS.items():
            labels = {"axis": "words", "plausible": True, "object": noun, "action": f"{action} {seed}"}
            yield made(knows(text), seed=seed, condition=f"{noun} {action}", labels=labels, words=text)


def test_unknown_noun_is_named(run, made):
    found = diagnose(AsRead(run(worded(made, lambda text: "stove" in text, seeds=range(6)))))
    assert by(found)[Flaw.UNKNOWN_NAMES] is Verdict.FOUND
    finding = of(found, Flaw.UNKNOWN_NAMES)
    evidence = parts(finding)
    assert finding.degree is Degree.PARTLY and finding.evidence[0] is evidence["overall"]
    assert counts(evidence["overall"]) == (12, 24, 12, 12)
    assert counts(evidence["stove"]) == (0, 12, 12, 12) and evidence["stove"].shows is Shows.LOSS
    assert evidence["bowl"].shows is Shows.NOTHING, "twelve wordings cannot tell that there is no harm"
    assert evidence["stove"].value == -1.0 and evidence["bowl"].value == 0.0
    assert by(found)[Flaw.WORDING] is Verdict.NOT_FOUND
    many = diagnose(AsRead(run(worded(made, lambda text: "stove" in text, seeds=range(60)))))
    evidence = parts(of(many, Flaw.UNKNOWN_NAMES))
    assert evidence["stove"].shows is Shows.LOSS and evidence["bowl"].shows is Shows.NO_HARM


@pytest.mark.parametrize("share, degree", [(0.1, Degree.RARELY), (0.3, Degree.RARELY), (0.6, Degree.PARTLY)])
def test_partly_known_names_are_graded_and_not_harmless(run, made, share, degree):
    lost = {"range": share, "vessel": 0.2}
    rows = []
    for seed, ((noun, action), text) in product(range(60), WORDS.items()):
        if action == "hint":
            success = all(seed >= 60 * part for word, part in lost.items() if word in text)
            labels = {"axis": "words", "plausible": True, "object": noun, "action": f"hint {seed}"}
            rows.append(made(success, seed=seed, condition=noun, labels=labels, words=text))
    finding = of(diagnose(AsRead(run(rows))), Flaw.UNKNOWN_NAMES)
    evidence = parts(finding)
    assert finding.degree is Degree.RARELY and finding.evidence[0].reference_hits == 60
    assert counts(evidence["bowl"]) == (48, 60, 60, 60) and evidence["bowl"].shows is Shows.LOSS
    assert Degree.of(negate(evidence["stove"].interval)) is degree
    assert Shows.NO_HARM not in {each.shows for each in finding.evidence}


def test_failing_sentences_with_names_kept_are_a_wording_flaw(run, made):
    found = diagnose(AsRead(run(worded(made, lambda text: False, seeds=range(8)))))
    assert by(found)[Flaw.WORDING] is Verdict.FOUND
    assert by(found)[Flaw.UNKNOWN_NAMES] is Verdict.CANNOT_TELL, "nothing succeeds with the names kept"


def moved(made, fails_from: float, seeds=range(10)):
    """A displacement sweep in which success ends at a distance."""
    for seed in seeds:
        yield made(True, seed=seed, hand=path(0.0) + 0.001 * seed)
        for distance in (0.05, 0.1, 0.15, 0.2):
            labels = {"axis": "world", "plausible": True, "distance": distance}
            options = {"condition": f"displace={distance}", "labels": labels, "change": Displace(distance)}
            yield made(distance < fails_from, seed=seed, hand=path(3 * distance), **options)


def test_position_flaw_reports_its_onset_distance(run, made):
    found = diagnose(AsRead(run(moved(made, 0.15))))
    assert [each.flaw for each in found if each.verdict is Verdict.FOUND] == [Flaw.POSITION]
    position = of(found, Flaw.POSITION)
    assert position.degree is Degree.PARTLY and position.evidence[0].reference == 1.0
    assert counts(position.evidence[0]) == (20, 40, None, None), "a control counts for four pairs"
    assert position.detail == Onset(
        (DistanceRate(0.15, 0, 10), DistanceRate(0.2, 0, 10)), DistanceRate(0.1, 10, 10)
    )
    assert counts(of(found, Flaw.MEMORISES).evidence[0])[:2] == (0, 30)
    told = json.loads(json.dumps(found[0].as_json(), allow_nan=False))
    assert (told["flaw"], told["verdict"]) == ("position", "found")
    assert told["evidence"][0]["interval"]["method"] == "newcombe"


def test_no_onset_if_success_recovers_farther_away(run, made):
    rows = [
        replace(each, success=True) if each.labels.get("distance") == 0.2 else each
        for each in moved(made, 0.1, seeds=range(15))
    ]
    found = diagnose(AsRead(run(rows)))
    assert by(found)[Flaw.POSITION] is Verdict.FOUND and of(found, Flaw.POSITION).detail is None


def test_significant_loss_is_always_found(run, made):
    """A joint change tests no single flaw, but its loss is reported."""
    labels = {"axis": "words+world", "plausible": True}
    both = (Say("over there"), Displace(0.2))
    rows = [made(True, seed=seed) for seed in range(8)]
    rows += [made(False, seed=seed, condition="both", labels=labels, changes=both) for seed in range(8)]
    first, *rest = diagnose(AsRead(run(rows)))
    assert (first.flaw, first.verdict) == (Flaw.LOSS, Verdict.FOUND)
    assert first.evidence[0].part == "wording+position" and counts(first.evidence[0]) == (0, 8, 8, 8)
    said = "0 of 8 succeed with wording and position changed together, 8 of 8 unperturbed"
    assert format_finding(first).evidence.startswith(said)
    assert Flaw.NOTHING not in by(rest)


def test_names_are_compared_with_the_control_without_wordings_that_keep_them(run, made):
    rows = [made(True, seed=seed) for seed in range(8)]
    labels = {"axis": "words", "plausible": True}
    rows += [
        made(False, seed=seed, condition="words", labels=labels, words="the basin goes on the range")
        for seed in range(8)
    ]
    found = diagnose(AsRead(run(rows)))
    assert by(found)[Flaw.UNKNOWN_NAMES] is Verdict.FOUND and Flaw.NOTHING not in by(found)
    finding = of(found, Flaw.UNKNOWN_NAMES)
    assert finding.degree is Degree.MOSTLY and finding.evidence[0].measure == "changes"
    assert counts(finding.evidence[0]) == (0, 8, 8, 8)


def said_as(made, fails: str, seeds=range(2)):
    """Yield three phrasings with four wordings each, all names kept; one phrasing fails."""
    ways = {"hint": "the bowl is not on the stove", "need": "I need the bowl on the stove"}
    ways["question"] = "could the bowl be on the stove"
    for seed in seeds:
        for action, text in ways.items():
            for wording in range(4):
                labels = {"axis": "words", "plausible": True, "object": "none", "action": action}
                words, success = f"{text} {'please ' * wording}", action != fails
                yield made(success, seed=seed, condition=f"{action} {wording}", labels=labels, words=words)


def test_phrasing_is_compared_with_the_others_without_controls(run, made):
    found = diagnose(AsRead(run(said_as(made, "question"))))
    finding = of(found, Flaw.WORDING)
    assert (finding.degree, finding.evidence[0].part) == (Degree.MOSTLY, "question")
    assert counts(finding.evidence[0]) == (0, 8, 16, 16)
    assert by(diagnose(AsRead(run(said_as(made, "")))))[Flaw.WORDING] is Verdict.NOT_FOUND


def test_seeds_of_one_wording_are_not_independent(run, made):
    """One of three wordings fails with every seed, which may be due to chance."""
    rows = [each for each in said_as(made, "question", seeds=range(20)) if each.condition.endswith("0")]
    assert by(diagnose(AsRead(run(rows))))[Flaw.WORDING] is Verdict.NOT_FOUND


def test_no_flaw_reports_the_loss_not_excluded(run, made):
    found = diagnose(AsRead(run(moved(made, 1.0))))
    assert found[0].flaw is Flaw.NOTHING and found[0].verdict is Verdict.FOUND
    unseen = found[0].detail
    assert isinstance(unseen, Unnoticed) and unseen.flaw is Flaw.POSITION and 0 < unseen.loss < 0.3


def test_policy_without_success_is_unable_and_nothing_else_is_tested(run, made):
    idle = [made(False, seed=seed) for seed in range(6)]
    found = diagnose(AsRead(run([*idle, made(False, condition="displace", change=Displace(0.2))])))
    assert [each.flaw for each in found if each.verdict is Verdict.FOUND] == [Flaw.UNABLE]
    assert by(found)[Flaw.POSITION] is Verdict.CANNOT_TELL and by(found)[Flaw.MISSES] is Verdict.CANNOT_TELL
    assert of(found, Flaw.POSITION).untested == Untested(Flaw.POSITION, "changes")


def test_success_under_nonsense_reveals_ignored_words_without_trajectories(run, made):
    def diagnosed(condition: str, **more: bool) -> tuple[Finding, ...]:
        labels = {"axis": "words", "plausible": False, **more}
        rows = [made(True, seed=seed) for seed in range(6)]
        rows += [made(True, seed=seed, condition=condition, labels=labels) for seed in range(6)]
        return diagnose(profile(run(rows), with_paths=False))

    guessed = diagnosed("shuffle", guessable=True)
    assert by(guessed)[Flaw.IGNORES_WORDS] is Verdict.CANNOT_TELL, "a bag of words may be understood"
    found = diagnosed("xxx")
    assert by(found)[Flaw.IGNORES_WORDS] is Verdict.FOUND
    (evidence,) = of(found, Flaw.IGNORES_WORDS).evidence
    assert evidence.measure == "nonsense" and counts(evidence)[:2] == (6, 6)


def test_several_runs_of_a_policy_give_one_diagnosis(run, made):
    words, world = (
        profile(run(worded(made, lambda text: "stove" in text, seeds=range(8)))),
        profile(run(moved(made, 0.15, seeds=range(14)))),
    )
    together = diagnose(words, world)
    found = {each.flaw: each for each in together if each.verdict is Verdict.FOUND}
    assert set(found) == {Flaw.UNKNOWN_NAMES, Flaw.POSITION}
    assert found[Flaw.UNKNOWN_NAMES].evidence[0].run == 0 and found[Flaw.POSITION].evidence[0].run == 1
    assert counts(of(diagnose(world, world), Flaw.UNABLE).evidence[0])[:2] == (0, 14), "a start counts once"
    alone = {each.flaw: each for each in diagnose(world)}
    assert found[Flaw.POSITION].p > alone[Flaw.POSITION].p, "more was tested"
    assert len({each.flaw for each in together}) == len(together)


def test_each_run_has_its_own_p_per_row(run, made):
    """The same condition in two runs: one loses all successes, the other none."""
    labels = {"axis": "world", "change": "position", "plausible": True}

    def measured(lost: bool):
        rows = [made(True, seed=seed, condition="control") for seed in range(20)]
        return profile(
            run([*rows, *(made(not lost, seed=s, condition="c", labels=labels) for s in range(20))])
        )

    both = measured(True), measured(False)
    _, adjusted = examine(*both)
    lost, kept = (with_adjusted_p(each, adjusted, run)["drops"][0].p_holm for run, each in enumerate(both))
    assert lost < 0.05 and kept == 1.0


def test_several_runs_are_pooled(run, made):
    """Each run alone has too few starts."""
    runs = [profile(run(moved(made, 0.0, seeds=range(first, first + 4)))) for first in (0, 4, 8)]
    few = of(diagnose(runs[0]), Flaw.POSITION)
    assert (few.verdict, few.claim) == (Verdict.CANNOT_TELL, Claim.TOO_FEW)
    found = next(each for each in diagnose(*runs) if each.flaw is Flaw.POSITION)
    assert found.verdict is Verdict.FOUND and found.evidence[0].runs == (0, 1, 2)
    assert counts(found.evidence[0])[:2] == (0, 48) and found.evidence[0].reference == 1.0


def of_kinds(made, rates, kinds, seeds=range(4)):
    """Tasks that succeed at their rates, each of a kind."""
    for number, (rate, kind) in enumerate(zip(rates, kinds, strict=True)):
        for seed in seeds:
            labels = {"axis": "world", "plausible": True, "label:interaction": str(kind)}
            success, task = seed < rate * len(seeds), f"libero_goal/{number}"
            yield made(success, task, seed, "jittered", labels, change=Displace(0.05))


def test_worse_kind_of_task_is_found_with_many_tasks(run, made):
    kinds = ["placement"] * 5 + ["composite"] * 5
    rows = list(of_kinds(made, [1.0] * 5 + [0.25] * 5, kinds))
    found = diagnose(AsRead(run(rows)))
    assert of(found, Flaw.KIND).evidence[0].part == "interaction=composite"
    assert counts(of(found, Flaw.KIND).evidence[0]) == (5, 20, 20, 20)
    (evidence,) = next(each.evidence for each in found if each.flaw is Flaw.KIND)
    assert evidence.interval.low <= evidence.value == -0.75 <= evidence.interval.high < 0
    assert Flaw.KIND not in by(diagnose(AsRead(run(rows[:1] + rows[20:24]))))


def test_labels_of_changes_are_not_kinds_of_tasks(run, made):
    """Half of each task's episodes ask for another thing, by another attribute, and fail."""
    rows = []
    for number, seed, other in product(range(10), range(4), (False, True)):
        condition, attribute = ("unseen", "category") if other else ("jittered", "colour")
        labels = {"axis": "world", "plausible": True, "label:attribute": attribute}
        labels["label:subtasks"] = "1" if number < 5 else "2"
        task = f"libero_goal/{number}"
        rows.append(made(not other, task, seed, condition, labels, change=Displace(0.05)))
    found = profile(run(rows))
    compared = {family for family, values in found["labels"].items() if isinstance(values[0], LabelRate)}
    assert {*found["labels"]} == {"attribute", "subtasks"} and compared == {"subtasks"}
    assert by(diagnose(found)).get(Flaw.KIND) is not Verdict.FOUND


def remembered(made, share: float, lost: float, starts: int = 40):
    """Objects are moved; a share of the paths repeats the control's, and a share fails."""
    labels = {"axis": "world", "plausible": True, "distance": 0.2}
    options = {"condition": "moved", "labels": labels, "change": Displace(0.2)}
    for seed in range(starts):
        shake = 0.001 * (seed % 7)
        yield made(True, seed=seed, hand=path(0.0) + shake)
        hand = path(0.0 if seed < share * starts else 0.6) + shake
        yield made(seed >= lost * starts, seed=seed, hand=hand, **options)


@pytest.mark.parametrize("share, degree", [(0.3, Degree.RARELY), (0.6, Degree.PARTLY), (0.9, Degree.MOSTLY)])
def test_memory_is_graded_and_explains_the_loss_that_it_covers(run, made, share, degree):
    found = diagnose(AsRead(run(remembered(made, share, share))))
    assert of(found, Flaw.MEMORISES).degree is degree
    assert by(found)[Flaw.POSITION] is Verdict.EXPLAINED
    assert of(found, Flaw.POSITION).cause is Flaw.MEMORISES
    if degree is Degree.RARELY:
        found = diagnose(AsRead(run(remembered(made, share, 0.8))))
        assert by(found)[Flaw.MEMORISES] is by(found)[Flaw.POSITION] is Verdict.FOUND
        assert of(found, Flaw.POSITION).degree is Degree.MOSTLY, "too large a loss to be explained"


def test_four_repeats_of_forty_are_not_significant(run, made):
    found = diagnose(AsRead(run(remembered(made, 0.1, 0.1))))
    assert [each.flaw for each in found if each.verdict is Verdict.FOUND] == [Flaw.NOTHING]
    assert isinstance(found[0].detail, Unnoticed) and 0.1 < found[0].detail.memory < 0.25
    share = f"{100 * found[0].detail.memory:.0f} % of episodes"
    assert f"nor can memorised trajectories in up to {share}" in format_finding(found[0]).text


@pytest.mark.parametrize(
    "lost, degree", [(12, Degree.RARELY), (30, Degree.RARELY), (50, Degree.PARTLY), (65, Degree.MOSTLY)]
)
def test_unperturbed_failures_are_graded(run, made, lost, degree):
    found = diagnose(AsRead(run(made(seed >= lost, seed=seed) for seed in range(100))))
    assert of(found, Flaw.UNABLE).degree is degree
    assert counts(of(found, Flaw.UNABLE).evidence[0])[:2] == (lost, 100)


def unchanged(made, near: int, far: int, near_words: int, starts: int = 60):
    """Controls that fail near the path of success or far from it; and wordings that fail near it."""
    for seed in range(starts):
        usual = path(0.002 * (seed % 9))
        hand = path(1.0) if near <= seed < near + far else usual
        yield made(seed >= near + far, seed=seed, hand=hand)
        labels = {"axis": "words", "plausible": True}
        yield made(seed < starts - near_words, seed=seed, condition="said", labels=labels, hand=usual)


@pytest.mark.parametrize(
    ("near", "far", "near_words", "misses", "unable"),
    [
        (15, 0, 0, Verdict.FOUND, Verdict.EXPLAINED),
        (0, 15, 30, Verdict.NOT_FOUND, Verdict.FOUND),
        (15, 15, 0, Verdict.FOUND, Verdict.FOUND),
    ],
)
def test_failures_close_to_success_are_misses(run, made, near, far, near_words, misses, unable):
    found = diagnose(AsRead(run(unchanged(made, near, far, near_words))))
    assert (by(found)[Flaw.MISSES], by(found)[Flaw.UNABLE]) == (misses, unable)
    if misses is Verdict.FOUND:
        assert counts(of(found, Flaw.MISSES).evidence[0])[:2] == (15, 60)


def steady(made, random: np.random.Generator, rate: float = 0.95, starts: int = 20):
    """A policy for which no change makes any difference: each episode succeeds at one rate."""
    rows = [*moved(made, 1.0, range(starts)), *worded(made, lambda text: True, range(starts))]
    for row in {row.spec.key: row for row in rows}.values():
        yield replace(row, success=bool(random.random() < rate))


def test_robust_policy_has_no_flaw(run, made):
    found = [diagnose(AsRead(run(steady(made, np.random.default_rng(seed)))))[0] for seed in range(8)]
    wrong = [each.flaw for each in found if each.flaw is not Flaw.NOTHING]
    assert wrong == []


def test_suspicious_loss_is_the_headline_without_a_name(run, made):
    """Six starts of nine fail: certain by itself, but not among everything that is tested."""
    words = {"axis": "words", "plausible": True}
    rows = [made(True, seed=seed, hand=path(0.0) + 0.001 * seed) for seed in range(9)]
    for seed in range(9):
        rows.append(made(seed > 5, seed=seed, condition="red", change=Recolour(), hand=path(0.0)))
        for kind, more in (("other", {}), ("xxx", {"plausible": False})):
            rows.append(made(True, seed=seed, condition=kind, labels=words | more, hand=path(0.5)))
    found = diagnose(AsRead(run(rows)))
    assert by(found)[Flaw.APPEARANCE] is Verdict.NOT_FOUND and of(found, Flaw.APPEARANCE).more.now == 9
    first = found[0]
    assert (first.flaw, first.claim) == (Flaw.NOTHING, Claim.TOO_FEW)
    assert isinstance(first.detail, Fall)
    assert (first.detail.control_hits, first.detail.control_count) == (9, 9)
    assert (first.detail.hits, first.detail.count, first.detail.telling) == (12, 18, 9)
