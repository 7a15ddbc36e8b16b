from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from assay import tasks
from assay.eqa.episode import Tally
from assay.eqa.errors import QuestionError, UnreadableError
from assay.eqa.pairs import prepared
from assay.eqa.sources import opened
from assay.eqa.views import View
from assay.policies.demonstrations import collect

from ..conftest import TEXTS, picture, walk

Write = Callable[..., Path]


def test_version_2_is_read(lerobot_2: Write):
    walks = [walk(seed, 12) for seed in range(2)]
    source, tally = opened(str(lerobot_2(walks))), Tally()
    episodes = list(source.episodes(tally))
    assert tally.counts == {"episodes read": 2} and [each.instruction for each in episodes] == list(TEXTS[:2])
    for episode, states in zip(episodes, walks, strict=True):
        assert np.allclose(episode.states, states, atol=1e-3)
        shots = episode.exocentric[0].read([9, 0, 4])
        for shot, frame in zip(shots, (9, 0, 4), strict=True):
            gaps = [np.abs(shot.astype(int) - picture(state)).mean() for state in states]
            assert int(np.argmin(gaps)) == frame
        grey = np.asarray(Image.fromarray(shots[0]).convert("L")).astype(int)
        assert np.abs(episode.exocentric[0].read([9], grey=True)[0] - grey).mean() < 2


def test_bad_episodes_of_version_2_are_counted_and_named_and_the_rest_goes_on(lerobot_2: Write):
    walks = [walk(seed, 12) for seed in range(5)]
    walks[1][3, 0] = np.nan
    folder = lerobot_2(walks)
    videos = folder / "videos/chunk-000/observation.images.image_0"
    whole = (videos / "episode_000002.mp4").read_bytes()
    (videos / "episode_000002.mp4").write_bytes(whole[: len(whole) // 2])
    (videos / "episode_000003.mp4").unlink()
    (folder / "data/chunk-000/episode_000004.parquet").write_bytes(b"nothing")
    tally = Tally()
    found = list(prepared(opened(str(folder)), View.parse("exo"), tally))
    assert [each.episode.id for each in found] == ["episode 0"]
    assert tally.places["episode: states that are not finite"] == ["episode 1"]
    assert tally.places["episode: pictures cannot be read"][0].startswith("episode 2: episode_000002.mp4")
    assert tally.places["episode: missing camera"] == ["episode 3: 1 outside, 0 there"]
    assert tally.places["episode: cannot be read"][0].startswith("episode 4: ")


def test_a_video_that_ends_too_early_is_named(lerobot_2: Write):
    folder = lerobot_2([walk(0, 12)])
    (episode,) = opened(str(folder)).episodes(Tally())
    with pytest.raises(UnreadableError, match=r"episode_000000.mp4 ends before frame 12"):
        episode.exocentric[0].read([2, 12])


def test_what_we_collect_is_read_with_scene_and_cameras(drawing: str, tmp_path: Path):
    chosen = [tasks.load("libero_goal/7")]
    collect(tmp_path / "set", chosen, 1, size=32)
    source, tally = opened(str(tmp_path / "set")), Tally()
    (episode,) = source.episodes(tally)
    assert episode.instruction == "turn on the stove" and episode.scene == "primitives libero_goal/0 0"
    assert np.isfinite(episode.states).all() and episode.states[0, 6] == pytest.approx(0.52, abs=0.01)
    assert abs(episode.states[0, 3]) == pytest.approx(180, abs=2), "the hand points down"
    assert episode.exocentric[0].read([0, 40])[1].shape == (32, 32, 3) and episode.egocentric is not None


def test_what_is_no_such_folder_is_refused(lerobot_2: Write):
    folder = lerobot_2([walk(0, 4)])
    info = json.loads((folder / "meta/info.json").read_text())
    (folder / "meta/info.json").write_text(json.dumps(info | {"codebase_version": "v9"}))
    with pytest.raises(QuestionError, match="LeRobotDataset v9; valid: "):
        opened(str(folder))
    (folder / "meta/info.json").write_text("{")
    with pytest.raises(QuestionError, match="cannot be read"):
        opened(str(folder))
