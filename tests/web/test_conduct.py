from __future__ import annotations

from dataclasses import asdict

from assay.episodes.conduct import SideEffects
from assay.web.conduct import side_effects_in_words


def test_side_effects_are_told_with_their_numbers_and_small_ones_are_not():
    effects = SideEffects(
        moved={"plate_1": 0.124, "cream_cheese_1": 0.01},
        tilted={"wine_bottle_1": 88.6},
        opened={"wooden_cabinet_1_middle_region": 1.2, "flat_stove_1": 0.6},
        arm={"arena": 1},
    )
    assert side_effects_in_words(asdict(effects)) == (
        "moved the plate by 12 cm",
        "toppled the wine bottle (89\N{DEGREE SIGN})",
        "left the middle part of the wooden cabinet open (100 %)",
        "left the flat stove open (60 %)",
        "the arm touched the arena (1 step)",
    )


def test_what_is_not_known_is_not_told():
    assert side_effects_in_words(None) == ()
