from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from assay.episodes import EpisodeSpec, Outcome, horizon, task_of
from assay.episodes.episode import Episode, no_trajectory
from assay.perturb import Mask, Perturbation, Say
from assay.perturb.senses.images import pictures_at
from assay.perturb.words.rewordings.designs import Counterfactual, OtherTask
from assay.perturb.world.objects import Recolour, Remove
from assay.perturb.world.position import Displace, Relocate
from assay.perturb.world.staging import MoveCamera, Relight, Repaint, Room
from assay.runs.certificates import Certificate, ClaimVerdict, claim, judge, refusal
from assay.tasks import Arena
from assay.tasks.scene import Finish, Staging, Surface

SPEC = EpisodeSpec("libero_goal/1", 3)
ASKED = ("On plate_1 flat_stove_1_cook_region",)


def changed(*perturbations: Perturbation) -> EpisodeSpec:
    return replace(
        SPEC, experiment="pro", condition="pro/x", perturbations=perturbations, replan=8, labels={"a": 1}
    )


@pytest.mark.parametrize(
    "change",
    [
        Say("xxx", plausible=False),
        Mask(),
        pictures_at(5)["fog"],
        Recolour(),
        Repaint(Surface.TABLE),
        Relight(0.5),
        MoveCamera(shift=(0.1, 0.0, 0.0)),
    ],
)
def test_words_senses_and_looks_share_the_claim_of_their_control(change: Perturbation):
    assert claim(changed(change)) == claim(SPEC)


def test_claim_is_about_the_very_scene_of_its_episode_but_for_looks():
    spec = changed(Recolour(), Relocate(1.0), Say("now"), Room(Arena.KITCHEN), Displace(0.05))
    scene, claimed = task_of(spec).scene, task_of(claim(spec)).scene
    objects = tuple(replace(each, finish=Finish()) for each in scene.objects)
    assert claimed == replace(scene, objects=objects) != scene
    assert claim(spec) != claim(SPEC) and claimed.staging == Staging()


def test_claim_is_about_the_goal_that_is_asked_for():
    told, meant = changed(OtherTask("do", ASKED)), changed(Counterfactual("do", ASKED))
    assert claim(told) == claim(meant) != claim(SPEC)
    assert str(task_of(claim(meant)).goal) == ASKED[0]


def test_requested_goal_does_not_change_the_scene_of_the_tasks_own_goal():
    spec = changed(Counterfactual("do", ASKED), Displace(0.3))
    assert task_of(claim(spec)).scene == task_of(spec).scene


def test_claim_about_an_unsolvable_scene_is_that_it_is_stable():
    assert claim(changed(Remove())).steps == 1 and horizon(claim(SPEC)) > horizon(SPEC)


def test_disturbed_tries_are_claims_of_their_own():
    assert len({claim(SPEC, disturbed).key for disturbed in range(4)}) == 4


Made = Callable[..., Episode]
GONE = replace(SPEC, perturbations=(Remove(),), steps=1)


def test_verdict_follows_from_the_demonstrators_episode(episode: Made):
    done = episode(Outcome.SUCCESS, 7, truth={"a": ((7, 8),), "b": ((0, 8),)})
    assert judge(SPEC, done) == Certificate(ClaimVerdict.SOLVED, 7)
    unplaced = judge(SPEC, Episode(Outcome.ERROR, 0, no_trajectory(), error="no room for milk"))
    assert refusal(SPEC, unplaced) == "cannot be placed: no room for milk"
    for error in ("not reached: On a b", "Oracle, step 3: ValueError: no", ""):
        outcome = Outcome.ERROR if "step" in error else Outcome.FAILURE
        failed = judge(SPEC, episode(outcome, 5, error=error))
        assert refusal(SPEC, failed) and failed.verdict is ClaimVerdict.FAILED
        assert failed.why == (error or "goal not reached in 300 steps")
    begun = judge(SPEC, episode(Outcome.SUCCESS, 1, truth={"a": ((0, 2),), "b": ((0, 1),)}))
    assert refusal(SPEC, begun) == "true at the start"
    assert judge(GONE, episode(Outcome.FAILURE, 1)) == Certificate(ClaimVerdict.NOTHING)
    assert refusal(GONE, judge(GONE, episode(Outcome.ERROR, 1, error="unstable")))
