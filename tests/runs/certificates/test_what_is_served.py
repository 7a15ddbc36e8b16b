"""What is certified is what is served: the scene is the same, and what no claim holds is checked besides."""

from __future__ import annotations

from dataclasses import replace

import pytest

from assay import tasks
from assay.episodes import EpisodeSpec, task_of
from assay.episodes.senses import Sense
from assay.errors import PerturbationError
from assay.experiments.factors import changes_to, contradiction
from assay.perturb import Perturbation, Say
from assay.perturb.words.rewordings.designs import OtherTask
from assay.perturb.words.rewordings.sentences import Synonyms
from assay.perturb.world.objects import Recolour
from assay.perturb.world.position import Displace
from assay.perturb.world.staging import MoveCamera, Orbit, Relight, Room
from assay.runs.certificates import (
    Certificate,
    CertificateCache,
    ClaimVerdict,
    admit,
    claim,
    count_reasons,
    summarise,
)
from assay.tasks import Arena, Scene
from assay.tasks.scene import Finish, Lighting

SPEC = EpisodeSpec("libero_spatial/0", 0)
TASK = tasks.load(SPEC.task)
RED = (0.9, 0.1, 0.1)


def changed(*perturbations: Perturbation, task: str = SPEC.task, seed: int = 0) -> EpisodeSpec:
    return replace(SPEC, task=task, seed=seed, condition="changed", perturbations=perturbations)


def physical(scene: Scene) -> Scene:
    """A scene as physics sees it."""
    return replace(
        scene,
        objects=tuple(replace(each, finish=Finish()) for each in scene.objects),
        fixtures=tuple(replace(each, finish=Finish()) for each in scene.fixtures),
        staging=replace(scene.staging, surfaces=(), lighting=Lighting(), cameras=()),
    )


def realised(spec: EpisodeSpec) -> Scene | str:
    try:
        return physical(task_of(spec).scene)
    except PerturbationError as error:
        return str(error)


AXES = ("words", "world", "senses")  # each is one of the others
SINGLE = {name: change for name, change in changes_to(TASK).items() if name not in AXES}
FIRST = {name: change for name, change in SINGLE.items() if not change.decides}
THEN = {name: change for name, change in SINGLE.items() if change.decides}


@pytest.mark.parametrize("world", sorted(THEN))
def test_words_looks_and_senses_leave_the_certified_scene_unchanged(world: str):
    certified = realised(claim(changed(THEN[world])))
    compared = 0
    for name, first in FIRST.items():
        spec = changed(first, THEN[world])
        if (
            isinstance(first, Sense)
            or contradiction(name, world)
            or isinstance(realised(changed(first)), str)
        ):
            continue
        assert claim(spec) == claim(changed(THEN[world]))
        assert realised(spec) == certified, f"{name}, then {world}"
        compared += 1
    assert compared >= 15


def test_claim_about_another_goal_has_the_places_that_its_words_allow():
    asked = OtherTask(
        "put the bowl next to the plate on the stove", ("On akita_black_bowl_2 flat_stove_1_cook_region",)
    )
    spec = changed(asked, Displace(0.1))
    assert realised(spec) == realised(claim(spec))


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (changed(Recolour(RED)), "the instruction names the colour black"),
        (changed(Synonyms(), Say("be quick"), Synonyms()), "words/synonyms"),
        (changed(Room(Arena.FLOOR), Orbit(elevation=-0.6)), "expected 6 to 80"),
        (changed(Relight(0.5), Relight(2.0)), "nothing is changed"),
        (changed(MoveCamera(zoom=1.5), MoveCamera(zoom=1.5)), "zoom is 2.25"),
    ],
)
def test_impossible_words_and_looks_are_refused_beyond_the_claim(
    cache: CertificateCache, spec: EpisodeSpec, words: str
):
    solved = Certificate(ClaimVerdict.SOLVED, 100)
    cache.add(claim(spec), solved)
    cache.add(claim(spec.control()), solved)
    admitted, refused = admit([spec], cache)
    assert not admitted and words in str(realised(spec))
    (reason,) = count_reasons(refused)
    assert reason.startswith("cannot be placed: ") and words in reason
    *_, whole = summarise([spec], cache)
    assert (whole.certified, whole.scenes) == (0, 1)
