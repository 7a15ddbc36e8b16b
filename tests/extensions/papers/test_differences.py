from __future__ import annotations

from dataclasses import replace

from assay import tasks
from assay.episodes import Change, apply_perturbations
from assay.extensions.papers.libero_pro.perturbations import Exchange, Recategorise
from assay.extensions.papers.releases import differences
from assay.perturb import Say
from assay.perturb.words.rewordings.designs import OtherTask
from assay.perturb.world.layout import Distractors
from assay.perturb.world.objects import Recolour, Resize
from assay.perturb.world.position import Displace
from assay.perturb.world.staging import Room
from assay.tasks import Arena, Entity, Instruction, bddl

TASK = tasks.load("libero_goal/8")


def test_what_a_perturbation_changes_is_found():
    for change, found in (
        (Exchange("plate_1", "wine_bottle_1"), Change.POSITION),
        (Displace(0.1), Change.POSITION),
        (Recategorise("plate", "yellow_plate"), Change.OBJECT),
        (Resize(0.9), Change.OBJECT),
        (Recolour(), Change.APPEARANCE),
        (Distractors(1), Change.CLUTTER),
        (Room(Arena.KITCHEN), Change.ROOM),
        (Say("place the bowl onto the plate"), Change.WORDING),
        (OtherTask("open the middle drawer", ("Open wooden_cabinet_1_middle_region",)), Change.TASK),
    ):
        assert differences(TASK, apply_perturbations(TASK, change, seed=0)) == {found}


def test_nothing_is_changed_by_writing_and_reading_nor_by_capital_letters():
    read = bddl.parse(bddl.write(TASK), id="again")
    shouted = replace(read, instruction=Instruction(TASK.instruction.text.upper()))
    assert differences(TASK, shouted) == frozenset()


def test_a_renamed_object_is_the_same_object():
    # As LIBERO-PRO replaces objects in its files: the new category is part of every name, including regions'.
    text = bddl.write(TASK).replace("akita_black_bowl", "white_bowl")
    read = bddl.parse(text, id="renamed")
    assert Entity("white_bowl_1", "white_bowl") in read.scene.objects
    assert differences(TASK, replace(read, instruction=TASK.instruction)) == {Change.OBJECT}
