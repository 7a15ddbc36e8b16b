from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest

from assay import tasks
from assay.episodes import CONTROL, EpisodeSpec, task_of
from assay.errors import ExperimentError, PerturbationError
from assay.experiments import load_experiment
from assay.experiments.releases.x import NO_CONTROL, NO_SCENE
from assay.formats.release import ReleaseError
from assay.perturb import Say
from assay.perturb.releases.values import FromFile


def test_the_sample_gives_every_file_and_rewording(shared: Path):
    experiment = load_experiment(f"libero-x?folder={shared / 'libero_x'}")
    chosen = tasks.resolve(experiment.tasks)
    plan = list(experiment.plan(chosen, (0,)))
    counts = Counter(spec.condition for spec in plan)
    assert len(chosen) == counts[CONTROL] == 8
    assert [counts[f"libero-x/level{level}"] for level in (2, 3, 4)] == [8, 8, 8]
    assert {counts[name] for name in counts if "level5" in name} == {60}
    assert len({spec.key for spec in plan}) == len(plan), "each is told apart"
    assert {spec.labels["form"] for spec in plan if spec.labels.get("level") == 5} == {
        "synonym",
        "concise",
        "reorder",
        "passive",
        "verbose",
    }
    files = [spec for spec in plan if spec.labels.get("level") in (2, 3, 4)]
    assert all(spec.labels["label:subtasks"] in ("1", "2", "3+") for spec in files)


def test_what_lacks_its_control_or_its_scene_cannot_begin_and_is_counted(shared: Path):
    experiment = load_experiment(f"libero-x?folder={shared / 'libero_x'}")
    plan = list(experiment.plan(tasks.resolve(experiment.tasks), (0,)))
    reasons: Counter[str] = Counter()
    for spec in plan:
        if spec.condition == CONTROL:
            assert "LEVEL1" in spec.task and task_of(spec).goal.atoms
            continue
        with pytest.raises(PerturbationError) as refused:
            task_of(spec)
        reasons[str(refused.value).removeprefix("release/unavailable: ")] += 1
    # Nothing of the sample's levels 2 to 4 goes with a task of its level 1; one file of level 4 is reworded.
    assert reasons == {NO_CONTROL: 24 + 5, NO_SCENE: 5 * 59}


def test_a_task_that_the_release_does_not_have_is_refused(release: Path):
    experiment = load_experiment(f"libero-x?folder={release}")
    with pytest.raises(ExperimentError, match=r"no task 'libero_goal/1'; valid: files below .*bddl/LEVEL1"):
        list(experiment.plan([tasks.load("libero_goal/1")], (0,)))


def test_a_release_without_level_one_is_refused(release: Path):
    for file in (release / "bddl" / "LEVEL1").iterdir():
        file.unlink()
    with pytest.raises(ReleaseError, match="level 1 is the control"):
        load_experiment(f"libero-x?folder={release}")


@pytest.fixture
def release(shared: Path, tmp_path: Path) -> Path:
    """A release in which one task goes through all levels; on level 3 it is called differently."""
    level4 = next((shared / "libero_x" / "bddl" / "LEVEL4").glob("*__T11__A1_*.bddl"))
    scene = "EXTENSION_KITCHEN_SCENE2"
    for level, name in (
        (1, f"{scene}_place_the_bowl_on_the_plate"),
        (2, f"{scene}_place_the_bowl_on_the_plate"),
        (3, f"{scene}_LEVEL3__T11_bowl_plate"),
        (4, f"{scene}_LEVEL4__T11__A1_place_the_teal_bowl_on_the_plate"),
    ):
        file = tmp_path / "bddl" / f"LEVEL{level}" / f"{name}.bddl"
        file.parent.mkdir(parents=True)
        text = level4.read_text().replace(
            "place the teal bowl on the plate", f"in the words of level {level}"
        )
        file.write_text(text)
    shutil.copytree(shared / "libero_x" / "LEVEL5", tmp_path / "LEVEL5")
    return tmp_path


def test_level_one_is_the_control_of_the_others(release: Path):
    experiment = load_experiment(f"libero-x?folder={release}")
    (task,) = tasks.resolve(experiment.tasks)
    plan: dict[str, EpisodeSpec] = {}
    for spec in experiment.plan([task], (0,)):
        plan.setdefault(spec.condition, spec)  # rewordings of other tasks come after
    assert list(plan)[:4] == [CONTROL, "libero-x/level2", "libero-x/level3", "libero-x/level4"]
    assert all(spec.task == task.id for spec in plan.values())
    third = plan["libero-x/level3"]
    scene, words = third.perturbations
    assert isinstance(scene, FromFile) and "LEVEL3__T11_bowl_plate.bddl@" in scene.file
    assert words == Say("in the words of level 3")
    assert task_of(third).instruction.text == "in the words of level 3"
    fifth = plan["libero-x/level5/synonym"]
    assert fifth.perturbations[0] == plan["libero-x/level4"].perturbations[0]
    assert "level" not in task_of(fifth).instruction.text


def test_a_name_that_says_nothing_is_refused(release: Path):
    (release / "bddl" / "LEVEL2" / "mine.bddl").touch()
    with pytest.raises(ReleaseError, match=r"mine\.bddl: is not called like a task of LIBERO-X"):
        load_experiment(f"libero-x?folder={release}")
