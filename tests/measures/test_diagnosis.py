from __future__ import annotations

import json

import numpy as np

from assay.measures import Flaw, Verdict, diagnose, profile
from assay.perturb.world import Displace

WORDS = {
    ("none", "hint"): "the bowl is not on the stove yet",
    ("none", "need"): "I need the bowl on the stove",
    ("habitual", "hint"): "the bowl is not on the range yet",
    ("habitual", "need"): "I need the bowl on the range",
    ("contextual", "hint"): "the vessel is not on the stove yet",
    ("contextual", "need"): "I need the vessel on the stove",
}
"""Wordings of "put the bowl on the stove": as it is, without its stove, without its bowl."""


def by(findings) -> dict[Flaw, Verdict]:
    return {each.flaw: each.verdict for each in findings}


def said(findings, flaw: Flaw) -> str:
    return next(each.sentence for each in findings if each.flaw is flaw)


def path(to: float) -> np.ndarray:
    """There and back, towards another side."""
    time = np.linspace(0, np.pi, 101)[:, None]
    return np.sin(time) * np.array([0.3, to, 0.2])


def worded(made, knows, tasks=("libero_goal/1",), seeds=range(4)):
    """A grid of wordings; ``knows`` says of a text whether the policy succeeds."""
    for task in tasks:
        for seed in seeds:
            yield made(True, task=task, seed=seed)
            for (thing, action), text in WORDS.items():
                labels = {"axis": "words", "plausible": True, "object": thing, "action": f"{action} {seed}"}
                yield made(
                    knows(text),
                    task=task,
                    seed=seed,
                    condition=f"{thing} {action}",
                    labels=labels,
                    words=text,
                )


def test_it_names_the_noun_that_is_not_understood(run, made):
    found = diagnose(profile(run(worded(made, lambda text: "stove" in text))))
    assert by(found)[Flaw.UNKNOWN_NAMES] is Verdict.FOUND
    assert said(found, Flaw.UNKNOWN_NAMES) == (
        "Knows the task but not the word for the stove: 8 of 8 with the names kept, 8 of 16 with them "
        "changed; other names for the bowl do no harm."
    )
    evidence = {each.measure: each for each in found[0].evidence}
    assert evidence["names.stove"].value == -1.0 and evidence["names.bowl"].value == 0.0
    assert by(found)[Flaw.WORDING] is Verdict.NOT_FOUND


def test_new_sentences_that_fail_with_names_kept_are_another_flaw(run, made):
    found = diagnose(profile(run(worded(made, lambda text: False, seeds=range(8)))))
    assert by(found)[Flaw.WORDING] is Verdict.FOUND and by(found)[Flaw.UNKNOWN_NAMES] is Verdict.NOT_FOUND


def moved(made, fails_from: float, seeds=range(10)):
    """A displacement sweep in which success ends at a distance."""
    for seed in seeds:
        yield made(True, seed=seed, hand=path(0.0) + 0.001 * seed)
        for distance in (0.05, 0.1, 0.15, 0.2):
            yield made(
                distance < fails_from,
                seed=seed,
                condition=f"displace={distance}",
                labels={"axis": "world", "plausible": True, "distance": distance},
                hand=path(3 * distance),
                change=Displace(distance),
            )


def test_it_says_from_which_distance_on_position_matters(run, made):
    found = diagnose(profile(run(moved(made, 0.15))))
    assert [each.flaw for each in found if each.verdict is Verdict.FOUND] == [Flaw.POSITION]
    assert said(found, Flaw.POSITION) == (
        "Depends on where things stand: 20 of 40 when things stand elsewhere, 100 % when nothing is "
        "changed; from 15 cm on (0 of 10, still 10 of 10 at 10 cm)."
    )
    assert "0 of 30 paths are the control's although the thing was moved" in said(found, Flaw.MEMORISES)


