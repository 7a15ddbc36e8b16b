from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import av
import numpy as np
import polars as pl
import pytest

from assay import tasks
from assay.episodes import EpisodeSpec, rollout
from assay.errors import DemonstrationError
from assay.extensions.learn.demonstrations import dataset
from assay.extensions.learn.demonstrations.collect import Demonstrator, collect, max_attempts
from assay.extensions.learn.demonstrations.dataset import DemonstrationFolder, Demonstrations, Recipe
from assay.policies.remote.convention import Convention
from assay.sim import Simulation, compile_scene, load_pack
from assay.sim.compile import CompiledScene
from assay.sim.world import SceneEnv
from assay.support.images import orient
from assay.tasks import Atom, Goal, Predicate
from assay.tasks.formats.lerobot import CAMERAS, robot_state

TASKS = ("libero_90/33", "libero_90/39")
"""Something to close and something to turn off: short, and in small scenes."""
SIZE = 32
CODEC_ERROR = 6.0
"""Of 255, in the mean over a picture."""
SCRIPT = """
import sys
from pathlib import Path
from assay import tasks
from assay.extensions.learn.demonstrations.collect import collect
collect(Path(sys.argv[1]), tasks.resolve(sys.argv[2]), 1, size=int(sys.argv[3]))
"""


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def collected(drawing: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One episode of each task, collected without any trouble."""
    out = tmp_path_factory.mktemp("collected") / "set"
    told: list[str] = []
    there = collect(out, [tasks.load(name) for name in TASKS], 1, size=SIZE, on_episode=told.append)
    assert (there.episodes, there.short, tuple(told)) == (2, {}, TASKS)
    return out


def test_replayed_actions_reproduce_states_images_and_success(collected: Path):
    data = pl.read_parquet(collected / "data/*/*.parquet")
    rows = pl.read_parquet(collected / "meta/episodes/*/*.parquet").rows(named=True)
    shown = {}
    for key in CAMERAS:
        with av.open(str(collected / f"videos/{key}/chunk-000/file-000.mp4")) as file:
            shown[key] = [(frame.time, frame.to_ndarray(format="rgb24")) for frame in file.decode(video=0)]
    for row in rows:
        task = tasks.load(row["assay/task"])
        world = Simulation(compile_scene(task.scene, load_pack(row["assay/pack"])))
        observation = world.reset(world.sample(row["assay/seed"]))
        episode = data.filter(pl.col("episode_index") == row["episode_index"])
        for frame in episode.iter_rows(named=True):
            assert not world.is_satisfied(task.goal)
            assert np.array_equal(robot_state(observation), np.float32(frame["observation.state"]))
            if frame["frame_index"] in (0, row["length"] // 2, row["length"] - 1):
                for key, camera in CAMERAS.items():
                    time_, picture = shown[key][frame["index"]]
                    start = row[f"videos/{key}/from_timestamp"]
                    assert time_ == pytest.approx(start + frame["timestamp"], abs=1e-6)
                    shown_by_default = Convention((), None, "").orientation  # to whoever is evaluated
                    expected = orient(observation.image(camera, SIZE), shown_by_default).astype(int)
                    assert np.abs(picture - expected).mean() < CODEC_ERROR
                    assert np.abs(picture - expected[:, ::-1]).mean() > 2 * CODEC_ERROR
            observation = world.step(np.array(frame["action"]))
        assert world.is_satisfied(task.goal)
        world.close()


def test_a_killed_collection_resumes_to_the_very_same_dataset(collected: Path, tmp_path: Path):
    out = tmp_path / "set"
    arguments = [sys.executable, "-c", SCRIPT, str(out), ",".join(TASKS), str(SIZE)]
    with subprocess.Popen(arguments) as process:
        deadline = time.monotonic() + 60
        while not list(out.glob(".staged/*")) and time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.02)
        time.sleep(0.3)  # into the second episode
        os.kill(process.pid, signal.SIGKILL)
    assert [path.name for path in out.glob(".staged/*")] == ["libero_90_33_0"]
    assert not (out / "meta").exists()
    collect(out, [tasks.load(name) for name in TASKS], 1, size=SIZE)
    assert contents(out) == contents(collected)


def test_failed_attempts_are_counted_and_limited(tmp_path: Path):
    task = tasks.load("libero_goal/7")
    impossible = replace(task, goal=Goal((Atom(Predicate.ON, ("flat_stove_1", "plate_1")),)))
    result = collect(tmp_path, [impossible], 1, seeds=range(5, 17), size=SIZE)
    assert (result.episodes, result.left_out, result.short) == (0, max_attempts(1), {task.id: 0})
    left_out = json.loads((tmp_path / "meta/assay.json").read_text())["left_out"]
    assert [attempt["seed"] for attempt in left_out] == list(range(5, 5 + max_attempts(1)))
    assert {attempt["outcome"] for attempt in left_out} == {"error"}
    assert "flat_stove_1 is fixed" in left_out[0]["reason"]


TASK = tasks.load("libero_goal/7")


def test_starts_limits_the_number_of_initial_states():
    few, own = Recipe(noise=0.1, starts=3), Recipe()
    assert [few.spec(TASK.id, seed, "primitives", 1000).world_seed for seed in range(1000, 1007)] == [
        1000, 1001, 1002, 1000, 1001, 1002, 1000
    ]  # fmt: skip
    assert own.spec(TASK.id, 7, "primitives", 0) == EpisodeSpec(TASK.id, 7)


def test_relocation_changes_only_object_positions():
    recipe = Recipe(relocate=0.5)
    first, again, other = (
        recipe.task(TASK, recipe.spec(TASK.id, seed, "primitives", 0)) for seed in (1, 1, 2)
    )
    assert first == again and first.scene != TASK.scene != other.scene != first.scene
    assert (first.goal, first.instruction) == (TASK.goal, TASK.instruction)
    assert Recipe().task(TASK, EpisodeSpec(TASK.id, 1)) == TASK


def test_the_undisturbed_action_is_recorded(
    compiled: Callable[[str], CompiledScene], world_of: Callable[[CompiledScene], Simulation]
):
    world = world_of(compiled(TASK.id))
    done, wanted = [], []
    for noise, seed in ((0.0, 0), (0.3, 0), (0.3, 0), (0.3, 1)):
        oracle = Demonstrator(noise)
        spec = EpisodeSpec(TASK.id, seed, steps=12, start=5)
        done.append(rollout(SceneEnv(world, TASK, world.sample(5)), oracle, spec).trajectory.actions)
        wanted.append(np.array(oracle.undisturbed, np.float32))
    assert np.array_equal(done[0], wanted[0]) and np.array_equal(done[1], done[2])
    assert not np.array_equal(done[1], done[3]) and np.array_equal(wanted[1][0], wanted[0][0])
    pushes = done[1] - np.clip(wanted[1], -1, 1)
    assert np.abs(pushes[:, :6]).max() > 0.1 and not pushes[:, 6].any()


def test_invalid_recipes_are_rejected_and_a_folder_holds_one_recipe(tmp_path: Path):
    for wrong, words in (
        ({"noise": 1.5}, "--noise 1.5: expected a number from 0 to 1"),
        ({"relocate": 0.01}, "--relocate 0.01: expected 0, or a number from 0.05 to 2"),
        ({"starts": 3}, "also set --noise"),
    ):
        with pytest.raises(DemonstrationError, match=words):
            Recipe(**wrong)
    noisy = Demonstrations("primitives", 32, recipe=Recipe(noise=0.2))
    dataset.write(tmp_path, noisy)
    assert DemonstrationFolder(tmp_path, noisy).demonstrations.recipe == Recipe(noise=0.2)
    with pytest.raises(DemonstrationError, match=r"with .* --noise 0\.2, not"):
        DemonstrationFolder(tmp_path, Demonstrations("primitives", 32))
