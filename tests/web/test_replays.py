"""Videos and stills of recorded episodes, drawn by processes of their own and kept."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from typing import Any

import av
import numpy as np
import pytest

from assay.episodes import EpisodeSpec
from assay.errors import RenderingError
from assay.extensions.tabletop.world.env import PACK
from assay.runs.episode_video import HOLD, video_name
from assay.runs.store import Store
from assay.runs.worker import EpisodeRunner, WorkerConfig
from assay.support import processes
from assay.web import replays as module
from assay.web.replays import Recorded, Replay, Replays, own_video
from assay.web.video_process import DiedError, Drawer, Order, PutOffError, VideoProcess


def made(ask: Callable[[], Replay]) -> Replay:
    """A video or still, when nothing better is to come."""
    until = time.monotonic() + 300
    while time.monotonic() < until:
        replay = ask()
        if replay.state == "failed" or (replay.state == "ready" and replay.final):
            return replay
        time.sleep(0.05)
    raise AssertionError("no video")


def pictures(path: Path | None) -> tuple[int, float]:
    """How many pictures a video has, and how many a second."""
    with av.open(str(path)) as video:
        stream = video.streams.video[0]
        return stream.frames, float(stream.average_rate)


@pytest.fixture
def recorded(library: Path) -> Recorded:
    with Store.reading(library / "more" / "short ö#?.assay") as store:
        actions = next(path.actions for _, path in store.trajectories([1]))
        return Recorded(store.specs([1])[0], actions, "failure")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("videos")


@pytest.fixture(scope="module")
def replays(drawing: str, folder: Path) -> Iterator[Replays]:
    """One process draws for all tests."""
    with Replays(folder, processes=1) as opened:
        yield opened


def test_a_video_of_few_pictures_comes_first_and_one_of_many_replaces_it(
    replays: Replays, recorded: Recorded, folder: Path
):
    seen: list[str] = []

    def ask() -> Replay:
        now = replays.video(recorded)
        seen.extend([now.path.name] if now.path is not None and now.path.name not in seen else [])
        return now

    video = made(ask)
    assert seen == [f"{recorded.name}-rough.mp4", f"{recorded.name}.mp4"] and video.said == ""
    steps = len(recorded.actions)
    assert pictures(folder / seen[0]) == (1 + 1 + HOLD, 1.0)  # step 0, and the end held for two seconds
    assert pictures(video.path) == (steps // 2 + 1 + HOLD * 10, 10.0)
    assert video.poster is not None and video.poster.is_file()
    assert replays.named(recorded, seen[0]) == folder / seen[0]
    assert replays.named(recorded, "../secret") is None
    with Replays(folder) as later:  # another server finds it at once
        assert later.video(recorded) == video


def test_a_still_shows_the_end(replays: Replays, recorded: Recorded):
    still = made(lambda: replays.still(recorded))
    assert still.path is not None and still.path.read_bytes()[:2] == b"\xff\xd8"


def test_what_ended_otherwise_is_said(replays: Replays, recorded: Recorded):
    odd = made(lambda: replays.still(replace(recorded, actions=recorded.actions[:4], outcome="success")))
    assert odd.state == "ready" and "the record says success after 4" in odd.said


def test_what_was_not_looked_at_for_longest_goes(
    replays: Replays, recorded: Recorded, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module, "MOST_BYTES", 60_000)
    shorter = replace(recorded, actions=recorded.actions[:2], outcome="error", error="a wire broke")
    last = made(lambda: replays.still(shorter))
    until = time.monotonic() + 60
    while size_of(folder) > 60_000:
        assert time.monotonic() < until
        time.sleep(0.05)
    assert last.path is not None and last.path.exists()


def size_of(folder: Path) -> int:
    """Bytes, while somebody else takes files away."""
    total = 0
    for each in folder.iterdir():
        with suppress(FileNotFoundError):
            total += each.stat().st_size
    return total


def test_whatever_goes_wrong_is_told_and_a_process_that_died_is_tried_again(
    recorded: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    other = replace(recorded, actions=recorded.actions[:2])
    orders: list[str] = []

    def render(process: VideoProcess, order: Order) -> str:
        orders.append(order.name)
        raise DiedError("it died") if order.name == recorded.name else KeyError("lost")

    monkeypatch.setattr(VideoProcess, "render", render)
    with Replays(tmp_path, processes=1) as replays:
        assert made(lambda: replays.still(other)).said == "KeyError: 'lost'"
        assert [made(lambda: replays.still(recorded)).said for _ in range(2)] == ["it died"] * 2
        assert made(lambda: replays.still(other)).state == "failed"
    assert orders == [other.name, recorded.name, recorded.name]


def test_what_nobody_asks_for_any_more_is_not_drawn(
    recorded: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module, "INTEREST", 0.0)
    replays = Replays(tmp_path)  # nobody draws: it was not entered
    assert replays.video(recorded).state == "waiting"
    time.sleep(0.01)
    assert replays._next("") is None


def test_videos_come_before_stills_then_better_videos_then_what_nobody_waits_for(
    recorded: Recorded, tmp_path: Path
):
    replays = Replays(tmp_path)
    own = tmp_path / "own.mp4"
    own.touch()
    better = replace(recorded, own=own, actions=recorded.actions[:3])
    unasked, since_asked = (replace(recorded, actions=recorded.actions[:count]) for count in (4, 5))
    for each in (unasked, since_asked):
        assert replays.video(each, ahead=True).state == "waiting"
    assert replays.video(better).path == own and not replays.video(better).final
    replays.still(recorded)
    replays.video(recorded)
    replays.video(since_asked)
    order = [each and each.order for each in (replays._next("") for _ in range(6))]
    assert [each.kind if each else None for each in order] == [
        *("rough", "rough", "still", "fine", "rough"),
        None,
    ]
    assert order[4] is not None and order[4].name == unasked.name


def test_an_episode_and_its_control_make_room_for_themselves_in_two_processes(
    recorded: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    control, third = (replace(recorded, actions=recorded.actions[:count]) for count in (3, 4))
    replays, hurried = Replays(tmp_path, processes=2), list[VideoProcess]()
    began = dict.fromkeys(replays._processes, True)

    def hurry(process: VideoProcess) -> bool:
        hurried.append(process)
        return began[process]

    monkeypatch.setattr(VideoProcess, "hurry", hurry)
    replays._shared.busy.update(dict.fromkeys(replays._processes, "fine"))
    began[replays._processes[1]] = False  # it has not got its order yet
    for each in (recorded, control, recorded):
        replays.video(each)
    assert hurried == [replays._processes[each] for each in (0, 1, 1)]
    began[replays._processes[1]] = True
    replays.video(control)
    replays.video(third)
    assert hurried == [replays._processes[each] for each in (0, 1, 1, 1)], "each once"


def test_who_is_closed_while_it_starts_draws_nothing(
    recorded: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    start, starting = processes.start, Event()

    def slowly(*arguments: Any, **more: Any) -> Any:
        starting.set()
        time.sleep(0.3)
        return start(*arguments, **more)

    monkeypatch.setattr(processes, "start", slowly)
    with Replays(tmp_path, processes=1) as replays:
        replays.video(recorded)
        assert starting.wait(10)
        (process,) = replays._processes
    assert process._process is not None and not process._process.is_alive()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(RenderingError, match="nothing is drawn any more"):
        process.begin()


def test_what_is_odd_about_a_video_stays_as_long_as_the_video(recorded: Recorded, tmp_path: Path):
    replays, name = Replays(tmp_path), recorded.name
    files = [tmp_path / f"{name}{end}" for end in (".mp4", ".json", ".jpg")]
    for each in files:
        each.write_text('"odd"')
        os.utime(each, (1, 1))
    assert replays.video(recorded).said == "odd"
    assert all(each.stat().st_mtime > 1 for each in files)


def test_a_better_video_gives_way_to_a_first_one_that_somebody_waits_for(
    recorded: Recorded, tmp_path: Path, drawing: str, monkeypatch: pytest.MonkeyPatch
):
    replays, told = Replays(tmp_path, processes=1), list[bool]()
    (process,) = replays._processes

    def hurry() -> bool:
        told.append(True)
        return True

    monkeypatch.setattr(process, "hurry", hurry)
    replays._shared.busy[process] = "still"
    replays.video(replace(recorded, actions=recorded.actions[:3]))  # a still is soon done
    replays._shared.busy[process] = "fine"
    replays.video(replace(recorded, actions=recorded.actions[:4]), ahead=True)  # nobody waits for it
    assert not told
    replays.video(recorded)
    assert told
    order = Order("fine", "a", recorded.spec, recorded.actions, "failure", "", tmp_path / "a.mp4")
    with pytest.raises(PutOffError):
        Drawer(lambda: True)(order)
    assert list(tmp_path.iterdir()) == []
    started = VideoProcess()
    started.begin()
    assert not started.hurry()  # there is nothing to be put off
    try:
        assert started.render(order) == "" and order.out.is_file()

        def hurrying() -> None:
            for _ in range(200):
                time.sleep(0.01)
                started.hurry()

        Thread(target=hurrying, daemon=True).start()
        with pytest.raises(PutOffError):
            while True:
                started.render(replace(order, name=str(time.monotonic())))
        assert started.render(replace(order, kind="rough")) == ""
    finally:
        started.close()


def test_an_episode_on_the_table_is_filmed_action_by_action(replays: Replays):
    spec = EpisodeSpec("tabletop/T1/L1", 0, pack=PACK)
    actions = EpisodeRunner(WorkerConfig("oracle", "tabletop")).run(spec).trajectory.actions
    video = made(lambda: replays.video(Recorded(spec, actions, "success")))
    assert (video.state, video.said) == ("ready", "")
    assert pictures(video.path) == (len(actions) + 1 + HOLD, 1.0)


def test_where_nothing_can_be_drawn_it_says_so(
    recorded: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("MUJOCO_GL", "nothing")
    with Replays(tmp_path, processes=1) as replays:
        video = made(lambda: replays.video(recorded))
    assert video.state == "failed" and "MUJOCO_GL is 'nothing', which cannot draw" in video.said


def test_what_cannot_be_played_again_is_refused_at_once(recorded: Recorded, tmp_path: Path):
    replays = Replays(tmp_path)
    none, many = (replace(recorded, actions=np.zeros((count, 7), np.float32)) for count in (0, 9999))
    assert "No actions" in replays.video(none).said and "too many" in replays.still(many).said
    own = tmp_path / "own.mp4"
    assert replays.video(replace(none, own=own)).path == own


def test_videos_of_the_run_itself_are_found_but_none_elsewhere(tmp_path: Path):
    run, spec = tmp_path / "runs" / "a.assay", EpisodeSpec("libero_goal/7", 3)
    folder = run.with_suffix(".videos")
    folder.mkdir(parents=True)
    video = folder / f"{video_name(spec)}_failure.mp4"
    video.write_bytes(b"video")
    assert own_video(run, spec, "failure") == video
    assert own_video(run, spec, "success") is None
    assert own_video(run, spec, "x/../../secret") is None
    video.unlink()
    video.symlink_to("/etc/passwd")
    assert own_video(run, spec, "failure") is None
