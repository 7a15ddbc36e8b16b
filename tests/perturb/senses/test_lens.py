from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from assay.perturb.senses import Contrast, Fog, GaussianNoise, ProprioceptionOffset, Senses
from assay.sim import Simulation

pytestmark = pytest.mark.usefixtures("drawing")
Begun = Callable[..., Senses]


def test_nothing_is_drawn_until_it_is_read_and_then_once(world: Simulation, senses: Begun):
    episode = senses(Fog(3), GaussianNoise(2), ProprioceptionOffset(0.1), Contrast(0.5))
    before = world.renderer.count
    seen = world.reset(world.sample(2))
    changed = episode.observe(seen)
    for _ in range(3):
        episode.observe(world.step(np.zeros(7)))
    assert world.renderer.count == before
    first = changed.image("agentview", 24)
    assert world.renderer.count == before + 1
    assert np.array_equal(changed.image("agentview", 24, 24), first)
    seen.image("agentview", 24)
    assert world.renderer.count == before + 1, "the picture behind is kept too"


def test_a_changed_observation_keeps_what_it_saw(world: Simulation, senses: Begun):
    episode = senses(GaussianNoise(4))
    changed = episode.observe(world.reset(world.sample(3)))
    for _ in range(4):
        episode.observe(world.step(np.array([1.0, 0, -1, 0, 0, 0, -1])))
    late = changed.image("agentview", 24)
    again = senses(GaussianNoise(4)).observe(world.reset(world.sample(3))).image("agentview", 24)
    assert np.array_equal(late, again)


def test_what_is_done_to_a_picture_does_not_change_the_next_reading(world: Simulation):
    seen = world.reset(world.sample(2))
    changed = seen.through(lambda behind, *view: behind.picture(*view) // 2)
    expected = changed.image("agentview", 16)
    changed.image("agentview", 16)[:] = 0
    assert np.array_equal(changed.image("agentview", 16), expected)
    assert np.array_equal(expected, seen.image("agentview", 16) // 2)
