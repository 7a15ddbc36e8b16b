from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from assay import tasks
from assay.episodes import CONTROL, EpisodeSpec, task_of
from assay.errors import AssayError, ExperimentError, PerturbationError
from assay.experiments import load_experiment
from assay.formats.release import ReleaseError
from assay.perturb import Say
from assay.perturb.releases.values import Exchange, Recategorise, Unavailable
from assay.perturb.words.rewordings.other_task import OtherTask
from assay.perturb.world import Room
from assay.tasks import Arena


@pytest.fixture
def plan(shared: Path) -> list[EpisodeSpec]:
    experiment = load_experiment(f"libero-pro?folder={shared / 'libero_pro'}")
    return list(experiment.plan(tasks.resolve(experiment.tasks), (0,)))


def test_every_entry_of_the_tables_is_an_episode(plan: list[EpisodeSpec]):
    assert Counter(spec.condition for spec in plan) == {
        CONTROL: 40,
        "libero-pro/object": 132,
        "libero-pro/position": 151,
        "libero-pro/task": 51,
        "libero-pro/environment": 160,
        "libero-pro/semantic": 120,
    }


def test_the_entries_of_a_task_are_typed(plan: list[EpisodeSpec]):
    changes = [spec.perturbations for spec in plan if spec.task == "libero_goal/0"]
    assert (Recategorise("wooden_cabinet", "white_cabinet"),) in changes
    assert (Exchange("wooden_cabinet_1", "wine_rack_1"),) in changes
    assert (
        OtherTask("open the bottom drawer of the cabinet", ("Open wooden_cabinet_1_bottom_region",)),
    ) in changes
    assert (Room(Arena.LIVING_ROOM),) in changes and (Room(Arena.TABLE),) not in changes
    assert (Say("slide out the middle drawer"),) in changes


def test_all_can_be_applied_but_for_what_the_release_has_wrong(plan: list[EpisodeSpec]):
    refused = []
    for spec in plan:
        try:
            task_of(spec)
        except AssayError as error:
            refused.append((spec.condition, type(spec.perturbations[0]), str(error)))
    # Three goals with a parenthesis too many, and two categories that their scenes do not have.
    assert Counter(kind for _, kind, _ in refused) == {Unavailable: 3, Recategorise: 2}
    assert all("closes nothing" in reason or "no 'milk' here" in reason for *_, reason in refused)


def test_two_things_exchange_their_places():
    task = tasks.load("libero_goal/0")
    changed = task_of(EpisodeSpec(task.id, 0, perturbations=(Exchange("plate_1", "wooden_cabinet_1"),)))
    before = {atom.arguments[0]: atom.arguments[1] for atom in task.scene.initial}
    after = {atom.arguments[0]: atom.arguments[1] for atom in changed.scene.initial}
    assert after["plate_1"] == before["wooden_cabinet_1"] and after["wooden_cabinet_1"] == before["plate_1"]
    assert {
        k: v for k, v in after.items() if k not in ("plate_1", "wooden_cabinet_1")
    }.items() <= before.items()
    with pytest.raises(
        PerturbationError, match="no initial relation places 'plate_2': did you mean 'plate_1'"
    ):
        task_of(EpisodeSpec(task.id, 0, perturbations=(Exchange("plate_1", "plate_2"),)))


def test_everything_of_a_category_is_exchanged_under_its_name():
    task = tasks.load("libero_spatial/0")
    change = Recategorise("akita_black_bowl", "white_bowl")
    changed = task_of(EpisodeSpec(task.id, 0, perturbations=(change,)))
    bowls = {entity.name: entity.category for entity in changed.scene.objects if "bowl" in entity.category}
    assert bowls == {"akita_black_bowl_1": "white_bowl", "akita_black_bowl_2": "white_bowl"}
    assert changed.goal == task.goal and changed.scene.fixtures == task.scene.fixtures


@pytest.mark.parametrize("name", ["libero-pro", "libero-x", "libero-plus"])
def test_a_folder_that_is_not_the_release_is_refused(name: str, tmp_path: Path):
    with pytest.raises(ExperimentError, match=rf"{name} needs the folder of the release: {name}\?folder=DIR"):
        list(load_experiment(name).plan([tasks.load("libero_goal/0")], (0,)))
    with pytest.raises(ReleaseError, match=rf"{tmp_path} holds no LIBERO-(PRO|X|plus) release: looked for "):
        list(load_experiment(f"{name}?folder={tmp_path}").plan([tasks.load("libero_goal/0")], (0,)))


def test_a_table_that_makes_no_sense_is_refused(tmp_path: Path):
    (tmp_path / "ood_object.yaml").write_text("libero_goal:\n  turn_on_the_stove: [flat_stove]\n")
    with pytest.raises(ReleaseError, match="'turn_on_the_stove': must be a mapping"):
        list(load_experiment(f"libero-pro?folder={tmp_path}").plan([tasks.load("libero_goal/0")], (0,)))
