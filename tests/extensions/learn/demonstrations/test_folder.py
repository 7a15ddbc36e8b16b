from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.episodes.episode import Outcome
from assay.errors import DemonstrationError
from assay.extensions.learn.demonstrations import dataset
from assay.extensions.learn.demonstrations.dataset import Demonstrations, FailedAttempt
from assay.extensions.learn.demonstrations.folder import DemonstrationFolder, open_folder
from assay.support.images import Orientation
from assay.tasks.formats.lerobot_writer import RecordedEpisode

Made = Callable[..., RecordedEpisode]
FAILED = FailedAttempt("libero_goal/7", 1, Outcome.FAILURE, 300, "")


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def folder_at(root: Path) -> DemonstrationFolder:
    root.mkdir(exist_ok=True)
    return DemonstrationFolder(root, "primitives", 32)


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


def test_neither_order_nor_pauses_change_the_result(
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
    assert contents(root) == contents(finished)
    assert sorted(path.name for path in root.iterdir()) == ["data", "meta", "videos"]


def test_other_and_foreign_datasets_are_rejected_and_stay_unchanged(
    tmp_path: Path, made: Made, finished: Path
):
    folder_at(tmp_path / "staged").add(made("libero_goal/7", 0, 3))
    for root in (tmp_path / "staged", finished):
        before = contents(root)
        for pack, size in (("libero", 32), ("primitives", 64)):
            with pytest.raises(DemonstrationError, match="'primitives' with images of 32 pixels"):
                DemonstrationFolder(root, pack, size)
        assert contents(root) == before
    (finished / "meta/assay.json").unlink()
    before = contents(finished)
    with pytest.raises(DemonstrationError, match="did not write"):
        folder_at(finished)
    assert contents(finished) == before


def test_a_folder_has_one_orientation(tmp_path: Path, made: Made):
    folder = folder_at(tmp_path / "set")
    folder.add(made("libero_goal/7", 0, 3))
    folder.finish()
    ours, info = tmp_path / "set/meta/assay.json", tmp_path / "set/meta/info.json"
    lies = [each["info"] for each in json.loads(info.read_text())["features"].values() if "info" in each]
    assert [each["image.orientation"] for each in lies] == ["rotated", "rotated"]
    with pytest.raises(DemonstrationError, match=r"rotated images, not upright: use --orientation rotated"):
        DemonstrationFolder(tmp_path / "set", "primitives", 32, orientation=Orientation.UPRIGHT)
    old = json.loads(ours.read_text())
    del old["orientation"]
    ours.write_text(json.dumps(old))
    assert dataset.read(tmp_path / "set").orientation is Orientation.UPRIGHT


def test_a_folder_is_locked_while_collecting(tmp_path: Path):
    with (
        open_folder(tmp_path / "set", "primitives", 32),
        pytest.raises(DemonstrationError, match="is in use"),
    ):
        open_folder(tmp_path / "set", "primitives", 32).__enter__()
    with open_folder(tmp_path / "set", "primitives", 32) as folder:
        assert folder.demonstrations.episodes == ()
