from __future__ import annotations

import pytest

from assay.episodes.episode import PLACING, TURNING, UNTOUCHED, atom_progress, furthest
from assay.episodes.stepwise import progress_of

BOWL, STOVE = "On bowl_1 plate_1", "TurnOn flat_stove_1"


def came(stages: tuple[str, ...], **seen: int) -> dict[str, int | None]:
    return {stage: seen.get(stage) for stage in stages}


def test_the_furthest_stage_decides_the_progress_of_an_atom():
    assert furthest(came(PLACING)) == UNTOUCHED
    assert furthest(came(PLACING, reached=3, touched=9, grasped=12)) == "grasped"
    assert furthest(came(PLACING, reached=3, touched=9, placed=40)) == "placed", "pushed, not carried"
    assert atom_progress(came(PLACING)) == 0
    assert atom_progress(came(PLACING, reached=3, touched=9, grasped=12)) == pytest.approx(3 / 7)
    assert atom_progress(came(TURNING, reached=3, touched=9)) == 0.5


def test_progress_is_the_mean_of_the_atoms_and_a_success_is_one():
    stages = {BOWL: came(PLACING, reached=3), STOVE: came(TURNING, reached=3, touched=9, moved=12)}
    assert progress_of(stages, {}, 300, False) == pytest.approx((1 / 7 + 3 / 4) / 2)
    assert progress_of(stages, {}, 300, True) == 1


def test_an_atom_that_holds_in_the_end_is_done_and_one_that_was_lost_is_not():
    stages = {BOWL: came(PLACING, reached=3, touched=5, placed=40), STOVE: came(TURNING)}
    assert progress_of(stages, {BOWL: ((40, 301),)}, 300, False) == 0.5
    assert progress_of(stages, {BOWL: ((40, 60),)}, 300, False) == pytest.approx(6 / 7 / 2)


def test_an_atom_that_held_at_the_start_counts_only_if_it_was_undone():
    stages = {BOWL: came(PLACING, reached=3)}
    assert progress_of(stages, {BOWL: ((40, 301),), STOVE: ((0, 301),)}, 300, False) == 1
    assert progress_of(stages, {BOWL: ((40, 301),), STOVE: ((0, 9),)}, 300, False) == 0.5
    assert progress_of({}, {BOWL: ((0, 1),)}, 300, False) == 0
