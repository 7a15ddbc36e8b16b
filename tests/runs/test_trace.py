from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from assay.episodes import EpisodeSpec, Outcome
from assay.runs.worker import EpisodeRunner, WorkerConfig


@pytest.fixture(scope="module")
def oracle() -> EpisodeRunner:
    return EpisodeRunner(WorkerConfig("oracle"))


@pytest.mark.parametrize(
    ("task", "first"),
    [
        ("libero_goal/7", "flat_stove_1"),
        ("libero_goal/0", "wooden_cabinet_1"),
        ("libero_goal/8", "akita_black_bowl_1"),
    ],
)
def test_what_is_touched_and_moved_first_is_what_the_task_is_about(
    oracle: EpisodeRunner, task: str, first: str
):
    episode = oracle.run(EpisodeSpec(task, 0))
    assert episode.outcome is Outcome.SUCCESS
    assert (episode.touched, episode.moved) == (first, first)


def test_the_truth_of_each_atom_is_kept_over_time(oracle: EpisodeRunner):
    episode = oracle.run(EpisodeSpec("libero_10/2", 0))
    assert set(episode.truth) == {"TurnOn flat_stove_1", "On moka_pot_1 flat_stove_1_cook_region"}
    for intervals in episode.truth.values():
        assert intervals[-1][1] == episode.steps + 1, "true at the end, when the goal was reached"
        assert intervals[0][0] > 0, "false at the start"


def test_a_path_has_one_place_more_than_actions(oracle: EpisodeRunner):
    episode = oracle.run(EpisodeSpec("libero_goal/7", 0))
    assert episode.trajectory.end_effector.shape == (episode.steps + 1, 3)
    assert episode.trajectory.gripper.shape == (episode.steps + 1,)
    assert episode.trajectory.actions.shape == (episode.steps, 7)
    assert episode.decisions == episode.steps and episode.images == 0
    assert (
        np.ptp(episode.trajectory.end_effector, axis=0).max() > 0.1
        and episode.trajectory.gripper.min() < 0.05
    )


def test_nothing_touched_and_nothing_moved_is_none():
    episode = EpisodeRunner(WorkerConfig("idle")).run(EpisodeSpec("libero_goal/7", 0, steps=5))
    assert (episode.touched, episode.moved, episode.truth) == (None, None, {"TurnOn flat_stove_1": ()})
    assert episode.outcome is Outcome.FAILURE


def test_a_scene_that_cannot_be_made_is_an_error_and_not_a_failure():
    episode = EpisodeRunner(WorkerConfig("idle")).run(EpisodeSpec("libero_goal/77", 0))
    assert episode.outcome is Outcome.ERROR and "libero_goal/77" in episode.error


def test_a_film_that_cannot_be_written_is_no_reason_to_lose_an_episode(tmp_path: Path):
    (tmp_path / "file").write_text("not a folder")
    stage = EpisodeRunner(WorkerConfig("idle", videos=tmp_path / "file" / "films"))
    episode = stage.run(EpisodeSpec("libero_goal/7", 0, steps=3))
    assert episode.outcome is Outcome.FAILURE and episode.steps == 3
    assert "not filmed: " in episode.error


def test_a_worker_gives_signs_of_life_at_every_step():
    beats: list[int] = []
    EpisodeRunner(WorkerConfig("idle")).run(EpisodeSpec("libero_goal/7", 0, steps=5), lambda: beats.append(1))
    assert len(beats) == 6