def test_a_loss_that_chance_explains_is_no_finding(run, made):
    """Three starts that all fall: the least p there is is one in eight."""
    found = diagnose(profile(run(moved(made, 0.0, seeds=range(3)))))
    assert by(found)[Flaw.POSITION] is Verdict.NOT_FOUND
    assert said(found, Flaw.POSITION).startswith(
        "No sign beyond chance that it depends on where things stand: 0"
    )


def test_nothing_found_says_how_much_could_have_gone_unnoticed(run, made):
    found = diagnose(profile(run(moved(made, 1.0))))
    assert found[0].flaw is Flaw.NOTHING and found[0].verdict is Verdict.FOUND
    assert "points (position) could have gone unnoticed" in found[0].sentence


def test_who_does_nothing_is_unable_and_the_rest_cannot_be_told(run, made):
    idle = [made(False, seed=seed) for seed in range(6)]
    found = diagnose(profile(run([*idle, made(False, condition="displace", change=Displace(0.2))])))
    assert [each.flaw for each in found if each.verdict is Verdict.FOUND] == [Flaw.UNABLE]
    assert by(found)[Flaw.POSITION] is Verdict.CANNOT_TELL and by(found)[Flaw.MISSES] is Verdict.CANNOT_TELL
    assert said(found, Flaw.POSITION) == (
        "Cannot tell whether it depends on where things stand, because no run shows, against controls that "
        "succeed, what happens when things stand elsewhere."
    )


def test_without_paths_success_on_nonsense_tells_who_does_not_listen(run, made):
    rows = []
    for seed in range(6):
        rows.append(made(True, seed=seed))
        rows.append(made(True, seed=seed, condition="xxx", labels={"axis": "words", "plausible": False}))
    found = diagnose(profile(run(rows), with_paths=False))
    assert by(found)[Flaw.IGNORES_WORDS] is Verdict.FOUND
    assert "6 of 6 reach the task's goal although the words do not ask for it" in said(
        found, Flaw.IGNORES_WORDS
    )


def test_several_runs_of_a_policy_give_one_diagnosis(run, made):
    words, world = (
        profile(run(worded(made, lambda text: "stove" in text))),
        profile(run(moved(made, 0.15))),
    )
    together = diagnose(words, world)
    found = {each.flaw: each for each in together if each.verdict is Verdict.FOUND}
    assert set(found) == {Flaw.UNKNOWN_NAMES, Flaw.POSITION}
    assert found[Flaw.UNKNOWN_NAMES].evidence[0].run == 0 and found[Flaw.POSITION].evidence[0].run == 1
    alone = {each.flaw: each for each in diagnose(world)}
    assert found[Flaw.POSITION].p > alone[Flaw.POSITION].p, "more was tested"
    assert len({each.flaw for each in together}) == len(together)


def test_a_kind_of_task_that_falls_behind_is_told_if_there_are_many_tasks(run, made):
    rows = [
        made(
            number < 5 or seed == 0,
            task=f"libero_goal/{number}",
            seed=seed,
            condition="jittered",
            labels={
                "axis": "world",
                "plausible": True,
                "label:interaction": "placement" if number < 5 else "composite",
            },
            change=Displace(0.05),
        )
        for seed in range(4)
        for number in range(10)
    ]
    found = diagnose(profile(run(rows)))
    assert said(found, Flaw.KIND) == (
        "Is worse at one kind of task: 5 of 20 where interaction is composite, 20 of 20 elsewhere."
    )
    assert Flaw.KIND not in by(diagnose(profile(run(rows[:1] + rows[6:10]))))


def test_a_diagnosis_is_plain_json(run, made):
    found = diagnose(profile(run(moved(made, 0.15))))
    told = json.loads(json.dumps([each.as_json() for each in found], allow_nan=False))
    assert told[0]["flaw"] == "position" and told[0]["verdict"] == "found"
    assert told[0]["evidence"][0]["interval"]["method"] == "newcombe"


def test_no_run_at_all_tells_nothing():
    assert all(each.verdict is Verdict.CANNOT_TELL for each in diagnose())
