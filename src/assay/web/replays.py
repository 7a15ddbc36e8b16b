"""Videos of episodes: the run's own, or one drawn on demand and kept in a temporary folder."""

from __future__ import annotations

import hashlib
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, Literal, Self

import numpy as np

from assay.episodes.spec import EpisodeSpec
from assay.errors import AssayError
from assay.files import scratch_folder
from assay.runs.episode_video import video_name
from assay.web.video_process import Order, VideoProcess

MOST_WAITING = 8
"""Videos that wait to be drawn; more are not begun."""
MOST_BYTES = 500_000_000
"""What all videos that were drawn may take; the oldest go."""
MOST_STEPS = 3_000
"""Longer episodes are not drawn."""


@dataclass(frozen=True, slots=True)
class Replay:
    """A video, or what becomes of it."""

    state: Literal["ready", "drawing", "waiting", "failed"]
    since: float = 0.0
    """When drawing began, or it was ordered: seconds of the clock."""
    said: str = ""
    """Why it failed, or what is odd about it."""
    path: Path | None = None
    """The file, when it is ready."""
    stride: float = 1
    """One frame for each so many steps."""

    def as_json(self) -> dict[str, Any]:
        """For the page that waits for it."""
        seconds = round(time.monotonic() - self.since) if self.since else 0
        return {"state": self.state, "seconds": seconds, "said": self.said, "stride": self.stride}


class Replays:
    """Draws and keeps videos; a context manager. What it drew is gone when it is closed."""

    def __init__(self) -> None:
        self._folder = scratch_folder(prefix="assay-ui-")
        self._videos = VideoProcess()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="videos")
        self._films: dict[str, Replay] = {}
        self._lock = Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)
        self._videos.close()
        self._thread.shutdown(wait=True)
        self._folder.cleanup()

    def video(
        self,
        spec: EpisodeSpec,
        actions: np.ndarray,
        outcome: str,
        error: str,
        *,
        states: Path | None = None,
        plugins: tuple[str, ...] = (),
    ) -> Replay:
        """The video of a recorded episode, ordered if it is new; ``actions`` (steps, action size)."""
        if not len(actions):
            return Replay("failed", said="No actions are recorded, so it cannot be played again.")
        if len(actions) > MOST_STEPS:
            return Replay(
                "failed", said=f"{len(actions)} steps are too many to draw here (at most {MOST_STEPS})."
            )
        content = spec.key.encode() + actions.tobytes() + outcome.encode() + error.encode()
        name = hashlib.sha256(content).hexdigest()[:32]
        with self._lock:
            known = self._films.get(name)
            if known is not None:
                return known
            waiting = Replay("waiting", time.monotonic())
            if sum(each.state == "waiting" for each in self._films.values()) < MOST_WAITING:
                self._films[name] = waiting
                order = Order(
                    spec, actions, outcome, error, Path(self._folder.name) / f"{name}.mp4", states, plugins
                )
                self._thread.submit(self._make, name, order)
            return waiting

    def _make(self, name: str, order: Order) -> None:
        with self._lock:
            self._films[name] = Replay("drawing", time.monotonic())
        try:
            said, stride = self._videos.render(order)
            made = Replay("ready", said=said, path=order.out, stride=stride)
        except AssayError as error:
            made = Replay("failed", said=str(error))
        with self._lock:
            self._films[name] = made
            self._forget()

    def _forget(self) -> None:
        """Let the oldest videos go while there are too many."""
        sizes = {
            name: each.path.stat().st_size
            for name, each in self._films.items()
            if each.path is not None and each.path.exists()
        }
        for name in list(sizes)[:-1]:
            if sum(sizes.values()) <= MOST_BYTES:
                break
            gone = self._films.pop(name).path
            assert gone is not None
            gone.unlink(missing_ok=True)
            del sizes[name]


def own_video(run: Path, spec: EpisodeSpec, outcome: str) -> Path | None:
    """The video that the run itself made of an episode, if it did."""
    folder = run.with_suffix(".videos").resolve()
    path = (folder / f"{video_name(spec)}_{outcome}.mp4").resolve()
    inside = path.is_relative_to(run.parent) and path.is_relative_to(folder)
    return path if inside and path.is_file() else None
