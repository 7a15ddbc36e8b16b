from __future__ import annotations

from dataclasses import replace

import pytest

from assay import tasks
from assay.perturb.words.rewordings.sentences import swap_synonyms, synonyms_in
from assay.support.streams import stream
from assay.tasks import Entity
from assay.tasks.language import read_steps
from assay.tasks.language.lexicon import mentions, names_of


@pytest.mark.parametrize("id", tasks.all_ids())
def test_every_verb_and_some_name_changes_and_nothing_else_is_named(id: str):
    task = tasks.load(id)
    text = task.instruction.text
    for seed in range(5):
        changed = swap_synonyms(text, task.scene, stream(seed))
        for step, other in zip(read_steps(text), read_steps(changed), strict=True):
            assert step.verb != other.verb and step.preposition == other.preposition
        assert [step.thing for step in read_steps(text)] != [step.thing for step in read_steps(changed)]
        for entity in task.scene.entities:
            for name in names_of(entity.category):
                assert mentions(text, name) or not mentions(changed, name), changed


def test_a_thing_keeps_its_new_name_and_its_number():
    task = tasks.load("libero_10/8")
    changed = swap_synonyms("put both moka pots on the stove", task.scene, stream(0))
    assert changed.endswith("both coffee makers on the range")
    task = tasks.load("libero_spatial/8")
    changed = swap_synonyms(task.instruction.text, task.scene, stream(0))
    assert changed.count("platter") == 2 and "plate" not in changed.split()


def test_a_name_that_something_else_could_have_is_not_used():
    scene = tasks.load("libero_goal/1").scene
    assert synonyms_in(scene)["drawer"] == "compartment"
    with_caddy = replace(scene, objects=(*scene.objects, Entity("desk_caddy_1", "desk_caddy")))
    assert synonyms_in(with_caddy)["drawer"] != "compartment"


def test_things_without_a_synonym_keep_their_names():
    task = tasks.load("libero_goal/1")
    assert swap_synonyms("put the gizmo on the stove", task.scene, stream(0)).split()[2] == "gizmo"
    nothing = replace(task.scene, fixtures=(), objects=())
    assert swap_synonyms("put the gizmo on the doodad", nothing, stream(0)).endswith(
        "the gizmo on the doodad"
    )
