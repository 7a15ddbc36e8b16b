from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from assay.errors import AssayError
from assay.support.video import FPS, Clip, VideoWriter, splice

CODEC_ERROR = 6.0
"""Of 255, in the mean over a picture."""


def pictures(count: int, height: int = 48, width: int = 64) -> np.ndarray:
    """A bright square on a gradient, further right in each picture: uint8, (count, height, width, 3)."""
    made = np.empty((count, height, width, 3), dtype=np.uint8)
    made[:] = np.linspace(40, 120, width, dtype=np.uint8)[:, None]
    for index, picture in enumerate(made):
        picture[16:32, 3 * index % (width - 16) : 3 * index % (width - 16) + 16] = (230, 200, 30)
    return made


def written(path: Path, shown: np.ndarray, **options: int) -> Path:
    with VideoWriter(path, **options) as video:
        for picture in shown:
            video.add(picture)
    return path


def decoded(path: Path) -> tuple[np.ndarray, list[float]]:
    """Pictures and their seconds."""
    with av.open(str(path)) as file:
        frames = list(file.decode(video=0))
    return np.array([frame.to_ndarray(format="rgb24") for frame in frames]), [frame.time for frame in frames]


def assert_alike(seen: np.ndarray, shown: np.ndarray) -> None:
    assert seen.shape == shown.shape
    assert np.abs(seen.astype(int) - shown).mean(axis=(1, 2, 3)).max() < CODEC_ERROR


def test_pictures_come_back_in_order_and_in_time(tmp_path: Path):
    shown = pictures(25)
    seen, times = decoded(written(tmp_path / "new/folder/a.mp4", shown))
    assert_alike(seen, shown)
    np.testing.assert_allclose(times, np.arange(25) / FPS, atol=1e-9)
    # The neighbour is further away than the codec's error, so an order that is off by one would show.
    assert (
        np.abs(seen[1:].astype(int) - shown[:-1]).mean() > np.abs(seen[1:].astype(int) - shown[1:]).mean() + 1
    )


def test_it_is_what_browsers_and_lerobot_play(tmp_path: Path):
    path = written(tmp_path / "a.mp4", pictures(9), fps=30, keyframes=2)
    with av.open(str(path)) as file:
        stream = file.streams.video[0]
        assert (stream.codec.canonical_name, stream.pix_fmt, stream.average_rate) == (
            "h264",
            "yuv420p",
            Fraction(30),
        )
        assert [frame.key_frame for frame in file.decode(stream)] == [n % 2 == 0 for n in range(9)]
    assert path.read_bytes().index(b"moov") < path.read_bytes().index(b"mdat")


def test_an_odd_size_grows_by_its_edge(tmp_path: Path):
    shown = pictures(3, height=47, width=63)
    seen, _ = decoded(written(tmp_path / "a.mp4", shown))
    assert_alike(seen, np.pad(shown, [(0, 0), (0, 1), (0, 1), (0, 0)], mode="edge"))


def test_equal_pictures_give_equal_files(tmp_path: Path):
    first, second = (written(tmp_path / name, pictures(30)) for name in ("a.mp4", "b.mp4"))
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize(
    "picture",
    [np.zeros((48, 64, 3)), np.zeros((48, 64), dtype=np.uint8), np.zeros((48, 66, 3), dtype=np.uint8)],
)
def test_what_does_not_fit_is_refused_and_leaves_nothing(tmp_path: Path, picture: np.ndarray):
    with pytest.raises(ValueError, match=r"expected a .*frame"), VideoWriter(tmp_path / "a.mp4") as video:
        video.add(pictures(1)[0])
        video.add(picture)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def three(tmp_path: Path) -> list[Clip]:
    """Videos of 7, 12 and 5 pictures that go on where the one before ends."""
    shown, clips, start = pictures(24), [], 0
    for name, count in (("a", 7), ("b", 12), ("c", 5)):
        path = written(tmp_path / f"{name}.mp4", shown[start : start + count], keyframes=2)
        clips.append(Clip(path, 0, count))
        start += count
    return clips


def test_spliced_videos_show_the_same_pictures(tmp_path: Path, three: list[Clip]):
    splice(three, tmp_path / "all.mp4")
    seen, times = decoded(tmp_path / "all.mp4")
    assert np.array_equal(seen, np.concatenate([decoded(clip.path)[0] for clip in three]))
    np.testing.assert_allclose(times, np.arange(24) / FPS, atol=1e-9)


def test_a_clip_can_be_taken_out_and_put_back(tmp_path: Path, three: list[Clip]):
    whole = tmp_path / "all.mp4"
    splice(three, whole)
    splice([Clip(whole, 7, 12)], tmp_path / "middle.mp4")
    assert np.array_equal(decoded(tmp_path / "middle.mp4")[0], decoded(three[1].path)[0])
    again = [Clip(whole, 0, 7), Clip(tmp_path / "middle.mp4", 0, 12), Clip(whole, 19, 5)]
    splice(again, tmp_path / "again.mp4")
    assert (tmp_path / "again.mp4").read_bytes() == whole.read_bytes()


def test_what_cannot_be_spliced_is_one_line_and_leaves_nothing(tmp_path: Path, three: list[Clip]):
    other = written(tmp_path / "other.mp4", pictures(3, width=96))
    (tmp_path / "text.mp4").write_text("not a video")
    for clips, words in (
        ([three[0], Clip(three[1].path, 0, 13)], "b.mp4 ends before frame 12"),
        ([three[0], Clip(other, 0, 3)], "encoding differs"),
        ([Clip(tmp_path / "text.mp4", 0, 1)], "cannot be read"),
        ([three[0], Clip(tmp_path / "none.mp4", 0, 1)], "cannot be read"),
    ):
        with pytest.raises(AssayError, match=words) as caught:
            splice(clips, tmp_path / "all.mp4")
        assert "\n" not in str(caught.value)
        assert not list(tmp_path.glob("*all*"))
