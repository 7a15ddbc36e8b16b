from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from assay import tasks
from assay.episodes import CONTROL, EpisodeSpec, Perturbation, apply_perturbations, task_of
from assay.errors import AssayError, ExperimentError, PerturbationError
from assay.experiments import load_experiment
from assay.extensions.papers.libero_pro.perturbations import Exchange, Recategorise, initial_places
from assay.perturb import Say
from assay.perturb.unavailable import Unavailable
from assay.perturb.words.rewordings.designs import OtherTask
from assay.perturb.world.layout import Distractors
from assay.perturb.world.position import Displace
from assay.perturb.world.staging import Room
from assay.sim import Simulation, compile_scene, load_pack
from assay.sim.world import LiberoEnv
from assay.tasks import Arena, bddl
from assay.tasks.formats import ReleaseError
from assay.tasks.formats.init_files import read_states


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


def test_all_entries_apply_except_for_errors_of_the_release(plan: list[EpisodeSpec]):
    refused = []
    for spec in plan:
        try:
            task_of(spec)
        except AssayError as error:
            refused.append((spec.condition, type(spec.perturbations[0]), str(error)))
    # Three goals with a parenthesis too many, and two categories that their scenes do not have.
    assert Counter(kind for _, kind, _ in refused) == {Unavailable: 3, Recategorise: 2}
    assert all("unmatched" in reason or "contains no 'milk'" in reason for *_, reason in refused)


def test_two_objects_exchange_their_places():
    task = tasks.load("libero_goal/0")
    changed = task_of(EpisodeSpec(task.id, 0, perturbations=(Exchange("plate_1", "wooden_cabinet_1"),)))
    before, after = initial_places(task), initial_places(changed)
    exchanged = {"plate_1": before["wooden_cabinet_1"], "wooden_cabinet_1": before["plate_1"]}
    assert after == before | exchanged
    with pytest.raises(
        PerturbationError, match="no initial relation places 'plate_2': did you mean 'plate_1'"
    ):
        task_of(EpisodeSpec(task.id, 0, perturbations=(Exchange("plate_1", "plate_2"),)))


def test_a_place_that_the_new_category_lacks_is_left_out_unless_the_task_needs_it():
    change = Recategorise("wooden_cabinet", "short_cabinet")  # which has no region top_side
    for id, needed in (("libero_goal/0", False), ("libero_goal/4", True)):
        regions = task_of(EpisodeSpec(id, 0, perturbations=(change,))).scene.regions
        names = {region.full_name for region in regions}
        assert ("wooden_cabinet_1_top_side" in names) == needed
        assert "wooden_cabinet_1_middle_region" in names


@pytest.mark.parametrize("name", ["libero-para", "libero-pro", "libero-x", "libero-plus"])
def test_a_folder_without_the_release_is_rejected(name: str, tmp_path: Path):
    stove = [tasks.load("libero_goal/7")]
    with pytest.raises(ExperimentError, match=rf"{name} needs the folder of the release: {name}\?folder=DIR"):
        list(load_experiment(name).plan(stove, (0,)))
    with pytest.raises(
        ReleaseError, match=rf"{tmp_path} does not contain the LIBERO-(Para|PRO|X|plus) release"
    ):
        list(load_experiment(f"{name}?folder={tmp_path}").plan(stove, (0,)))


def test_an_invalid_table_is_rejected(tmp_path: Path):
    (tmp_path / "ood_object.yaml").write_text("libero_goal:\n  turn_on_the_stove: [flat_stove]\n")
    with pytest.raises(ReleaseError, match="turn_on_the_stove: input should be a valid dictionary"):
        list(load_experiment(f"libero-pro?folder={tmp_path}").plan([tasks.load("libero_goal/0")], (0,)))


# -- joint draws -------------------------------------------------------------------------------------------


def joint(shared: Path, task: str, seeds: tuple[int, ...], draw: str = "joint") -> list[EpisodeSpec]:
    experiment = load_experiment(f"libero-pro?folder={shared / 'libero_pro'}&draw={draw}")
    return list(experiment.plan([tasks.load(task)], seeds))


def test_joint_draws_are_of_each_dimension_and_every_combination_but_with_the_task(shared: Path):
    conditions = Counter(spec.condition for spec in joint(shared, "libero_goal/8", (0, 1)))
    assert conditions.pop(CONTROL) == 2 and set(conditions.values()) == {2}
    names = {name.removeprefix("libero-pro/joint/") for name in conditions}
    assert len(names) == 2**4 - 1 + 1 and {"object", "object+position", "task"} <= names
    assert not any("task" in name.split("+") for name in names - {"task"})
    both = Counter(spec.condition for spec in joint(shared, "libero_goal/8", (0,), "both"))
    assert both["libero-pro/joint/object"] == 1 and both["libero-pro/object"] == 7


def test_everything_a_task_is_about_is_replaced_and_moved_at_once(shared: Path):
    original = tasks.load("libero_goal/8")  # the bowl, on the plate
    for spec in joint(shared, original.id, tuple(range(8))):
        if spec.condition == "libero-pro/joint/object+position":
            changed = task_of(spec)
            kinds = {entity.name: entity.category for entity in changed.scene.entities}
            assert kinds["akita_black_bowl_1"] != "akita_black_bowl" and kinds["plate_1"] == "yellow_plate"
            before, after = initial_places(original), initial_places(changed)
            moved = {name for name in before if before[name] != after[name]}
            assert {"akita_black_bowl_1", "plate_1"} <= moved and len(moved) in (2, 4)
            assert sorted(before.values()) == sorted(after.values())


