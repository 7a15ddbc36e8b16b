"""Gymnasium's own checks, and that its loop plays Assay's episodes."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import assay
from assay.errors import ExperimentError, TaskError
from assay.policies.simple import STILL, Random
from assay.support.images import Orientation, orient

gymnasium = pytest.importorskip(
    "gymnasium", reason="Gymnasium is not here: pip install 'assay-robotics[gym]'"
)

import assay.extensions.interop.bridges.gym  # noqa: E402

TASK = "assay/libero_goal-7-v0"
SMALL = {"size": 32, "steps": 3}


@pytest.mark.parametrize("condition", ["control", "x/level3"])
def test_gymnasiums_own_checker_passes_without_warnings(drawing: str, condition: str):
    from gymnasium.utils.env_checker import check_env

    env = gymnasium.make(TASK, condition=condition, size=32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)
    env.close()


def test_an_episode_equals_that_of_a_run_and_is_recorded(tmp_path: Path):
    condition, seed = "x/level3", 4
    asked = {"tasks": "libero_goal/7", "seeds": [seed], "conditions": condition, "certified": False}
    played = assay.run("x", Random(), steps=12, out=tmp_path / "run.assay", **asked)
    (expected,) = [
        episode
        for episode in map(played.episodes.get, played.episodes)
        if episode.row["condition"] != "control"
    ]
    recording = {"out": tmp_path / "gym.assay", "policy": "mine"}
    env = gymnasium.make(TASK, condition=condition, steps=12, images=False, **recording)
    policy = Random()
    observation, info = env.reset(seed=seed)
    policy.reset(env.unwrapped.play.instruction, env.unwrapped.play.spec)
    ended = False
    while not ended:
        (action, *_) = policy.act(env.unwrapped.play.observation)
        observation, reward, terminated, truncated, info = env.step(action)
        ended = terminated or truncated
    env.close()
    assert truncated and not terminated and reward == 0.0 and not info["is_success"]
    assert info["instruction"] == "turn on the stove" and "image" not in observation
    recorded = assay.load_run(tmp_path / "gym.assay")
    assert recorded.meta["policy"] == "mine" and recorded.meta["experiment"] == "x"
    assert list(recorded.episodes) == [expected.key]
    mine = recorded.episodes[expected.key]
    assert np.array_equal(mine.trajectory.actions, expected.trajectory.actions)
    assert np.array_equal(mine.trajectory.end_effector, expected.trajectory.end_effector)
    assert mine.row["seconds"] > 0


def test_an_abandoned_episode_is_a_failure_and_an_exception_an_error(tmp_path: Path):
    env = gymnasium.make(
        TASK, steps=5, images=False, out=tmp_path / "gym.assay", max_episode_steps=2, disable_env_checker=True
    )
    for seed in (0, 1):
        env.reset(seed=seed)
        env.step(STILL)
        assert env.step(STILL)[3]
    env.reset(seed=2)  # in which nothing is done
    env.close()
    with pytest.raises(ZeroDivisionError), env:
        env.reset(seed=3)
        env.step(STILL)
        _ = 1 / 0
    frame = assay.load_run(tmp_path / "gym.assay").frame()
    assert frame["seed"].to_list() == [0, 1, 3] and frame["steps"].to_list() == [2, 2, 1]
    assert frame["outcome"].cast(str).to_list() == ["failure", "failure", "error"]
    assert frame["error"].to_list() == [
        *["the script ended the episode after 2 of 5 steps"] * 2,
        "the script aborted the episode",
    ]


def test_images_have_the_requested_orientation_and_seeds_choose_initial_states(drawing: str):
    rotated, upright = (
        gymnasium.make(TASK, **SMALL, orientation=each) for each in (Orientation.ROTATED, Orientation.UPRIGHT)
    )
    seen, plain = rotated.reset(seed=1)[0], upright.reset(seed=1)[0]
    for camera in ("image", "wrist_image"):
        assert np.array_equal(orient(plain[camera], Orientation.ROTATED), seen[camera])
    other, info = rotated.reset(seed=2)
    assert info["seed"] == 2 and not np.array_equal(other["image"], seen["image"])
    drawn = [rotated.reset()[1]["seed"] for _ in range(2)]
    rotated.reset(seed=2)
    assert [rotated.reset()[1]["seed"] for _ in range(2)] == drawn and drawn[0] != drawn[1]
    assert rotated.unwrapped.render().shape == (256, 512, 3)
    rotated.close()
    upright.close()


def test_vector_environments_keep_their_instructions(drawing: str):
    several = gymnasium.make_vec(TASK, num_envs=2, vectorization_mode="sync", **SMALL)
    observation, info = several.reset(seed=7)
    assert observation["image"].shape == (2, 32, 32, 3) and info["seed"].tolist() == [7, 8]
    assert list(info["instruction"]) == ["turn on the stove"] * 2
    for _ in range(3):
        *_, truncated, _ = several.step(several.action_space.sample())
    assert truncated.all()
    several.close()


def test_environments_in_processes_keep_their_instructions():
    asked = {"steps": 2, "images": False, "condition": "pro/words=shuffle"}
    spawn = {"vectorization_mode": "async", "vector_kwargs": {"context": "spawn"}}
    several, alone = gymnasium.make_vec(TASK, num_envs=1, **spawn, **asked), gymnasium.make(TASK, **asked)
    for seed in (7, 8):
        assert list(several.reset(seed=seed)[1]["instruction"]) == [alone.reset(seed=seed)[1]["instruction"]]
    several.close()


@pytest.mark.extensions("tabletop")
def test_invalid_arguments_are_refused():
    for task, options, error, words in (
        ("libero_goal", {}, TaskError, "selects 10 tasks; expected exactly one"),
        ("libero_goal/3", {"steps": 0}, TaskError, "steps=0: expected an integer >= 1"),
        ("libero_goal/3", {"size": 0}, TaskError, "size=0: expected 1 to 4096"),
        ("tabletop/visual_manipulation/0", {}, TaskError, "not a task in LIBERO's world"),
        ("libero_goal/3", {"condition": "x/level9"}, ExperimentError, "did you mean|valid"),
        ("libero_goal/3", {"condition": "xx/a"}, ExperimentError, "there is no experiment 'xx'"),
        ("libero_goal/3", {"condition": "level3"}, TaskError, "EXPERIMENT/CONDITION, for example x/level3"),
        ("libero_goal/3", {"condition": "x/level*"}, TaskError, "choose one, for example x/level1"),
    ):
        with pytest.raises(error, match=words):
            gymnasium.make("assay/Task-v0", task=task, **options)
