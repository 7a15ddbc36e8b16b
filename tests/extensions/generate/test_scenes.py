from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from assay import tasks
from assay.episodes import EpisodeSpec, Outcome, rollout
from assay.errors import PlacementError, TaskError
from assay.extensions.generate import scenes
from assay.extensions.generate.layout import SceneDraft
from assay.extensions.generate.proposals import propose
from assay.extensions.generate.scenes import (
    GeneratedScene,
    Label,
    LabelTargets,
    SceneRequest,
    count_labels,
    labels_of,
    make,
    write_scenes,
)
from assay.policies.oracle.policy import Oracle
from assay.sim import Simulation, compile_scene, load_pack
from assay.sim.world import SceneEnv
from assay.tasks import Task
from assay.tasks.labels import FAMILIES

ORDER = SceneRequest(seed=18, tasks=1, tries=1)  # which gives short tasks


@pytest.fixture(scope="module")
def made() -> GeneratedScene:
    return make(ORDER, 0)


def test_a_scene_has_several_tasks_solved_from_several_states():
    order = SceneRequest(seed=18, tasks=2, tries=2)
    made = make(order, 0)
    assert len({task.instruction.text for task in made.tasks}) == len({task.goal for task in made.tasks}) == 2
    assert len({task.scene for task in made.tasks}) == 1
    world = Simulation(compile_scene(made.tasks[0].scene, load_pack("primitives")))
    steps = []
    for seed in range(order.tries):
        state = world.sample(seed)
        done = rollout(SceneEnv(world, made.tasks[1], state), Oracle(), EpisodeSpec(made.tasks[1].id, seed))
        assert done.outcome is Outcome.SUCCESS
        steps.append(done.steps)
    world.close()
    assert made.steps[1] == max(steps)


def test_a_number_without_a_scene_is_recorded_as_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, assay: Callable[..., Any], no_assets: Path
):
    def scarce(draft: SceneDraft, name: str, rng: np.random.Generator) -> Sequence[Task]:
        if name != "scene_002":
            raise PlacementError("no room for akita_black_bowl")
        return propose(draft, name, rng)

    monkeypatch.setattr(scenes, "MAX_DRAWS", 8)
    monkeypatch.setattr(scenes, "propose", scarce)
    out = tmp_path / "scenes"
    command = ("scenes", "generate", "--out", out, "--seed", "13", "--per-scene", "1", "--tries", "1")
    said = assay(*command, "--count", "3", "--workers", "1")
    assert said.status == 0 and "1 scene with 1 task in" in said.out
    assert "no suitable scene found after 8 draws for scene_000, scene_001" in said.out
    index = json.loads((out / "index.json").read_text())
    assert list(index["scenes"]) == ["scene_002"] and list(index["failed"]) == ["scene_000", "scene_001"]
    assert index["failed"]["scene_000"]["refused"]["scene: no room for akita_black_bowl"] >= 1
    assert "scene: no room for akita_black_bowl" in said.out and len(tasks.resolve(str(out))) == 1
    before = (out / "index.json").stat().st_mtime_ns
    assert assay(*command, "--count", "3", "--workers", "1").out == said.out
    assert (out / "index.json").stat().st_mtime_ns == before, "and what failed is not tried again"


def test_a_folder_is_extended_without_repeating_scenes(tmp_path: Path, made: GeneratedScene):
    out = tmp_path / "scenes"
    index = write_scenes(out, ORDER, 1)
    scene = index["scenes"]["scene_000"]
    (entry,) = scene["tasks"]
    (task,) = tasks.resolve(str(out))
    # Made anew, from seed and number alone.
    assert replace(task, id="") == replace(made.tasks[0], id="")
    assert (entry["steps"], scene["refused"]) == (made.steps[0], made.refused)
    assert task.id == f"{out}/{entry['file']}@{entry['digest']}"
    assert task.instruction.text == entry["instruction"]
    assert set(entry["labels"]) == {*FAMILIES, "predicate"} and entry["labels"] == labels_of(task)
    before = (out / entry["file"]).stat().st_mtime_ns
    seen: list[int] = []
    assert len(write_scenes(out, ORDER, 2, on_scene=seen.append)["scenes"]) == 2
    assert (out / entry["file"]).stat().st_mtime_ns == before and seen == [0, 1]
    with pytest.raises(TaskError, match="contains scenes generated with other options"):
        write_scenes(out, SceneRequest(seed=3, tasks=1), 1)


def test_a_folder_with_other_files_is_rejected(tmp_path: Path):
    (tmp_path / "mine.txt").touch()
    with pytest.raises(TaskError, match=r"mine\.txt is a file; choose a new folder"):
        write_scenes(tmp_path / "mine.txt", ORDER, 1)
    with pytest.raises(TaskError, match="contains files that 'assay scenes' did not write"):
        write_scenes(tmp_path, ORDER, 1)
    (tmp_path / "index.json").write_text("[]")
    with pytest.raises(TaskError, match="not an index of scenes"):
        write_scenes(tmp_path, ORDER, 1)


@pytest.mark.extensions("learn")
def test_generated_tasks_work_in_other_commands(
    no_assets: Path, assay: Callable[..., Any], tmp_path: Path, drawing: str
):
    out, demos = tmp_path / "scenes", tmp_path / "demos"
    command = ("scenes", "generate", "--seed", "18", "--per-scene", "1", "--tries", "1", "--workers", "1")
    said = assay(*command, "--count", "1", "--out", out)
    assert said.status == 0 and "1 scene with 1 task in" in said.out
    index = json.loads((out / "index.json").read_text())
    instruction = index["scenes"]["scene_000"]["tasks"][0]["instruction"]
    said = assay("try", "--policy", "oracle", "--tasks", out, "--seeds", "1", "--json", "-")
    (trial,) = json.loads(said.out)["tasks"]
    assert trial["successes"] == 1 and trial["task"].startswith(str(out))
    said = assay("tasks", "show", trial["task"], "--json", "-")
    assert json.loads(said.out)["instruction"] == instruction
    said = assay("collect", "--tasks", out, "--episodes", "1", "--size", "32", "--out", demos)
    assert said.status == 0 and "1 episode with" in said.out
    rows = pl.read_parquet(demos / "meta/episodes/*/*.parquet")
    assert rows["length"].item() > 10 and instruction in str(rows["tasks"].item().to_list())


def test_tasks_are_kept_by_the_labels_of_earlier_scenes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    order = SceneRequest(tasks=1, tries=1, labels=LabelTargets.LIBERO_X)
    pair = tuple(map(tasks.load, ("libero_goal/8", "libero_object/0")))  # onto the plate, into the basket
    monkeypatch.setattr(
        scenes, "make", lambda request, number: GeneratedScene(number, pair, (1, 1), Counter())
    )
    at_once = write_scenes(tmp_path / "one", order, 4)
    write_scenes(tmp_path / "two", order, 2)
    assert write_scenes(tmp_path / "two", order, 4) == at_once, "whenever they are made"
    counts = count_labels(at_once)
    assert counts[Label("relation", "container")] == counts[Label("relation", "surface")] == 2
