"""Films of recorded episodes, drawn by a process of its own."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import av
import numpy as np
import pytest

from assay.episodes import EpisodeSpec
from assay.runs.episode_video import HOLD, video_name
from assay.runs.store import Store
from assay.runs.worker import EpisodeRunner, WorkerConfig
from assay.tabletop.world import PACK
from assay.web import replays as films
from assay.web.replays import Replay, Replays, own_video


def made(replays: Replays, *order: object) -> Replay:
    """A film, when it is ready or has failed."""
    until = time.monotonic() + 120
    while time.monotonic() < until:
        replay = replays.video(*order)  # type: ignore[arg-type]
        if replay.state in ("ready", "failed"):
            return replay
        time.sleep(0.05)
    raise AssertionError("no film")


@pytest.fixture
def recorded(library: Path) -> tuple[EpisodeSpec, np.ndarray]:
    with Store.reading(library / "more" / "short ö#?.assay") as store:
        return store.specs([1])[0], next(path.actions for _, path in store.trajectories([1]))


@pytest.fixture(scope="module")
def replays(drawing) -> Iterator[Replays]:
    """One process draws for all tests; what it drew is gone when it is closed."""
    with Replays() as opened:
        yield opened
        drawn = [film.path for film in opened._films.values() if film.path is not None]
        assert any(path.exists() for path in drawn)
    assert not any(path.exists() for path in drawn)


def test_an_episode_is_filmed_from_its_spec_and_actions(
    replays: Replays, recorded, monkeypatch: pytest.MonkeyPatch
):
    spec, actions = recorded
    film = made(replays, spec, actions, "failure", "")
    assert (film.state, film.said) == ("ready", "") and film.path is not None
    with av.open(str(film.path)) as video:
        assert video.streams.video[0].frames == len(actions) // film.stride + HOLD
    assert replays.video(spec, actions, "failure", "") == film

    odd = made(replays, spec, actions[:4], "success", "")
    assert odd.state == "ready" and "the record says success after 4" in odd.said

    monkeypatch.setattr(films, "MOST_BYTES", 1)
    last = made(replays, spec, actions[:2], "error", "a wire broke")
    assert last.state == "ready" and last.path is not None and last.path.exists()
    assert not film.path.exists()


def test_an_episode_on_the_table_is_filmed_action_by_action(replays: Replays):
    spec = EpisodeSpec("tabletop/T1/L1", 0, pack=PACK)
    actions = EpisodeRunner(WorkerConfig("oracle", "tabletop")).run(spec).trajectory.actions
    film = made(replays, spec, actions, "success", "")
    assert (film.state, film.said) == ("ready", "") and film.path is not None
    with av.open(str(film.path)) as video:
        assert video.streams.video[0].frames == len(actions) / film.stride + HOLD


def test_where_nothing_can_be_drawn_it_says_so(recorded, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MUJOCO_GL", "nothing")
    with Replays() as replays:
        film = made(replays, *recorded, "failure", "")
    assert film.state == "failed" and "MUJOCO_GL is 'nothing', which cannot draw" in film.said


def test_what_cannot_be_played_again_is_refused_at_once(recorded):
    spec, _ = recorded
    with Replays() as replays:
        assert "No actions" in replays.video(spec, np.zeros((0, 7), np.float32), "error", "").said
        assert "too many" in replays.video(spec, np.zeros((9999, 7), np.float32), "failure", "").said


def test_films_of_the_run_itself_are_found_but_none_elsewhere(tmp_path: Path):
    run, spec = tmp_path / "runs" / "a.assay", EpisodeSpec("libero_goal/7", 3)
    folder = run.with_suffix(".videos")
    folder.mkdir(parents=True)
    film = folder / f"{video_name(spec)}_failure.mp4"
    film.write_bytes(b"film")
    assert own_video(run, spec, "failure") == film
    assert own_video(run, spec, "success") is None
    assert own_video(run, spec, "x/../../secret") is None
    film.unlink()
    film.symlink_to("/etc/passwd")
    assert own_video(run, spec, "failure") is None
