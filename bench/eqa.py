"""Action questions: reading and filtering images, and building questions from prepared pairs."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np

from assay.extensions.eqa.build import write_questions
from assay.extensions.eqa.drafts import plan_drafts
from assay.extensions.eqa.episode import SourceEpisode, Tally, VideoCamera
from assay.extensions.eqa.pairs import PreparedEpisode, image_flaw, prepare_episode
from assay.extensions.eqa.question import QuestionKind
from assay.extensions.eqa.sources.schema import NEAR
from assay.extensions.eqa.views import CameraView
from assay.support.video import VideoWriter
from bench.figure import Figure

SIZE = 256
EPISODES, FRAMES = 8, 250
TOTAL = 8_795
PER_KIND = -(-TOTAL // len(QuestionKind)) + 30
"""Number of candidates: slightly more than questions, because options that look the same are dropped."""
FILMED = 700
"""Number of source episodes."""
THREADS = 2


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        return [_reading(Path(folder)), _building(Path(folder))]


def _reading(folder: Path) -> Figure:
    """Decode and judge every frame of every episode."""
    cameras = []
    for number in range(EPISODES):
        path = folder / f"{number}.mp4"
        with VideoWriter(path) as video:
            for frame, state in enumerate(_walk(number, FRAMES)):
                video.add(_noisy(_picture(state), frame))
        cameras.append(VideoCamera(path, 0.0, 20.0))

    def judged(camera: VideoCamera) -> int:
        return sum(image_flaw(picture, NEAR) == "" for picture in camera.read(range(FRAMES), grey=True))

    image_flaw(
        cameras[0].read([0], grey=True)[0], NEAR
    )  # compiled, or read from the disk, once in a program's life
    start = time.perf_counter()
    with ThreadPoolExecutor(THREADS) as pool:
        good = sum(pool.map(judged, cameras))
    seconds = time.perf_counter() - start
    assert good == EPISODES * FRAMES
    what = f"reading every {SIZE} x {SIZE} frame from video and filtering it, {THREADS} threads"
    return Figure(what, good / seconds, "per s", 2_000.0, at_most=False)


def _building(folder: Path) -> Figure:
    source = _Filmed()
    ready = list(source.ready())
    start = time.perf_counter()
    drafts = plan_drafts(ready, source.rules, dict.fromkeys(QuestionKind, PER_KIND), 0, source.name)
    made = write_questions(folder, source, ready, drafts, [CameraView.parse("exo")], tally=Tally())
    seconds = time.perf_counter() - start
    count = sum(len(each) for each in made.values())
    assert count >= TOTAL, {kind: len(each) for kind, each in made.items()}
    return Figure(f"writing {count} questions from prepared pairs, with images", seconds, "s", 120.0)


class _Filmed:
    name, rules, threads, total = "bench", NEAR, THREADS, FILMED

    def episodes(self, tally: Tally) -> Iterator[SourceEpisode]:
        for number in range(FILMED):
            states = _walk(number, 40)
            camera = _Drawn(states)
            yield SourceEpisode(
                str(number), f"task {number % 9}", states, (camera,), scene=f"scene {number // 9}"
            )

    def ready(self) -> Iterator[PreparedEpisode]:
        for number, episode in enumerate(self.episodes(Tally())):
            seen = (_Noise(number),)
            small = SourceEpisode(episode.id, episode.instruction, episode.states, seen, scene=episode.scene)
            result = prepare_episode(small, NEAR, CameraView.parse("exo"), Tally())
            assert result is not None
            yield replace(result, episode=episode)


class _Drawn:
    """A camera that returns a different image for each frame without rendering."""

    def __init__(self, states: np.ndarray) -> None:
        self._states = states

    def read(self, frames: Sequence[int], *, grey: bool = False) -> list[np.ndarray]:
        pictures = [_picture(self._states[frame]) for frame in frames]
        return [picture[..., 0] for picture in pictures] if grey else pictures


class _Noise:
    """Return small valid images, different for each episode, because preparation is not measured here."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def read(self, frames: Sequence[int], *, grey: bool = False) -> list[np.ndarray]:
        return list(
            np.random.default_rng(self._seed).integers(0, 256, (len(frames), 16, 16)).astype(np.uint8)
        )


def _walk(seed: int, frames: int) -> np.ndarray:
    """Return states (frames, 7) of an end effector that moves between positions, three dimensions at a time."""
    rng = np.random.default_rng(seed)
    low, high = np.array([[0.2, -0.3, 0.0, -30, -30, -60, 0.0], [0.6, 0.3, 0.4, 30, 30, 60, 1.0]])
    places = [rng.uniform(low, high)]
    for _ in range(7):
        place = places[-1].copy()
        axes = rng.choice(7, 3, replace=False)
        place[axes] = np.where(place[axes] > (low + high)[axes] / 2, low[axes], high[axes])
        places.append(place)
    times = np.linspace(0, 7, frames)
    return np.column_stack([np.interp(times, range(8), column) for column in np.transpose(places)])


_TABLE = np.repeat(
    np.kron(np.random.default_rng(7).integers(60, 200, (64, 64, 1)), np.ones((4, 4, 1))).astype(np.uint8),
    3,
    axis=-1,
)


def _picture(state: np.ndarray) -> np.ndarray:
    picture = _TABLE.copy()
    x, y = int((0.3 - state[1]) / 0.6 * 200), int((0.6 - state[0]) / 0.4 * 200)
    picture[y : y + 48, x : x + 48] = (220, 40, int(200 * state[6]))
    for row, length in enumerate((state[2] / 0.4, *((state[3:6] + 60.0) / 120.0))):
        picture[8 * row : 8 * row + 8, : int(length * 250) + 1] = 250
    return picture


def _noisy(picture: np.ndarray, seed: int) -> np.ndarray:
    """Return noisy images, so that their video is as large as one of a real robot."""
    noise = np.random.default_rng(seed).integers(-8, 9, (64, SIZE, 1))
    picture[-64:] = np.clip(picture[-64:] + noise, 0, 255)
    return picture


if __name__ == "__main__":
    for each in measure():
        print(each.what, each.measured, each.target)
