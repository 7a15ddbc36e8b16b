from __future__ import annotations

from dataclasses import replace

import pytest

from assay.episodes import EpisodeSpec, horizon, task_of
from assay.perturb import Mask, Perturbation, Say
from assay.perturb.senses import pictures_at
from assay.perturb.words.rewordings import Counterfactual, OtherTask
from assay.perturb.world import Displace, MoveCamera, Recolour, Relight, Relocate, Remove, Repaint, Room
from assay.runs.certificates import claim
from assay.tasks import Arena
from assay.tasks.scene import USUAL_FINISH, USUAL_STAGING, Surface

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


def test_a_claim_is_about_the_very_scene_of_its_episode_but_for_looks():
    spec = changed(Recolour(), Relocate(1.0), Say("now"), Room(Arena.KITCHEN), Displace(0.05))
    scene, claimed = task_of(spec).scene, task_of(claim(spec)).scene
    objects = tuple(replace(each, finish=USUAL_FINISH) for each in scene.objects)
    assert claimed == replace(scene, objects=objects) != scene
    assert claim(spec) != claim(SPEC) and claimed.staging == USUAL_STAGING


def test_a_claim_is_about_the_goal_that_is_asked_for():
    told, meant = changed(OtherTask("do", ASKED)), changed(Counterfactual("do", ASKED))
    assert claim(told) == claim(meant) != claim(SPEC)
    assert str(task_of(claim(meant)).goal) == ASKED[0]


def test_what_is_asked_for_does_not_change_the_scene_that_was_made_for_the_tasks_own_goal():
    spec = changed(Counterfactual("do", ASKED), Displace(0.3))
    assert task_of(claim(spec)).scene == task_of(spec).scene


def test_where_nothing_is_to_be_solved_the_claim_is_that_the_scene_stands():
    assert claim(changed(Remove())).steps == 1 and horizon(claim(SPEC)) > horizon(SPEC)


def test_disturbed_tries_are_claims_of_their_own():
    assert len({claim(SPEC, disturbed).key for disturbed in range(4)}) == 4
