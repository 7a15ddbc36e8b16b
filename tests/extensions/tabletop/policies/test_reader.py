from __future__ import annotations

from dataclasses import replace

import pytest
from bench.prompt_reader.policy import PromptReader
from bench.prompt_reader.reading import MarkedPrompt, NamedObject, PromptRequest, parse_request

from assay.extensions.tabletop.prompts.perturbations import (
    Gobbledygook,
    PermutedObjects,
    PromptMask,
    PromptParaphrase,
    PromptPart,
    TextReferents,
    Unit,
)
from assay.extensions.tabletop.prompts.prompt import Picture, Prompt
from assay.extensions.tabletop.tasks import KINDS, make
from assay.extensions.tabletop.tasks.task import Level, Setting, TableTask
from assay.extensions.tabletop.world.env import play
from assay.extensions.tabletop.world.observation import Photograph, render_picture
from assay.extensions.tabletop.world.scene import TableItem, TableScene
from assay.perturb import apply_perturbations

ASKED = {
    "T1": "put", "T2": "find", "T3": "rotate", "T4": "rearrange", "T5": "restore", "T6": "put", "T7": "put",
    "T8": "put", "T9": "twist", "T10": "motion", "T11": "order", "T12": "sweep", "T13": "sweep", "T14": "texture",
    "T15": "profile", "T16": "neighbour", "T17": "round",
}  # fmt: skip
PARTS = {
    "T1": ("dragged_obj", "base_obj"), "T6": ("dragged_obj", "base_obj"), "T7": ("dragged_obj", "base_obj"),
    "T8": ("dragged_obj", "base_obj"), "T12": ("swept_obj", "bounds", "constraint"),
    "T13": ("swept_obj", "bounds", "constraint"), "T16": ("dragged_obj", "base_obj"),
    "T17": ("dragged_obj", "base_obj_1", "base_obj_2"),
}  # fmt: skip


def understood(prompt: Prompt) -> tuple[MarkedPrompt, PromptRequest | None]:
    def scene(thing: object) -> bool:
        return isinstance(thing, Picture) and thing.kind == "scene"

    given = MarkedPrompt.of(prompt.segments, scene=scene)
    return given, parse_request(given, frozenset(i for i, each in enumerate(given.slots) if scene(each)))


def is_part(slot: object, picture: Picture) -> bool:
    (item,) = picture.scene.items
    if isinstance(slot, NamedObject):
        return slot.shape == item.shape and slot.look in (None, item.texture)
    return slot == picture


def wordings_of(kind: str) -> list[tuple[TableTask, Prompt]]:
    """Its own words, other words and, where pictures can be named, words alone."""
    found = []
    for seed in range(8):
        task = make(Setting(kind, seed, KINDS[kind].levels[0]))
        found += [
            (task, task.prompt),
            (task, apply_perturbations(task, PromptParaphrase(), seed=seed).prompt),
        ]
        if TextReferents.concerns(kind):
            found.append((task, apply_perturbations(task, TextReferents(), seed=seed).prompt))
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_every_wording_is_understood_with_its_parts(kind: str):
    for task, prompt in wordings_of(kind):
        given, request = understood(prompt)
        assert request is not None and request.kind == ASKED[kind], given.text
        pictures = dict(task.prompt.pictures)
        for slot, name in zip(request.things, PARTS.get(kind, ()), strict=kind in PARTS):
            assert is_part(given.slots[slot], pictures[name]), given.text
        if kind in ("T6", "T8"):
            assert len(request.pairs) == 3 and request.less == ("the less " in task.prompt.text)
            for number, (more, less) in enumerate(request.pairs, start=1):
                assert given.slots[more] == pictures[f"more_{number}"], given.text
                assert given.slots[less] == pictures[f"less_{number}"], given.text
        assert request.touching == (kind == "T13")


@pytest.mark.parametrize("kind", KINDS)
def test_nonsense_and_pictures_without_words_are_not_understood(kind: str):
    task = make(Setting(kind, 0, KINDS[kind].levels[0]))
    for change in (
        *map(Gobbledygook, Unit),
        PromptMask(PromptPart.LANGUAGE),
        PromptMask(PromptPart.INSTRUCTION),
    ):
        given, request = understood(apply_perturbations(task, change, seed=1).prompt)
        assert request is None, given.text


SOLVED = ("T1", "T2", "T3", "T6", "T7", "T9", "T11", "T16", "T17")


@pytest.mark.parametrize("kind", SOLVED)
def test_the_reader_solves_paraphrased_tasks(drawing: str, kind: str):
    task = make(Setting(kind, 3, Level.L2))
    assert play(apply_perturbations(task, PromptParaphrase(), seed=3), PromptReader()).success


def test_the_reader_solves_tasks_given_in_words_alone_and_ignores_the_order_of_objects(drawing: str):
    for kind in ("T15", "T12"):
        task = apply_perturbations(make(Setting(kind, 1)), TextReferents(), seed=1)
        assert not task.prompt.pictures and play(task, PromptReader()).success
    assert play(make(Setting("T5", 0)), PromptReader(), perturbations=(PermutedObjects(),)).success


def test_the_reader_uses_pixels_only(drawing: str):
    lie = TableScene((TableItem("a", "star", "magma", 0.5, 0.0),))
    for kind in ("T1", "T4"):
        task = make(Setting(kind, 0))
        pictures = tuple(
            (name, Photograph("object", lie, render_picture(each))) for name, each in task.prompt.pictures
        )
        assert play(replace(task, prompt=Prompt(task.prompt.text, pictures)), PromptReader()).success
