from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from assay import tasks
from assay.episodes import EpisodeSpec, task_of
from assay.errors import ExperimentError
from assay.experiments import EXPERIMENTS, Experiment, load_experiment
from assay.perturb.world.ground import standing_region
from assay.tabletop import TableEntry
from assay.tasks import Rectangle, Scene, Task


def realised(task: str) -> dict[str, Scene]:
    plan: list[EpisodeSpec] = list(load_experiment("x").plan([tasks.load(task)], (3,)))
    return {spec.condition: task_of(spec).scene for spec in plan}


def places(scene: Scene) -> dict[str, tuple[Rectangle, ...]]:
    return {
        entity.name: region.rectangles
        for entity in scene.objects
        if (region := standing_region(scene, entity.name)) is not None
    }


@pytest.mark.parametrize("task", ["libero_spatial/3", "libero_10/3"])
def test_a_level_adds_to_the_very_draws_of_the_levels_below(task: str):
    scenes = realised(task)
    control, first, second, third = (
        places(scenes[name]) for name in ("control", "x/level1", "x/level2", "x/level3")
    )
    assert control != first != second != third
    swapped = [name for name in third if third[name] != second[name]]
    assert len(swapped) == 2, "a swap leaves all others where the level below put them"
    for name in ("unseen", "confounding"):
        above = places(scenes[f"x/level4/{name}"])
        assert {thing: above[thing] for thing in third} == third and len(above) > len(third)
    fifth = {name: scene for name, scene in scenes.items() if "level5" in name}
    assert len(fifth) == 5 and all(scene == scenes["x/level4/unseen"] for scene in fifth.values())


@pytest.mark.parametrize("task", ["libero_goal/7", "libero_goal/1", "libero_object/3"])
def test_neither_a_fixture_is_doubled_nor_what_the_words_would_not_tell_from_its_double(task: str):
    plan = load_experiment("x").plan([tasks.load(task)], (0,))
    assert not any("confounding" in spec.condition for spec in plan)


@pytest.mark.parametrize(("address", "limit"), [("x", 1.1), ("x?time=0.8", 0.8), ("x?time=unlimited", 0.0)])
def test_time_is_a_factor_of_the_demonstrators(address: str, limit: float):
    assert load_experiment(address).limit == limit


@pytest.mark.parametrize("time", ["0", "0.7", "1.6", "-1", "nan", "for_ever"])
def test_a_time_out_of_range_is_refused(time: str):
    with pytest.raises(ExperimentError):
        load_experiment(f"x?time={time}")


RELEASES = {"libero-pro": "libero_pro", "libero-x": "libero_x", "libero-plus": "libero_plus"}
"""The experiments that are read from a folder, and what it is called in the reference data."""
TABLES = ("tabletop", "prompts")
WORDS_ALONE = "libero-para"


def changes_what_can_be_done(experiment: Experiment, chosen: Iterable[Task | TableEntry]) -> bool:
    changes = (
        each for task in chosen for variant in experiment.variants(task) for each in variant.perturbations
    )
    return any(each.decides for each in changes)


@pytest.mark.parametrize(
    "name", [name for name in EXPERIMENTS.names() if name not in (*RELEASES, *TABLES, "libero-para")]
)
def test_a_suite_wants_certificates_if_it_changes_what_can_be_done(name: str):
    experiment = load_experiment(f"{name}?per_cell=1" if name == "para" else name)
    assert experiment.certified == changes_what_can_be_done(experiment, [tasks.load("libero_goal/1")])


@pytest.mark.parametrize("name", RELEASES)
def test_releases_change_what_can_be_done_and_are_served_as_they_are(name: str, shared: Path):
    experiment = load_experiment(f"{name}?folder={shared / RELEASES[name]}")
    assert changes_what_can_be_done(experiment, experiment.choose()) and not experiment.certified


def test_a_release_that_changes_words_alone_needs_no_certificates(shared: Path):
    experiment = load_experiment(f"{WORDS_ALONE}?folder={shared / 'libero_para'}&per_cell=1")
    assert not changes_what_can_be_done(experiment, experiment.choose()) and not experiment.certified


@pytest.mark.parametrize("name", TABLES)
def test_tables_need_no_certificates(name: str, assay: Callable[..., Any]):
    experiment = load_experiment(name)
    assert experiment.world == "tabletop" and not experiment.certified
    said = assay("certify", name)
    assert said.status != 0 and "needs no certificates" in said.err
