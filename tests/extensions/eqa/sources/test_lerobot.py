from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image
from scipy.spatial.transform import Rotation

from assay import make_env
from assay.extensions.eqa.episode import Tally
from assay.extensions.eqa.pairs import prepare_episodes
from assay.extensions.eqa.question import QuestionError
from assay.extensions.eqa.sources import open_source
from assay.extensions.eqa.sources.lerobot import LerobotSource
from assay.extensions.eqa.views import CameraView
from assay.support.video import VideoWriter
from assay.tasks.formats import ReleaseError

from ..conftest import TEXTS, encoded, picture, walk

Write = Callable[..., Path]
STATE, IMAGE = "observation.state", {"dtype": "image", "shape": [64, 64, 3]}


def write_dataset(
    folder: Path, features: dict, tables: Sequence[dict[str, list]], texts: Sequence[str], **info: object
) -> Path:
    """Write a LeRobotDataset v2.1 with one table for each episode."""
    (folder / "meta").mkdir(parents=True)
    (folder / "data/chunk-000").mkdir(parents=True)
    path = "chunk-{episode_chunk:03d}/episode_{episode_index:06d}"
    content = {
        "codebase_version": "v2.1",
        "fps": 5,
        "chunks_size": 1000,
        "data_path": f"data/{path}.parquet",
        "features": features,
    }
    (folder / "meta/info.json").write_text(json.dumps(content | info))
    rows, start = "", 0
    for number, table in enumerate(tables):
        count = len(next(iter(table.values())))
        row = {"episode_index": number, "tasks": [texts[number % len(texts)]], "length": count}
        rows += json.dumps(row, ensure_ascii=False) + "\n"
        frame = pl.DataFrame({**table, "index": range(start, start + count)})
        frame.write_parquet(folder / f"data/chunk-000/episode_{number:06d}.parquet")
        start += count
    (folder / "meta/episodes.jsonl").write_text(rows, encoding="utf-8")
    return folder


@pytest.fixture
def lerobot_2(tmp_path: Path) -> Write:
    """Writes a LeRobotDataset v2.1 with BridgeData's layout: a table and a video for each episode."""

    def write(walks: Sequence[np.ndarray]) -> Path:
        key, tables = "observation.images.image_0", []
        for states in walks:
            still = np.zeros(len(states))
            raw = np.column_stack([states[:, :3], np.radians(states[:, 3:6]), still, states[:, 6]])
            tables.append({STATE: raw.tolist()})
        features = {key: {"dtype": "video"}, STATE: {"dtype": "float32", "shape": [8]}}
        videos = "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4"
        folder = write_dataset(tmp_path / "bridge_v21", features, tables, TEXTS, video_path=videos)
        for number, states in enumerate(walks):
            with VideoWriter(folder / f"videos/chunk-000/{key}/episode_{number:06d}.mp4", fps=5) as video:
                for state in states:
                    video.add(picture(state))
        return folder

    return write


def test_version_2_is_read(lerobot_2: Write):
    walks = [walk(seed, 12) for seed in range(2)]
    source, tally = open_source(str(lerobot_2(walks))), Tally()
    episodes = list(source.episodes(tally))
    assert tally.counts == {"episodes found": 2} and [each.instruction for each in episodes] == list(
        TEXTS[:2]
    )
    for episode, states in zip(episodes, walks, strict=True):
        assert np.allclose(episode.states, states, atol=1e-3)
        shots = episode.exocentric[0].read([9, 0, 4])
        for shot, frame in zip(shots, (9, 0, 4), strict=True):
            gaps = [np.abs(shot.astype(int) - picture(state)).mean() for state in states]
            assert int(np.argmin(gaps)) == frame
        grey = np.asarray(Image.fromarray(shots[0]).convert("L")).astype(int)
        assert np.abs(episode.exocentric[0].read([9], grey=True)[0] - grey).mean() < 2


