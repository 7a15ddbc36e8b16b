from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import av
import numpy as np
import polars as pl
import pytest

from assay.episodes.episode import Outcome
from assay.errors import DemonstrationError
from assay.extensions.learn.demonstrations import dataset
from assay.extensions.learn.demonstrations.dataset import (
    DemonstrationFolder,
    Demonstrations,
    FailedAttempt,
    open_folder,
)
from assay.support.images import Orientation
from assay.tasks.formats.lerobot import CAMERAS
from assay.tasks.formats.lerobot_writer import RecordedEpisode

Made = Callable[..., RecordedEpisode]
LEFT_OUT = FailedAttempt("libero_goal/7", 3, Outcome.ERROR, 12, "no way in")


@pytest.fixture
def three(made: Made) -> Demonstrations:
    """Three episodes; the first and the last have the same instruction."""
    same = "turn it on"
    episodes = (
        made("libero_goal/7", 0, 6, same),
        made("libero_goal/8", 1, 9),
        made("libero_10/0", 2, 5, same),
    )
    return Demonstrations("primitives", 32, episodes, (LEFT_OUT,))


def shown(folder: Path, key: str, number: int) -> list[float]:
    """The mean brightness of each picture in a video file."""
    with av.open(str(folder / f"videos/{key}/chunk-000/file-{number:03d}.mp4")) as file:
        return [frame.to_ndarray(format="rgb24").mean() for frame in file.decode(video=0)]


def test_a_dataset_survives_a_round_trip(tmp_path: Path, three: Demonstrations):
    dataset.write(tmp_path / "set", three)
    again = dataset.read(tmp_path / "set")
    assert (again.pack, again.size, again.left_out) == ("primitives", 32, (LEFT_OUT,))
    for theirs, ours in zip(again.episodes, three.episodes, strict=True):
        assert (theirs.task, theirs.seed, theirs.instruction) == (ours.task, ours.seed, ours.instruction)
        assert theirs.frames.equals(ours.frames)
        for key in CAMERAS:
            assert theirs.clips[key].count == len(ours.frames)
            for name, value in ours.image_stats[key].items():
                np.testing.assert_array_equal(theirs.image_stats[key][name], value)


def test_frames_and_images_of_every_episode_are_located_across_files(tmp_path: Path, three: Demonstrations):
    dataset.write(tmp_path, three, max_frames=15)
    first, second = (pl.read_parquet(tmp_path / f"data/chunk-000/file-{n:03d}.parquet") for n in range(2))
    both = pl.concat([first, second])
    vectors = {"action": pl.Array(pl.Float32, 7), "observation.state": pl.Array(pl.Float32, 8)}
    counters = dict.fromkeys(("frame_index", "episode_index", "index", "task_index"), pl.Int64)
    assert dict(both.schema) == vectors | {"timestamp": pl.Float32} | counters
    assert (len(first), len(second)) == (15, 5)
    assert both["index"].to_list() == list(range(20))
    assert both["episode_index"].to_list() == [0] * 6 + [1] * 9 + [2] * 5
    assert both["frame_index"].to_list() == [*range(6), *range(9), *range(5)]
    assert both["task_index"].to_list() == [0] * 6 + [1] * 9 + [0] * 5
    np.testing.assert_array_equal(both["timestamp"], (both["frame_index"].to_numpy() / 20).astype(np.float32))
    rows = pl.read_parquet(tmp_path / "meta/episodes/chunk-000/file-000.parquet").rows(named=True)
    episodes = [(row["assay/task"], row["assay/seed"]) for row in rows]
    assert episodes == [("libero_goal/7", 0), ("libero_goal/8", 1), ("libero_10/0", 2)]
    assert [row["tasks"] for row in rows] == [["turn it on"], ["do libero_goal/8"], ["turn it on"]]
    limits = [(row["dataset_from_index"], row["dataset_to_index"]) for row in rows]
    assert limits == [(0, 6), (6, 15), (15, 20)] and [row["data/file_index"] for row in rows] == [0, 0, 1]
    for key in CAMERAS:
        places = [(row[f"videos/{key}/file_index"], row[f"videos/{key}/from_timestamp"]) for row in rows]
        assert places == [(0, 0.0), (0, 0.3), (1, 0.0)]
        assert [row[f"videos/{key}/to_timestamp"] for row in rows] == [0.3, 0.75, 0.25]
        seen = shown(tmp_path, key, 0), shown(tmp_path, key, 1)
        for row, (number, start) in zip(rows, places, strict=True):
            bright = seen[number][round(start * 20) : round(start * 20) + row["length"]]
            expected = 40 + 30 * row["assay/seed"] + 5 * np.arange(row["length"])
            np.testing.assert_allclose(bright, expected, atol=2)


