from __future__ import annotations

from pathlib import Path

from assay.episodes import EpisodeSpec, Outcome
from assay.runs.executor import EpisodeRunner, WorkerConfig


def test_scene_that_cannot_be_made_is_an_error_and_not_a_failure():
    episode = EpisodeRunner(WorkerConfig("idle")).run(EpisodeSpec("libero_goal/77", 0))
    assert episode.outcome is Outcome.ERROR and "libero_goal/77" in episode.error


def test_episode_is_kept_if_its_video_cannot_be_written(tmp_path: Path):
    (tmp_path / "file").write_text("not a folder")
    worker = EpisodeRunner(WorkerConfig("idle", videos=tmp_path / "file" / "videos"))
    episode = worker.run(EpisodeSpec("libero_goal/7", 0, steps=3))
    assert episode.outcome is Outcome.FAILURE and episode.steps == 3
    assert "no video: " in episode.error


def test_worker_gives_signs_of_life_at_every_step():
    beats: list[int] = []
    worker = EpisodeRunner(WorkerConfig("idle"))
    worker.run(EpisodeSpec("libero_goal/7", 0, steps=5), lambda: beats.append(1))
    assert len(beats) == 6