def test_bad_episodes_are_tallied_and_the_rest_is_read(lerobot_2: Write):
    walks = [walk(seed, 12) for seed in range(5)]
    walks[1][3, 0] = np.nan
    folder = lerobot_2(walks)
    videos = folder / "videos/chunk-000/observation.images.image_0"
    whole = (videos / "episode_000002.mp4").read_bytes()
    (videos / "episode_000002.mp4").write_bytes(whole[: len(whole) // 2])
    (videos / "episode_000003.mp4").unlink()
    (folder / "data/chunk-000/episode_000004.parquet").write_bytes(b"nothing")
    tally = Tally()
    found = list(prepare_episodes(open_source(str(folder)), CameraView.parse("exo"), tally))
    assert [each.episode.id for each in found] == ["episode 0"]
    assert tally.places["episode: non-finite states"] == ["episode 1"]
    assert tally.places["episode: images cannot be read"][0].startswith("episode 2: episode_000002.mp4")
    assert tally.places["episode: missing camera"] == ["episode 3: 0 of 1 static cameras"]
    assert tally.places["episode: cannot be read"][0].startswith("episode 4: ")


def test_collected_demonstrations_are_read_with_scene_and_cameras(collected: Path):
    source, tally = open_source(str(collected)), Tally()
    _, episode = source.episodes(tally)
    assert episode.instruction == "turn on the stove" and episode.scene == "primitives libero_goal/0 0"
    assert np.isfinite(episode.states).all() and episode.states[0, 6] == pytest.approx(0.52, abs=0.01)
    assert abs(episode.states[0, 3]) == pytest.approx(180, abs=2), "the hand points down"
    assert episode.exocentric[0].read([0, 40])[1].shape == (48, 48, 3) and episode.egocentric is not None
    with make_env("libero_goal/7") as env:
        upright = env.reset(0).image("agentview", 48)
    (shown,) = episode.exocentric[0].read([0])
    (grey,) = episode.exocentric[0].read([0], grey=True)
    assert np.abs(shown.astype(int) - upright).mean() < 8 and np.abs(grey - upright.mean(axis=2)).mean() < 12


def test_invalid_folders_are_refused(lerobot_2: Write):
    file = lerobot_2([walk(0, 4)]) / "meta/info.json"
    version = json.dumps(json.loads(file.read_text()) | {"codebase_version": "v9"})
    for text, words in (
        (version, "LeRobotDataset v9 is not supported; supported versions: "),
        ("{", "info.json"),
    ):
        file.write_text(text)
        with pytest.raises(ReleaseError, match=words):
            open_source(str(file.parent.parent))


def stills(folder: Path, states: np.ndarray, table: dict[str, list], features: dict) -> Path:
    """A dataset of one episode whose images are in its table."""
    images = [{"bytes": encoded(picture(state)), "path": ""} for state in states]
    cameras = {key: images for key, feature in features.items() if feature["dtype"] == "image"}
    return write_dataset(folder, features, [{**table, **cameras}], ["open the\u2028drawer"])


RT1 = ["x", "y", "z", "rx", "ry", "rz", "rw", "gripper"]


def rt1(folder: Path, names: object) -> Path:
    states = walk(0, 6)
    turns = Rotation.from_euler("xyz", states[:, 3:6], degrees=True).as_quat()
    raw = np.column_stack([states[:, :3], turns, 1.0 - states[:, 6]])
    features = {
        STATE: {"dtype": "float32", "shape": [8], "names": names},
        "observation.images.image": IMAGE,
    }
    return stills(folder, states, {STATE: raw.tolist()}, features)


def test_rt1_and_droid_are_read_with_images_in_their_tables(tmp_path: Path):
    states = walk(0, 6)
    pose = np.column_stack([states[:, :3], np.radians(states[:, 3:6])]).tolist()
    cameras = ("exterior_1_left", "exterior_2_left", "wrist_left")
    droid = stills(
        tmp_path / "droid",
        states,
        {f"{STATE}.cartesian_position": pose, f"{STATE}.gripper_position": (1.0 - states[:, 6]).tolist()},
        {
            f"{STATE}.cartesian_position": {"dtype": "float32", "shape": [6]},
            f"{STATE}.gripper_position": {"dtype": "float32", "shape": [1]},
            **{f"observation.images.{name}": IMAGE for name in cameras},
        },
    )
    for folder, count in ((rt1(tmp_path / "rt1", {"motors": RT1}), 1), (droid, 2)):
        source = open_source(str(folder))
        (episode,) = source.episodes(Tally())
        assert np.allclose(episode.states, states, atol=1e-3)
        assert episode.instruction == "open the\u2028drawer" and len(episode.exocentric) == count
        assert isinstance(source, LerobotSource) and source.schema.name == folder.name
        assert np.abs(episode.exocentric[0].read([4])[0].astype(int) - picture(states[4])).mean() < 6


def test_a_schema_is_chosen_only_if_the_states_identify_it(tmp_path: Path):
    unnamed = rt1(tmp_path / "unnamed", None)
    with pytest.raises(QuestionError, match=r"no schema matches .*observation.state \(8\).*--schema"):
        open_source(str(unnamed))
    assert open_source(str(unnamed), schema="rt1").rules.levels == ("high",)
    states = walk(0, 6)
    features = {
        STATE: {"dtype": "float32", "shape": [14], "names": [f"joint_{n}" for n in range(14)]},
        "observation.images.image": IMAGE,
        "observation.images.image2": IMAGE,
    }
    table = {STATE: np.hstack([states, states]).tolist()}
    joints = stills(tmp_path / "joints", states, table, features)
    with pytest.raises(QuestionError, match="no schema matches"):
        open_source(str(joints))
    with pytest.raises(QuestionError, match=r"missing 8 numbers in 'observation.state' \(there are 14\)"):
        open_source(str(joints), schema="libero")
    with pytest.raises(QuestionError, match="contains neither a LeRobotDataset"):
        open_source(str(tmp_path))


def test_a_missing_task_file_costs_only_the_scene(collected: Path, tmp_path: Path):
    shutil.copytree(collected, tmp_path / "set")
    (path,) = (tmp_path / "set/meta/episodes").rglob("*.parquet")
    listed = pl.read_parquet(path)
    listed.with_columns(pl.lit("gone/somewhere.yaml").alias("assay/task")).write_parquet(path)
    tally = Tally()
    episode, _ = open_source(str(tmp_path / "set")).episodes(tally)
    assert episode.scene == "" and tally.counts["scene: its task cannot be loaded"] == 2
    path.write_bytes(b"nothing")
    with pytest.raises(ReleaseError, match="the list of episodes cannot be read"):
        list(open_source(str(tmp_path / "set")).episodes(Tally()))
