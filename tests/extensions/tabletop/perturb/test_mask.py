from __future__ import annotations

import pytest

from assay.extensions.tabletop.perturb import Part, PromptMask
from assay.extensions.tabletop.prompt import Picture
from assay.extensions.tabletop.tasks import KINDS, Setting, TableTask, make
from assay.perturb import apply_perturbations


def masked(kind: str, part: Part) -> TableTask:
    return apply_perturbations(make(Setting(kind, 0, KINDS[kind].levels[0])), PromptMask(part), seed=0)


@pytest.mark.parametrize("kind", KINDS)
def test_without_language_the_pictures_are_left_in_their_order(kind: str):
    before, after = make(Setting(kind, 0, KINDS[kind].levels[0])).prompt, masked(kind, Part.LANGUAGE).prompt
    assert after.segments == tuple(each for each in before.segments if isinstance(each, Picture))


@pytest.mark.parametrize("kind", KINDS)
def test_without_pictures_there_are_none_to_look_up_either(kind: str):
    before, after = make(Setting(kind, 0, KINDS[kind].levels[0])).prompt, masked(kind, Part.VISUAL).prompt
    assert not after.pictures and not after.placeholders
    spoken = " ".join(each for each in before.segments if isinstance(each, str))
    assert [word.strip(".,:;") for word in after.text.split()] == [
        word for word in (each.strip(".,:;") for each in spoken.split()) if word
    ]


def test_what_is_left_reads_well():
    assert masked("T1", Part.VISUAL).prompt.words == "Put the into the."
    assert masked("T11", Part.VISUAL).prompt.words == "Stack objects in this order."
    assert masked("T1", Part.LANGUAGE).prompt.text == "{picture_1} {picture_2}"


@pytest.mark.parametrize("part", Part)
def test_what_is_left_asks_for_nothing(part: Part):
    assert masked("T1", part).asked is None


def test_without_the_instruction_nothing_is_left():
    prompt = masked("T6", Part.INSTRUCTION).prompt
    assert prompt.segments == () and prompt.pictures == () and prompt.words == ""
