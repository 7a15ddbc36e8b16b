from __future__ import annotations

import numpy as np
import pytest

from assay.extensions.tabletop.networks.tokens import (
    TokenForm,
    split_words,
    tokenize_observation,
    tokenize_picture,
    tokenize_prompt,
)
from assay.extensions.tabletop.tasks import make
from assay.extensions.tabletop.tasks.task import Setting
from assay.extensions.tabletop.world.simulation import TableSimulation

pytestmark = pytest.mark.usefixtures("drawing")


def test_objects_come_in_the_order_of_the_observation_front_view_first():
    task = make(Setting("T1", 3))
    observation = TableSimulation(task.scene).observe()
    sight, other = (
        tokenize_observation(observation, TokenForm.OBJECTS),
        tokenize_observation(observation.reorder((2, 0, 1)), TokenForm.OBJECTS),
    )
    assert sight.views.tolist() == [0, 0, 0, 1, 1, 1] and sight.places.tolist() == [0, 1, 2] * 2
    assert (sight.crops[3:] == observation.objects("top").crops).all()
    assert (other.crops == sight.crops[[2, 0, 1, 5, 3, 4]]).all()


def test_patches_know_where_they_are_and_empty_ones_are_not_in_a_prompt():
    task = make(Setting("T1", 3))
    sight = tokenize_observation(TableSimulation(task.scene).observe(), TokenForm.PATCHES)
    assert sight.crops.shape == (16, 32, 32, 3)
    assert sight.boxes[5] == pytest.approx((0.375, 0.75, 0.5, 0.25))
    shown = tokenize_picture(task.prompt.pictures[0][1], TokenForm.PATCHES)
    assert 0 < len(shown) < 16 and all(len(np.unique(crop)) > 1 for crop in shown.crops)


def test_a_prompt_is_read_word_by_word_and_what_is_masked_is_not_there():
    prompt = make(Setting("T3", 0)).prompt
    parts = tokenize_prompt(prompt, TokenForm.OBJECTS)
    assert [part for part in parts if isinstance(part, str)] == split_words(
        prompt.text.replace("{dragged_obj}", " ")
    )
    assert [len(part) for part in parts if not isinstance(part, str)] == [2]
    assert tokenize_prompt(prompt.saying(""), TokenForm.OBJECTS) == ()


def test_a_permutation_is_the_same_in_both_views():
    sight = tokenize_observation(TableSimulation(make(Setting("T15", 0)).scene).observe(), TokenForm.OBJECTS)
    rng = np.random.default_rng(0)
    orders = [sight.permute(rng).places.reshape(2, -1) for _ in range(20)]
    assert all((front == top).all() and sorted(front) == [0, 1, 2, 3] for front, top in orders)
    assert len({tuple(front) for front, _ in orders}) > 5