def test_statistics_and_instructions_are_stored_in_lerobots_form(tmp_path: Path, three: Demonstrations):
    dataset.write(tmp_path, three)
    stats = json.loads((tmp_path / "meta/stats.json").read_text())
    data = pl.read_parquet(tmp_path / "data/chunk-000/file-000.parquet")
    row = pl.read_parquet(tmp_path / "meta/episodes/chunk-000/file-000.parquet").row(1, named=True)
    actions = data["action"].to_numpy()
    np.testing.assert_allclose(stats["action"]["mean"], actions.mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(row["stats/action/mean"], actions[6:15].mean(axis=0), atol=1e-6)
    assert stats["index"]["max"] == [19] and row["stats/index/min"] == [6]
    assert stats["observation.images.image"]["count"] == [20]
    assert np.shape(stats["observation.images.image"]["mean"]) == (3, 1, 1)
    np.testing.assert_allclose(row["stats/observation.images.image/min"], np.full((3, 1, 1), 70 / 255))
    described = json.loads((tmp_path / "meta/info.json").read_text())
    assert set(stats) == set(described["features"])
    assert (described["total_episodes"], described["total_frames"], described["total_tasks"]) == (3, 20, 2)
    assert described["codebase_version"] == "v3.0" and described["splits"] == {"train": "0:3"}
    path = tmp_path / "meta/tasks.parquet"
    assert pl.read_parquet(path).rows() == [("turn it on", 0), ("do libero_goal/8", 1)]
    schema = base64.b64decode(pl.read_parquet_metadata(path)["ARROW:schema"])
    assert b"pandas" in schema and b'"index_columns": ["task"]' in schema


def test_without_episodes_only_failed_attempts_are_written(tmp_path: Path):
    nothing = Demonstrations("primitives", 32, (), (LEFT_OUT,))
    dataset.write(tmp_path, nothing)
    assert [path.name for path in (tmp_path / "meta").iterdir()] == ["assay.json"]
    assert dataset.read(tmp_path) == nothing


def test_a_damaged_dataset_is_refused(tmp_path: Path, three: Demonstrations):
    for number, (file, content) in enumerate(
        (
            ("meta/assay.json", "{}"),
            ("meta/assay.json", "not json"),
            ("meta/episodes/chunk-000/file-000.parquet", "not a table"),
            ("data/chunk-000/file-000.parquet", ""),
        )
    ):
        folder = tmp_path / str(number)
        dataset.write(folder, three)
        (folder / file).write_text(content)
        with pytest.raises(DemonstrationError, match="not a dataset written by assay collect"):
            dataset.read(folder)


FAILED = FailedAttempt("libero_goal/7", 1, Outcome.FAILURE, 300, "")


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


KIND = Demonstrations("primitives", 32)


def folder_at(root: Path) -> DemonstrationFolder:
    root.mkdir(exist_ok=True)
    return DemonstrationFolder(root, KIND)


@pytest.fixture
def attempts(made: Made) -> list[RecordedEpisode | FailedAttempt]:
    return [made("libero_goal/7", 0, 6), FAILED, made("libero_goal/7", 2, 4), made("libero_goal/8", 0, 5)]


@pytest.fixture
def finished(tmp_path: Path, attempts: list[RecordedEpisode | FailedAttempt]) -> Path:
    """A dataset that came about without any trouble."""
    folder = folder_at(tmp_path / "finished")
    for attempt in attempts:
        folder.add(attempt)
    folder.finish()
    return folder.root


def test_the_result_is_independent_of_order_and_pauses(
    tmp_path: Path, finished: Path, attempts: list[RecordedEpisode | FailedAttempt]
):
    for number, attempt in enumerate(reversed(attempts)):
        folder = folder_at(tmp_path / "piecemeal")
        folder.add(attempt)
        if number % 2:
            folder.finish()
    assert contents(tmp_path / "piecemeal") == contents(finished)


def test_staged_attempts_survive_an_interruption(
    tmp_path: Path, finished: Path, attempts: list[RecordedEpisode | FailedAttempt]
):
    root = tmp_path / "left"
    folder = folder_at(root)
    for attempt in attempts[:2]:
        folder.add(attempt)
    # As a killed process leaves it: half an attempt, half a dataset.
    dataset.write(root / ".scratch/staging", Demonstrations("primitives", 32, (attempts[2],)))  # type: ignore[arg-type]
    (root / ".scratch/staging/meta/assay.json").unlink()
    (root / ".next/data").mkdir(parents=True)
    folder = folder_at(root)
    assert len(folder.demonstrations.episodes) == 1 and folder.demonstrations.left_out == (FAILED,)
    for attempt in attempts[2:]:
        folder.add(attempt)
    folder.finish()
    assert contents(root) == contents(finished)


@pytest.mark.parametrize("moved", [(), ("data",), ("data", "videos"), ("data", "videos", "meta")])
def test_an_interrupted_exchange_is_completed(
    tmp_path: Path, finished: Path, attempts: list[RecordedEpisode | FailedAttempt], moved: tuple[str, ...]
):
    root = tmp_path / "cut"
    folder = folder_at(root)
    folder.add(attempts[0])
    folder.finish()  # the old dataset
    folder = folder_at(root)
    for attempt in attempts[1:]:
        folder.add(attempt)
    dataset.write(root / ".ready", folder.demonstrations)
    (root / "meta").rename(tmp_path / "old meta")
    for name in moved:
        if (root / name).exists():
            (root / name).rename(tmp_path / f"old {name}")
        (root / ".ready" / name).rename(root / name)
    folder_at(root)
    assert contents(root) == contents(finished), "and nothing else is left"


def test_other_and_foreign_datasets_are_rejected_and_stay_unchanged(
    tmp_path: Path, made: Made, finished: Path
):
    folder_at(tmp_path / "staged").add(made("libero_goal/7", 0, 3))
    for root in (tmp_path / "staged", finished):
        before = contents(root)
        for other in (
            replace(KIND, pack="libero"),
            replace(KIND, size=64),
            replace(KIND, orientation=Orientation.UPRIGHT),
        ):
            with pytest.raises(
                DemonstrationError,
                match=f"with --assets primitives --size 32 --orientation rotated, not {other}",
            ):
                DemonstrationFolder(root, other)
        assert contents(root) == before
    (finished / "meta/assay.json").unlink()
    before = contents(finished)
    with pytest.raises(DemonstrationError, match="not written by"):
        folder_at(finished)
    assert contents(finished) == before


def test_a_folder_is_locked_while_collecting(tmp_path: Path):
    with (
        open_folder(tmp_path / "set", KIND),
        pytest.raises(DemonstrationError, match="is in use"),
    ):
        open_folder(tmp_path / "set", KIND).__enter__()
    with open_folder(tmp_path / "set", KIND) as folder:
        assert folder.demonstrations.episodes == ()
