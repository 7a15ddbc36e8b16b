from __future__ import annotations

from dataclasses import replace

import pytest

from assay import tasks
from assay.perturb.words.rewordings.sentences import (
    Concise,
    Passive,
    Reorder,
    Synonyms,
    Telegraphic,
    Verbose,
    synonyms_in,
    variants,
)
from assay.tasks import Entity
from assay.tasks.language.lexicon import mentions, names_of
from assay.tasks.language.steps import read_steps

from .conftest import Reword

STOVE = "turn on the stove and put the moka pot on it"
DRAWER = "put the black bowl in the bottom drawer of the cabinet and close it"
BOWL = "pick up the black bowl next to the ramekin and place it on the plate"
BOTH = "put both the alphabet soup and the tomato sauce in the basket"
INSIDE = "open the top drawer and put the bowl inside"
EXAMPLES = {
    Concise(): {
        "put the bowl on the stove": "bowl on stove",
        STOVE: "stove on, moka pot on it",
        DRAWER: "black bowl in bottom drawer of cabinet, close it",
        BOWL: "black bowl next to ramekin, onto plate",
        BOTH: "alphabet soup and tomato sauce in basket",
    },
    Reorder(): {
        "put the bowl on the stove": "on the stove, put the bowl",
        "turn on the stove": "the stove, turn it on",
        STOVE: "put the moka pot on the stove after turning it on",
        DRAWER: "close the bottom drawer of the cabinet after putting the black bowl in it",
        BOWL: "place on the plate the black bowl that is next to the ramekin",
        "put the mug on the left plate and put the cup on the right plate": (
            "on the left plate, put the mug, and on the right plate, put the cup"
        ),
    },
    Passive(): {
        STOVE: "the stove should be turned on and the moka pot should be put on it",
        BOWL: "the black bowl next to the ramekin should be picked up and placed on the plate",
        DRAWER: (
            "the black bowl should be put in the bottom drawer of the cabinet "
            "and the bottom drawer should be closed"
        ),
    },
    Telegraphic(): {
        STOVE: "turn on stove, put moka pot on stove",
        DRAWER: "put black bowl in bottom drawer of cabinet, close drawer",
        BOWL: "pick up black bowl next to ramekin, place on plate",
    },
}


@pytest.mark.parametrize("change", EXAMPLES, ids=lambda change: change.kind)
def test_examples_are_reworded_as_documented(change, reword: Reword):
    assert {text: reword(change, text) for text in EXAMPLES[change]} == EXAMPLES[change]


@pytest.mark.parametrize("change", [*EXAMPLES, Verbose()], ids=lambda change: change.kind)
def test_built_in_tasks_keep_the_names_of_their_objects(change, reword: Reword):
    for task in tasks.resolve("all"):
        text = task.instruction.text
        changed = reword(change, text, id=task.id)
        assert changed != text
        for name in (name for entity in task.scene.entities for name in names_of(entity.category)):
            assert mentions(changed, name) or not mentions(text, name), (task.id, changed)


def test_synonyms_change_every_verb_and_a_name_and_name_no_other_object(reword: Reword):
    for task in tasks.resolve("all"):
        text, steps = task.instruction.text, read_steps(task.instruction.text)
        for seed in range(3):
            changed = reword(Synonyms(), text, seed, task.id)
            others = read_steps(changed)
            for step, other in zip(steps, others, strict=True):
                assert step.verb != other.verb and step.preposition == other.preposition
            assert [step.thing for step in steps] != [other.thing for other in others]
            for name in (name for entity in task.scene.entities for name in names_of(entity.category)):
                assert mentions(text, name) or not mentions(changed, name), changed


def test_synonyms_keep_number_and_are_unambiguous(reword: Reword):
    text = "put both moka pots on the stove"
    assert reword(Synonyms(), text, id="libero_10/8").endswith("both coffee makers on the range")
    assert reword(Synonyms(), "put the gizmo on the stove").split()[2] == "gizmo"
    scene = tasks.load("libero_goal/1").scene
    assert synonyms_in(scene)["drawer"] == "compartment"
    with_caddy = replace(scene, objects=(*scene.objects, Entity("desk_caddy_1", "desk_caddy")))
    assert synonyms_in(with_caddy)["drawer"] != "compartment"


def test_every_built_in_task_has_three_semantic_variants_with_the_same_names():
    for task in tasks.resolve("all"):
        text = task.instruction.text
        options = variants(text)
        assert len(options) >= 3 and len(set(options)) == len(options) and text not in options
        names = [name for entity in task.scene.entities for name in names_of(entity.category)]
        for option in (option.replace("'s ", " ") for option in options):
            assert all(mentions(option, name) == mentions(text, name) for name in names), option
