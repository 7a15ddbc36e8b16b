from __future__ import annotations

import pytest

from assay.perturb.world.kinds import Among, candidates, places_of, sort_of, unseen
from assay.perturb.world.objects import works_alike


@pytest.mark.parametrize(
    ("category", "sort"),
    [
        ("akita_black_bowl", "bowl"),
        ("red_cream_cheese", "cream_cheese"),
        ("macaroni_and_cheese", "macaroni_and_cheese"),
        ("red_book_interference_light_red", "book"),
        ("white_cabinet", "cabinet"),
        ("yellow_tomato_sauce", "tomato_sauce"),
        ("never_heard_of", "never_heard_of"),
    ],
)
def test_colour_size_and_make_do_not_matter_for_the_sort(category: str, sort: str):
    assert sort_of(category) == sort


def test_what_is_unseen_is_small_and_of_no_sort_that_tasks_have():
    assert {"corn", "mayo", "popcorn"} <= set(unseen())
    assert not {"white_bottle", "wooden_tray", "cube", "white_bowl"} & set(unseen())


def test_nothing_takes_its_own_place():
    for among in Among:
        assert "alphabet_soup" not in candidates("alphabet_soup", among)
    assert candidates("wooden_cabinet", Among.SAME) == ("short_cabinet", "slide_cabinet", "white_cabinet")


def test_cabinets_with_the_same_drawers_work_alike():
    assert works_alike("wooden_cabinet", "white_cabinet")
    assert not works_alike("wooden_cabinet", "short_cabinet")
    assert not works_alike("wooden_cabinet", "cube")
    assert {"top_region", "bottom_region"} <= places_of("white_cabinet") and not places_of("cube")
