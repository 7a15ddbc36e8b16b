from __future__ import annotations

from itertools import pairwise

import pytest

from assay import tasks
from assay.errors import ExperimentError
from assay.experiments import load_experiment
from assay.experiments.axes import AXES, Axis, AxisError, variant
from assay.perturb.world.position import Displace
from assay.runs.schedulers.search import draw_way

BOWL, STOVE = "libero_goal/1", "libero_goal/7"
QUICK = [name for name in AXES if name != "rewording"]


def test_magnitudes_grow_and_every_one_is_another_change():
    for name in QUICK:
        ladder = AXES[name].ladder(tasks.load(BOWL))
        assert all(one.magnitude < other.magnitude for one, other in pairwise(ladder))
        assert len({rung.ways for rung in ladder}) == len(ladder) >= 8


def test_fixtures_are_neither_moved_nor_resized():
    for name in ("distance", "size"):
        with pytest.raises(AxisError, match="the target of libero_goal/7 is flat_stove_1"):
            AXES[name].ladder(tasks.load(STOVE))


def test_the_grid_omits_axes_that_a_task_does_not_have():
    design = load_experiment("search?axes=distance,delay")
    names = {
        task.id: [each.condition for each in design.variants(task)]
        for task in design.choose(f"{BOWL},{STOVE}")
    }
    assert "search/distance=0.1" in names[BOWL] and "search/delay=3" in names[BOWL]
    assert all(each.startswith("search/delay=") for each in names[STOVE])
    with pytest.raises(ExperimentError, match="no axis 'colour'"):
        load_experiment("search?axes=colour")


def test_a_seed_draws_the_same_variant_of_a_rung_each_time():
    task = tasks.load(BOWL)
    rungs = {name: AXES[name].ladder(task)[2] for name in ("distance", "rewording")}
    made = variant("distance", rungs["distance"], draw_way(BOWL, rungs["distance"], 4))
    assert made.condition == "search/distance=0.075" and made.perturbations == (Displace(0.075),)
    assert made.labels == {"searched": "distance", "magnitude": 0.075, "distance": 0.075}
    drawn = {draw_way(BOWL, rungs["rewording"], seed) for seed in (*range(40), *range(40))}
    assert drawn == set(range(len(rungs["rewording"].ways)))


def test_an_axis_without_growing_magnitudes_is_rejected():
    rung = AXES["delay"].ladder(tasks.load(BOWL))[0]
    with pytest.raises(ExperimentError, match="axis flat: the magnitudes for libero_goal/1"):
        Axis("flat", "nothing", "", lambda task: (rung, rung)).ladder(tasks.load(BOWL))
    with pytest.raises(AxisError, match="no magnitude of this axis applies to libero_goal/1"):
        Axis("empty", "nothing", "", lambda task: ()).ladder(tasks.load(BOWL))
