from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from assay.extensions.tabletop.policies.perception import may_have_texture, see_objects, turn_between
from assay.extensions.tabletop.policies.reader import PromptReader
from assay.extensions.tabletop.prompts.perturbations import (
    PermutedObjects,
    PromptParaphrase,
    TextReferents,
)
from assay.extensions.tabletop.prompts.prompt import Picture, Prompt
from assay.extensions.tabletop.tasks import make
from assay.extensions.tabletop.tasks.levels import Level
from assay.extensions.tabletop.tasks.task import Setting
from assay.extensions.tabletop.world.env import play
from assay.extensions.tabletop.world.render import Photograph, render_picture
from assay.extensions.tabletop.world.scene import TableItem, TableScene
from assay.perturb import apply_perturbations

SOLVED = ("T1", "T2", "T3", "T6", "T7", "T9", "T11", "T16", "T17")


@pytest.mark.parametrize("kind", SOLVED)
def test_it_does_what_is_asked_in_other_words(drawing: str, kind: str):
    task = make(Setting(kind, 3, Level.L2))
    assert play(apply_perturbations(task, PromptParaphrase(), seed=3), PromptReader()).success


def test_it_does_what_is_asked_in_words_alone_and_sweeps(drawing: str):
    for kind in ("T15", "T12"):
        task = apply_perturbations(make(Setting(kind, 1)), TextReferents(), seed=1)
        assert not task.prompt.pictures and play(task, PromptReader()).success


def test_the_order_of_objects_is_nothing_to_it(drawing: str):
    assert play(make(Setting("T5", 0)), PromptReader(), perturbations=(PermutedObjects(),)).success


def test_it_goes_by_pixels_and_not_by_what_they_were_drawn_from(drawing: str):
    lie = TableScene((TableItem("a", "star", "magma", 0.5, 0.0),))
    for kind in ("T1", "T4"):
        task = make(Setting(kind, 0))
        pictures = tuple(
            (name, Photograph("object", lie, render_picture(each))) for name, each in task.prompt.pictures
        )
        assert play(replace(task, prompt=Prompt(task.prompt.text, pictures)), PromptReader()).success


def test_shapes_textures_and_turns_are_seen(drawing: str):
    def table(yaw: float) -> Picture:
        return Picture("scene", TableScene((TableItem("a", "letter G", "tiger", 0.45, 0.1, yaw),)))

    before, after = (see_objects(render_picture(table(yaw))) for yaw in (0.4, 0.4 + np.radians(120)))
    (thing,) = before
    name, origin, yaw = thing.shape()
    assert name == "letter G" and np.allclose(origin, (0.45, 0.1), atol=0.006) and abs(yaw - 0.4) < 0.1
    assert may_have_texture(thing, "tiger") and not may_have_texture(thing, "blue")
    assert abs(turn_between([(thing, after[0])]) - np.radians(120)) < 0.1
