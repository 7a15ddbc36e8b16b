"""Videos and stills of recorded episodes, rendered by child processes and cached."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import av
import numpy as np
import pytest

from assay.episodes import EpisodeSpec
from assay.runs.executor import EpisodeRunner, WorkerConfig
from assay.runs.replay import HOLD_S, video_name
from assay.runs.store import Store
from assay.web import replays as module
from assay.web.episodes import _find_own_video
from assay.web.replays import STILL, VIDEO, EpisodeRecording, RenderStatus, Replays


def wait_for(ask: Callable[[], RenderStatus]) -> RenderStatus:
    """Poll until a video or still is ready, or has failed."""
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        status = ask()
        if status.state in ("failed", "ready"):
            return status
        time.sleep(0.05)
    raise AssertionError("no video")


def count_frames(path: Path | None) -> tuple[int, float]:
    """Return the number of frames of a video, and its frames per second."""
    with av.open(str(path)) as video:
        stream = video.streams.video[0]
        return stream.frames, float(stream.average_rate)


@pytest.fixture
def recorded(library: Path) -> EpisodeRecording:
    with Store.reading(library / "more" / "short ö#?.assay") as store:
        actions = next(path.actions for _, path in store.trajectories([1]))
        return EpisodeRecording(store.specs([1])[0], actions, "failure")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("videos")


@pytest.fixture(scope="module")
def replays(drawing: str, folder: Path) -> Iterator[Replays]:
    """A renderer whose process is shared by all tests."""
    with Replays(folder) as opened:
        yield opened


def test_a_video_is_rendered_once_and_cached(replays: Replays, recorded: EpisodeRecording, folder: Path):
    video = wait_for(lambda: replays.find(recorded, VIDEO))
    assert video.path == folder / f"{recorded.name}.mp4" and video.message == ""
    assert count_frames(video.path) == (len(recorded.actions) // 2 + 1 + HOLD_S * 10, 10.0)
    with Replays(folder) as later:  # another server uses the same cache
        assert later.find(recorded, VIDEO) == video


def test_a_replay_that_differs_from_the_record_is_reported(replays: Replays, recorded: EpisodeRecording):
    differing = replace(recorded, actions=recorded.actions[:4], outcome="success")
    still = wait_for(lambda: replays.find(differing, STILL))
    assert still.path is not None and still.path.read_bytes()[:2] == b"\xff\xd8"
    assert "the recorded episode ended in success after 4" in still.message
    assert wait_for(lambda: replays.find(recorded, STILL)).message == ""


def test_a_failure_is_reported_once_and_then_retried(
    replays: Replays, recorded: EpisodeRecording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    with Replays(tmp_path / "file") as broken:
        (tmp_path / "file").write_text("not a folder")
        assert "cannot be written" in wait_for(lambda: broken.find(recorded, STILL)).message
        (tmp_path / "file").unlink()
        assert wait_for(lambda: broken.find(recorded, STILL)).state == "ready"
    with Replays(tmp_path / "killed") as killed:
        killed.find(recorded, STILL)
        assert killed._pool is not None
        (process,) = killed._pool._processes.values()
        process.kill()
        assert "ended unexpectedly" in wait_for(lambda: killed.find(recorded, STILL)).message
        assert wait_for(lambda: killed.find(recorded, STILL)).state == "ready"


def test_closing_ends_running_and_queued_jobs(drawing: str, recorded: EpisodeRecording, tmp_path: Path):
    with Replays(tmp_path) as replays:
        for count in (8, 7, 6):
            replays.find(replace(recorded, actions=recorded.actions[:count]), VIDEO)
        time.sleep(0.2)
        assert replays._pool is not None
        (process,) = replays._pool._processes.values()
    assert not process.is_alive() and not list(tmp_path.glob("*.mp4"))


def test_queued_files_that_no_page_waits_for_are_dropped(
    drawing: str, recorded: EpisodeRecording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    with Replays(tmp_path) as replays:
        several = [replace(recorded, actions=recorded.actions[:count]) for count in (8, 7, 6, 5)]
        for episode in several:
            replays.find(episode, VIDEO)
        monkeypatch.setattr(module, "INTEREST_S", 0.0)
        assert wait_for(lambda: replays.find(several[0], VIDEO)).state == "ready"
        assert not (tmp_path / f"{several[-1].name}.mp4").exists()


def test_the_least_recently_used_files_are_deleted(
    replays: Replays, recorded: EpisodeRecording, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    for number in range(3):
        old = folder / f"{number}.mp4"
        old.write_bytes(bytes(1_000_000))
        os.utime(old, (1, 1))
    monkeypatch.setattr(module, "MAX_CACHE_BYTES", 1_000_000)
    still = wait_for(lambda: replays.find(replace(recorded, actions=recorded.actions[:3]), STILL))
    assert not list(folder.glob("?.mp4")) and still.path is not None and still.path.exists()


@pytest.mark.extensions("tabletop")
def test_a_tabletop_episode_has_one_frame_per_action(replays: Replays):
    spec = EpisodeSpec("tabletop/T1/L1", 0, pack="tabletop")
    actions = EpisodeRunner(WorkerConfig("oracle", "tabletop")).run(spec).trajectory.actions
    video = wait_for(lambda: replays.find(EpisodeRecording(spec, actions, "success"), VIDEO))
    assert (video.state, video.message) == ("ready", "")
    assert count_frames(video.path) == (len(actions) + 1 + HOLD_S, 1.0)


def test_missing_rendering_is_reported(
    recorded: EpisodeRecording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("MUJOCO_GL", "nothing")
    with Replays(tmp_path) as replays:
        video = wait_for(lambda: replays.find(recorded, VIDEO))
    assert video.state == "failed" and "MUJOCO_GL is 'nothing'" in video.message


def test_episodes_that_cannot_be_replayed_fail_at_once(recorded: EpisodeRecording, tmp_path: Path):
    none, own = replace(recorded, actions=np.zeros((0, 7), np.float32)), tmp_path / "own.mp4"
    with Replays(tmp_path) as replays:
        assert "No actions" in replays.find(none, VIDEO).message
        assert replays.find(replace(none, own_video=own), VIDEO).path == own


def test_a_runs_own_video_is_found_only_in_its_folder(tmp_path: Path):
    run, spec = tmp_path / "runs" / "a.assay", EpisodeSpec("libero_goal/7", 3)
    folder = run.with_suffix(".videos")
    folder.mkdir(parents=True)
    video = folder / f"{video_name(spec)}_failure.mp4"
    video.write_bytes(b"video")
    assert _find_own_video(run, spec, "failure") == video
    assert _find_own_video(run, spec, "success") is None
    assert _find_own_video(run, spec, "x/../../secret") is None
    video.unlink()
    video.symlink_to("/etc/passwd")
    assert _find_own_video(run, spec, "failure") is None
