from __future__ import annotations

import pytest

from assay import tasks
from assay.perturb.words.rewordings.sentences import (
    make_concise,
    make_passive,
    make_telegraphic,
    reorder,
    verbose_variants,
)
from assay.tasks.language.lexicon import mentions, names_of, words

STOVE = "turn on the stove and put the moka pot on it"
DRAWER = "put the black bowl in the bottom drawer of the cabinet and close it"
BOWL = "pick up the black bowl next to the ramekin and place it on the plate"
BOTH = "put both the alphabet soup and the tomato sauce in the basket"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("put the bowl on the stove", "bowl on stove"),
        ("open the middle drawer of the cabinet", "open middle drawer of cabinet"),
        ("turn on the stove", "stove on"),
        (STOVE, "stove on, moka pot on it"),
        (DRAWER, "black bowl in bottom drawer of cabinet, close it"),
        (BOWL, "black bowl next to ramekin, onto plate"),
        (BOTH, "alphabet soup and tomato sauce in basket"),
        ("put both moka pots on the stove", "both moka pots on stove"),
    ],
)
def test_concise_drops_articles_and_verbs_that_go_without_saying(text: str, expected: str):
    assert make_concise(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("put the bowl on the stove", "on the stove, put the bowl"),
        ("open the middle drawer of the cabinet", "the middle drawer of the cabinet, open it"),
        ("turn on the stove", "the stove, turn it on"),
        (STOVE, "put the moka pot on the stove after turning it on"),
        (DRAWER, "close the bottom drawer of the cabinet after putting the black bowl in it"),
        (BOWL, "place on the plate the black bowl that is next to the ramekin"),
        (
            "open the top drawer and put the bowl inside",
            "put the bowl inside the top drawer after opening it",
        ),
        (
            "put the mug on the left plate and put the cup on the right plate",
            "on the left plate, put the mug, and on the right plate, put the cup",
        ),
    ],
)
def test_reorder_begins_with_what_comes_last(text: str, expected: str):
    assert reorder(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("put the bowl on the stove", "the bowl should be put on the stove"),
        ("turn on the stove", "the stove should be turned on"),
        (STOVE, "the stove should be turned on and the moka pot should be put on it"),
        (BOWL, "the black bowl next to the ramekin should be picked up and placed on the plate"),
        (BOTH, "both the alphabet soup and the tomato sauce should be put in the basket"),
        (
            DRAWER,
            "the black bowl should be put in the bottom drawer of the cabinet "
            "and the bottom drawer should be closed",
        ),
    ],
)
def test_passive_says_what_should_be_done(text: str, expected: str):
    assert make_passive(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (STOVE, "turn on stove, put moka pot on stove"),
        (DRAWER, "put black bowl in bottom drawer of cabinet, close drawer"),
        (BOWL, "pick up black bowl next to ramekin, place on plate"),
        ("open the top drawer and put the bowl inside", "open top drawer, put bowl inside"),
    ],
)
def test_telegrams_keep_verbs_and_drop_small_words(text: str, expected: str):
    assert make_telegraphic(text) == expected


def test_verbose_says_the_whole_request_within_more_words():
    text = "put the bowl on the stove"
    for sentence in verbose_variants(text):
        assert text in sentence and len(words(sentence)) >= 2 * len(words(text))
    assert len(set(verbose_variants(text))) == 5


@pytest.mark.parametrize("id", tasks.all_ids())
@pytest.mark.parametrize(
    "form", [make_concise, reorder, make_passive, make_telegraphic, lambda text: verbose_variants(text)[0]]
)
def test_every_built_in_task_keeps_the_names_of_its_things(id: str, form):
    task = tasks.load(id)
    changed = form(task.instruction.text)
    assert changed != task.instruction.text
    for entity in task.scene.entities:
        for name in names_of(entity.category):
            assert mentions(changed, name) or not mentions(task.instruction.text, name)
