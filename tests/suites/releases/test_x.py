from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest

from assay import tasks
from assay.perturb import Say
from assay.perturb.words.releases import ReleaseError
from assay.suites import CONTROL, load_suite
from assay.suites.releases.values import FromFile


def test_the_sample_gives_every_file_and_rewording(shared: Path):
    suite = load_suite(f"libero-x?folder={shared / 'libero_x'}")
    chosen = tasks.resolve(suite.tasks)
    plan = list(suite.plan(chosen, (0,)))
    counts = Counter(spec.condition for spec in plan)
    # Nothing of the sample's levels 2 to 4 goes with a task of its level 1: each is its own control.
    assert len(chosen) == counts[CONTROL] == 32
    assert [counts[f"libero-x/level{level}"] for level in (2, 3, 4)] == [8, 8, 8]
    assert {counts[name] for name in counts if "level5" in name} == {1}
    assert {spec.labels["form"] for spec in plan if spec.labels.get("level") == 5} == {
        "synonym",
        "concise",
        "reorder",
        "passive",
        "verbose",
    }
    told = {spec.realised().instruction.text for spec in plan if spec.condition == "libero-x/level4"}
    assert "place the pink bowl on the plate" in told
    assert all(spec.labels["label:subtasks"] in ("1", "2", "3+") for spec in plan if spec.labels)


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
    suite = load_suite(f"libero-x?folder={release}")
    (task,) = tasks.resolve(suite.tasks)
    plan = {spec.condition: spec for spec in suite.plan([task], (0,))}
    assert list(plan)[:4] == [CONTROL, "libero-x/level2", "libero-x/level3", "libero-x/level4"]
    assert all(spec.task == task.id for spec in plan.values())
    third = plan["libero-x/level3"]
    scene, words = third.perturbations
    assert isinstance(scene, FromFile) and "LEVEL3__T11_bowl_plate.bddl@" in scene.file
    assert words == Say("in the words of level 3")
    assert third.realised().instruction.text == "in the words of level 3"
    fifth = plan["libero-x/level5/synonym"]
    assert fifth.perturbations[0] == plan["libero-x/level4"].perturbations[0]
    assert "level" not in fifth.realised().instruction.text


def test_a_name_that_says_nothing_is_refused(release: Path):
    (release / "bddl" / "LEVEL2" / "mine.bddl").touch()
    with pytest.raises(ReleaseError, match=r"mine\.bddl: is not called like a task of LIBERO-X"):
        load_suite(f"libero-x?folder={release}")