def test_a_draw_does_not_depend_on_the_combination(shared: Path):
    plan = joint(shared, "libero_goal/6", tuple(range(12)))
    drawn: dict[str, dict[int, dict[str, str]]] = {}
    for spec in plan:
        if spec.condition in ("libero-pro/joint/position", "libero-pro/joint/object+position+semantic"):
            drawn.setdefault(spec.condition, {})[spec.seed] = initial_places(task_of(spec))
    alone, combined = drawn.values()
    assert alone == combined
    assert len({tuple(each.items()) for each in alone.values()}) > 1, "seeds differ"


# -- frozen files ------------------------------------------------------------------------------------------

BOWL = "put_the_bowl_on_the_plate"


def freeze(
    folder: Path, suffix: str, *changes: Perturbation, file: str = BOWL, of: str = "libero_goal/8"
) -> Path:
    """A frozen file with its states, in the layout of the release."""
    path = folder / "bddl_files" / f"libero_goal_{suffix}" / f"{file}.bddl"
    path.parent.mkdir(parents=True, exist_ok=True)
    task = apply_perturbations(tasks.load(of), changes, seed=0)
    path.write_text(bddl.write(task))
    stored = folder / "init_files" / f"libero_goal_{suffix}" / f"{file}.pruned_init.npz"
    stored.parent.mkdir(parents=True, exist_ok=True)
    simulation = Simulation(compile_scene(task.scene, load_pack("primitives")))
    np.savez(stored, states=np.stack([simulation.sample(seed).vector for seed in (5, 6)]))
    return path


def frozen(folder: Path) -> dict[str, EpisodeSpec]:
    experiment = load_experiment(f"libero-pro?folder={folder}")
    return {
        spec.condition: spec
        for spec in experiment.plan([tasks.load("libero_goal/8")], (1,), initial="stored")
    }


def test_frozen_files_are_changes_of_their_tasks(tmp_path: Path):
    freeze(tmp_path, "swap", Exchange("plate_1", "wine_bottle_1"))
    freeze(tmp_path, "object", Recategorise("plate", "yellow_plate"))
    freeze(tmp_path, "lan", Say("place the bowl on top of the plate"))
    freeze(tmp_path, "temp_x0.3", Displace(0.1))
    plan = frozen(tmp_path)
    assert {name: spec.labels.get("change") for name, spec in plan.items()} == {
        CONTROL: None,
        "libero-pro/frozen/position": "position",
        "libero-pro/frozen/object": "object",
        "libero-pro/frozen/semantic": "wording",
        "libero-pro/frozen/displacement": "position",
    }
    ladder = plan["libero-pro/frozen/displacement"].labels
    assert (ladder["distance"], ladder["direction"], ladder["frozen"]) == (0.3, "x", True)
    told = {name: task_of(spec).instruction.text for name, spec in plan.items()}
    assert told.pop("libero-pro/frozen/semantic") == "place the bowl on top of the plate"
    assert set(told.values()) == {tasks.load("libero_goal/8").instruction.text}


def test_a_frozen_file_starts_from_its_own_states_and_the_control_from_liberos(shared: Path, tmp_path: Path):
    path = freeze(tmp_path, "swap", Exchange("plate_1", "wine_bottle_1"))
    plan, libero = frozen(tmp_path), shared / "libero" / "init"
    env = LiberoEnv(libero)
    env.reset(plan["libero-pro/frozen/position"])
    stored = tasks.states_file(str(path))
    assert stored is not None and np.array_equal(env.state.vector, read_states(stored)[1])
    env.reset(plan[CONTROL])
    assert np.array_equal(env.state.vector, read_states(libero / "libero_goal" / f"{BOWL}.pruned_init")[1])
    env.close()


@pytest.mark.parametrize(
    ("suffix", "change", "reason"),
    [
        ("swap", Distractors(1), "another scene than the task of that name"),
        ("swap", Say("Put the bowl on the plate"), "nothing is changed in it"),
        ("swap", OtherTask("turn on the stove", ("TurnOn flat_stove_1",)), "another goal than the task"),
    ],
)
def test_a_file_with_another_change_is_unavailable(
    tmp_path: Path, suffix: str, change: Perturbation, reason: str
):
    freeze(tmp_path, suffix, change)
    with pytest.raises(PerturbationError, match=f"release/unavailable: its file .*{reason}"):
        task_of(frozen(tmp_path)["libero-pro/frozen/position"])


def test_a_frozen_file_without_a_task_of_its_name_is_rejected(tmp_path: Path):
    freeze(tmp_path, "swap", Exchange("plate_1", "wine_bottle_1"), file="put_the_bowl_on_the_plat")
    with pytest.raises(ReleaseError, match=f"unknown task .*did you mean '{BOWL}'"):
        frozen(tmp_path)
    with pytest.raises(ReleaseError, match=r"looked for .*, libero_goal_swap$"):
        frozen(tmp_path / "init_files")
