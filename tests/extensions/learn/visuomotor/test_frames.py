from __future__ import annotations

import io
import json
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image

from assay.errors import DemonstrationError
from assay.extensions.learn.visuomotor.inputs import (
    CAMERAS,
    PROPRIOCEPTION_WIDTH,
    downscale,
    embed,
    proprioception,
    read,
    wordings,
)
from assay.support.images import Orientation

STEPS = 12


def test_images_are_read_upright_in_every_orientation(demonstrated: Path, tmp_path: Path):
    frames = read(demonstrated, 32)
    assert len(frames) == 24 * STEPS and frames.size == 32 and len(frames.instructions) == 24
    assert set(frames.tasks) == {"libero_goal/7", "libero_goal/8"}
    for camera in CAMERAS:
        red = frames.images[camera][0].astype(int) @ (1, -1, 0)  # the mark is in the upper left corner
        assert red[:2, :2].min() > 100 > red[:2, -4:].max() and red[-4:, :2].max() < 100
    other = tmp_path / "other"
    shutil.copytree(demonstrated, other)
    info = json.loads((other / "meta/info.json").read_text())
    for feature in info["features"].values():
        feature.pop("info", None)
    (other / "meta/info.json").write_text(json.dumps(info))
    mirrored = read(other, 32)
    assert np.array_equal(mirrored.images["agentview"], frames.images["agentview"][:, :, ::-1])
    asked = read(other, 32, Orientation.UPRIGHT)
    assert np.array_equal(asked.images["agentview"], frames.images["agentview"])


def test_first_limits_demonstrations_per_instruction(demonstrated: Path):
    frames, few = read(demonstrated, 32), read(demonstrated, 32).first(2)
    assert len(few) == 4 * STEPS and few.episodes.max() == 3
    second = np.flatnonzero(frames.episodes == 12)  # the first of the second task
    assert np.array_equal(few.actions[2 * STEPS : 3 * STEPS], frames.actions[second])
    assert np.array_equal(few.images["agentview"][2 * STEPS], frames.images["agentview"][second[0]])


def test_downscaling_averages_pixels():
    image = np.zeros((64, 64, 3), np.uint8)
    image[:2, :1] = 200
    assert downscale(image, 32)[0, 0].tolist() == [100, 100, 100] and downscale(image, 64) is image


def test_unusable_datasets_are_reported(demonstrated: Path, tmp_path: Path):
    with pytest.raises(DemonstrationError, match=r"nowhere: not a LeRobotDataset.*assay collect"):
        read(tmp_path / "nowhere", 32)
    other = tmp_path / "other"
    shutil.copytree(demonstrated, other)
    info = json.loads((other / "meta/info.json").read_text())
    info["features"]["observation.state"]["shape"] = [9]
    (other / "meta/info.json").write_text(json.dumps(info))
    with pytest.raises(
        DemonstrationError, match=r"has no state with 8 numbers: looked for observation\.state"
    ):
        read(other, 32)


def test_a_foreign_dataset_with_images_in_tables_is_read(tmp_path: Path):
    mark = np.zeros((64, 64, 3), np.uint8)
    mark[:8, -8:] = 255  # upper right, for data sets of LIBERO are mirrored
    content = io.BytesIO()
    Image.fromarray(mark).save(content, "PNG")
    stored = [{"bytes": content.getvalue(), "path": None}] * 3
    numbers = {"state": np.zeros((3, 8)).tolist(), "actions": np.ones((3, 7)).tolist()}
    data, episodes = tmp_path / "data/chunk-000/file-000.parquet", tmp_path / "meta/episodes/chunk-000"
    data.parent.mkdir(parents=True)
    episodes.mkdir(parents=True)
    table = pl.DataFrame({"index": [0, 1, 2], "image": stored, "wrist_image": stored, **numbers})
    table.write_parquet(data)
    row = {"episode_index": 0, "tasks": [["stack"]], "length": 3, "dataset_from_index": 0}
    pl.DataFrame(row | {"data/chunk_index": 0, "data/file_index": 0}).write_parquet(
        episodes / "file-000.parquet"
    )
    features = {name: {"dtype": "image", "shape": [64, 64, 3]} for name in ("image", "wrist_image")}
    features |= {"state": {"dtype": "float32", "shape": [8]}, "actions": {"dtype": "float32", "shape": [7]}}
    info = {"codebase_version": "v3.0", "fps": 10, "features": features, "total_episodes": 1}
    info["data_path"] = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
    (tmp_path / "meta/info.json").write_text(json.dumps(info))
    frames = read(tmp_path, 32)
    assert (len(frames), frames.instructions, frames.tasks, frames.size) == (3, ("stack",), ("",), 64)
    assert (frames.images["agentview"][0, :4, :4] == 255).all() and frames.images["agentview"][
        0
    ].sum() == 255 * 48


def test_similar_instructions_have_similar_vectors_and_an_empty_one_has_none():
    stove, on, bowl = map(embed, ("turn on the stove", "switch the stove on", "put the bowl on the plate"))
    assert stove.shape == (384,) and np.linalg.norm(stove) == pytest.approx(1, abs=1e-6)
    assert stove @ on > 0.8 > stove @ bowl and not embed("  ").any()


def test_an_episode_has_one_wording_or_its_own_and_paraphrases():
    said, ids = ["turn on the stove"] * 2, ["libero_goal/7"] * 2
    assert wordings(said, ["", ""], 0) == [["turn on the stove"]] * 2
    many = wordings(said, ids, 1)
    assert many[0] == many[1] and many[0][0] == said[0] and len(set(many[0])) == len(many[0]) > 30
    with pytest.raises(DemonstrationError, match="paraphrases require a dataset from assay collect"):
        wordings(said, ["", ""], 1)


def test_proprioception_is_continuous_at_half_a_turn():
    before, after = np.zeros((2, 8))
    before[3:6], after[3:6] = (np.pi - 0.001, 0.0, 0.0), (-np.pi + 0.001, 0.0, 0.0)
    taken = proprioception(np.stack([before, after]))
    assert taken.shape == (2, PROPRIOCEPTION_WIDTH) and np.abs(taken[0] - taken[1]).max() < 0.01
