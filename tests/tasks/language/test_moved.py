from __future__ import annotations

import pytest

from assay.errors import PerturbationError
from assay.tasks.language.meaning import rename_moved

BOWL, SOUP, SAUCE, POT = "akita_black_bowl", "alphabet_soup", "tomato_sauce", "moka_pot"
WHITE, YELLOW = "porcelain_mug", "white_yellow_mug"


@pytest.mark.parametrize(
    ("text", "categories", "told"),
    [
        ("put the bowl on the stove", (BOWL,), "put the new bowl on the stove"),
        (
            "pick up the black bowl next to the plate and place it on the plate",
            (BOWL,),
            "pick up the new bowl and place it on the plate",
        ),
        (
            "put both the alphabet soup and the tomato sauce in the basket",
            (SOUP, SAUCE),
            "put both the new alphabet soup and the new tomato sauce in the basket",
        ),
        ("put both moka pots on the stove", (POT,), "put both new moka pots on the stove"),
        (
            "put the white mug on the left plate and put the yellow and white mug on the right plate",
            (WHITE, YELLOW),
            "put the new mug on the left plate and put the new mug on the right plate",
        ),
        (
            "stack the black bowl at the front on the black bowl in the middle",
            (BOWL,),
            "stack the new bowl on the black bowl in the middle",
        ),
        (
            "open the top drawer and put the bowl inside",
            (BOWL,),
            "open the top drawer and put the new bowl inside",
        ),
    ],
)
def test_what_is_moved_gets_another_name_and_nothing_else_does(
    text: str, categories: tuple[str, ...], told: str
):
    assert rename_moved(text, categories, lambda category, noun, plural: f"new {noun}") == told


def test_what_keeps_its_name_keeps_its_place_too():
    text = "put the white mug on the left plate and put the yellow and white mug on the right plate"
    told = rename_moved(
        text, (WHITE, YELLOW), lambda category, noun, plural: "cup" if category == YELLOW else None
    )
    assert told == "put the white mug on the left plate and put the cup on the right plate"


@pytest.mark.parametrize(
    ("text", "categories", "reason"),
    [
        ("stack the left bowl on the right bowl and place them in the tray", (BOWL,), "things of one kind"),
        ("put the bowl on the stove", (SOUP,), "what is done with alphabet_soup"),
        ("turn on the stove", (BOWL,), "what is done with akita_black_bowl"),
        ("put the mug on the plate", (WHITE, YELLOW), "may be any of porcelain_mug, white_yellow_mug"),
    ],
)
def test_words_that_do_not_tell_what_is_meant_are_refused(
    text: str, categories: tuple[str, ...], reason: str
):
    with pytest.raises(PerturbationError, match=reason):
        rename_moved(text, categories, lambda category, noun, plural: "thing")
