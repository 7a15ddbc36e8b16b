from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay import tasks
from assay.episodes import CONTROL, EpisodeSpec, task_of
from assay.errors import ExperimentError, PerturbationError
from assay.experiments import load_experiment
from assay.extensions.papers.libero_x.release import NO_CONTROL, NO_SCENE
from assay.extensions.papers.releases import FromFile
from assay.perturb import Say
from assay.perturb.unavailable import Unavailable
from assay.tasks.formats import ReleaseError


def test_the_sample_gives_every_file_and_rewording(shared: Path):
    experiment = load_experiment(f"libero-x?folder={shared / 'libero_x'}")
    chosen = tasks.resolve(experiment.tasks)
    plan = list(experiment.plan(chosen, (0,)))
    counts = Counter(spec.condition for spec in plan)
    assert len(chosen) == counts[CONTROL] == 8
    assert [counts[f"libero-x/level{level}"] for level in (2, 3)] == [8, 8]
    halves = Counter(spec.condition for spec in plan if spec.labels.get("level") == 4)
    assert sum(halves.values()) == 8 and set(halves) == {
        "libero-x/level4/unseen",
        "libero-x/level4/confounding",
    }
    forms = Counter(spec.labels["form"] for spec in plan if spec.labels.get("level") == 5)
    assert forms == dict.fromkeys(forms, 60)
    assert len({spec.key for spec in plan}) == len(plan), "each is told apart"
    assert {spec.labels["form"] for spec in plan if spec.labels.get("level") == 5} == {
        "synonym",
        "concise",
        "reorder",
        "passive",
        "verbose",
    }
    files = [spec for spec in plan if spec.labels.get("level") in (1, 2, 3, 4)]
    assert len(files) == 4 * 8
    assert all(spec.labels["label:subtasks"] in ("1", "2", "3+") for spec in files)


def test_entries_without_control_or_scene_are_unavailable_and_counted(shared: Path):
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


def test_a_release_without_level_one_is_rejected(release: Path):
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
    assert list(plan)[:4] == [CONTROL, "libero-x/level2", "libero-x/level3", "libero-x/level4/confounding"]
    assert all(spec.task == task.id for spec in plan.values())
    third = plan["libero-x/level3"]
    scene, words = third.perturbations
    assert isinstance(scene, FromFile) and "LEVEL3__T11_bowl_plate.bddl@" in scene.file
    assert words == Say("in the words of level 3")
    assert task_of(third).instruction.text == "in the words of level 3"
    fifth = plan["libero-x/level5/confounding/synonym"]
    assert fifth.perturbations[0] == plan["libero-x/level4/confounding"].perturbations[0]
    assert "level" not in task_of(fifth).instruction.text


@pytest.mark.parametrize(
    ("variant", "half"), [("", "unseen"), ("__A1", "confounding"), ("__A2", "confounding")]
)
def test_the_name_of_a_level_four_file_decides_its_half(release: Path, variant: str, half: str):
    (file,) = (release / "bddl" / "LEVEL4").iterdir()
    file.rename(file.with_name(file.name.replace("__A1", variant)))
    experiment = load_experiment(f"libero-x?folder={release}")
    plan = list(experiment.plan(tasks.resolve(experiment.tasks), (0,)))
    (fourth,) = [spec for spec in plan if spec.labels.get("level") == 4]
    assert (fourth.condition, fourth.labels["objects"]) == (f"libero-x/level4/{half}", half)
    fifth = [spec for spec in plan if spec.labels.get("level") == 5]
    assert all(f"level5/{spec.labels['objects']}/" in spec.condition for spec in fifth)


def test_ten_trials_share_five_rewordings_in_the_protocol_of_the_release(release: Path):
    plans = {}
    for protocol in ("full", "release"):
        experiment = load_experiment(f"libero-x?folder={release}&protocol={protocol}")
        plans[protocol] = list(experiment.plan(tasks.resolve(experiment.tasks), experiment.seeds))
    full, shared = ([spec for spec in plan if "form" in spec.labels] for plan in plans.values())
    assert len(full) == 5 * len(shared) and len(plans["full"]) - len(full) == len(plans["release"]) - len(
        shared
    )
    turns = {(spec.seed, spec.labels["form"]) for spec in shared}
    forms = ("synonym", "concise", "reorder", "passive", "verbose")
    assert turns == {(seed, forms[seed // 2]) for seed in range(10)}
    with pytest.raises(ExperimentError, match="protocol"):
        load_experiment(f"libero-x?folder={release}&protocol=both")


def test_unreadable_files_are_counted_by_reason_and_the_rest_is_planned(release: Path):
    scene = "EXTENSION_KITCHEN_SCENE2"
    (release / "bddl" / "LEVEL1" / f"{scene}_not_a_task.bddl").write_text("(define (problem")
    (release / "bddl" / "LEVEL2" / "mine.bddl").touch()
    (release / "bddl" / "LEVEL3" / f"{scene}_LEVEL3__T12_nor_this.bddl").write_text("(define (problem")
    lines = (release / "LEVEL5" / "L5-2.jsonl").read_text().splitlines()
    (release / "LEVEL5" / "L5-2.jsonl").write_text("\n".join(["not JSON", *lines[1:]]))
    (release / "LEVEL5" / "L5-3.jsonl").unlink()
    experiment = load_experiment(f"libero-x?folder={release}")
    plan = list(experiment.plan(tasks.resolve(experiment.tasks), (0,)))
    bad = [each for spec in plan for each in spec.perturbations if isinstance(each, Unavailable)]
    reasons = {each.what: each.reason for each in bad if each.reason != NO_SCENE}
    assert reasons == {
        f"{scene}_not_a_task.bddl": "'(problem' is never closed",
        f"{scene}_LEVEL3__T12_nor_this.bddl": "'(problem' is never closed",
        "mine.bddl": "the file name does not have LIBERO-X's form ..._SCENE21_LEVEL4__T107__A1_...",
        "L5-2.jsonl:1": "invalid JSON: expected ident at line 1 column 2",
        "LEVEL5/L5-3.jsonl": "cannot be read: No such file or directory",
    }
    good = (spec for spec in plan if not {*spec.perturbations} & {*bad})
    assert {spec.labels["level"] for spec in good} == {1, 2, 3, 4, 5}


def test_release_is_shown_by_its_task_with_most_conditions(
    assay: Callable[..., Any], shared: Path, wide: None
):
    said = assay("experiments", "show", f"libero-plus?folder={shared / 'libero_plus'}")
    assert said.status == 0 and "perturbations for libero_goal/1" not in said.out
    said = assay("experiments", "show", f"libero-x?folder={shared / 'libero_x'}")
    assert said.status == 0 and "not possible: release/unavailable: its file of level 1" in said.out
    said = assay("experiments", "show", f"libero-x?folder={shared / 'libero_x'}", "--tasks", "libero_goal/1")
    assert said.status == 2 and said.err.count("\n") == 1
    assert "no task 'libero_goal/1'; expected files below" in said.err
