"""Videos and last frames of episodes: videos recorded by the run, or files rendered on demand and cached.

One child process with a separate GL context renders one file at a time. Pages poll while they wait. A queued file that
no page has requested for `INTEREST_S` is dropped, so that a user who moves on does not wait for the previous
page's files.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import time
from concurrent.futures import CancelledError, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any, Literal, Self

import numpy as np
from PIL import Image

from assay import __version__
from assay.episodes import WORLDS, Env, EpisodeSpec, world_of
from assay.errors import AssayError, one_line
from assay.runs.replay import EpisodeVideo, replay
from assay.sim import gl
from assay.sim.bare_mujoco import mujoco
from assay.support import processes
from assay.support.files import cache_folder, replacing
from assay.support.plugins import load_plugins

MAX_CACHE_BYTES = 500_000_000
"""Maximum size of the cache folder, in bytes; the least recently used files are deleted."""
INTEREST_S = 10.0
"""Time without a request after which a queued file is dropped, in seconds. Background tabs poll once per second."""
FRAME_S = 0.1
"""Simulated time between two frames of a video, in seconds."""
VIDEO, STILL, NOTE = ".mp4", "-end.jpg", ".json"
"""Suffixes of an episode's cached files: video, last frame, and note on how the replay differs."""


@dataclass(frozen=True, slots=True, eq=False)
class EpisodeRecording:
    """The part of a stored episode that is needed to replay it."""

    spec: EpisodeSpec
    actions: np.ndarray
    """Recorded actions, of shape (steps, action size)."""
    outcome: str
    error: str = ""
    """Recorded error message, if the episode ended in an error."""
    states: Path | None = None
    """Folder in which the run stores initial states."""
    plugins: tuple[dict[str, Any], ...] = ()
    """Plugins that the run used; those that are trusted are imported before the replay."""
    own_video: Path | None = None
    """Video recorded by the run."""

    @property
    def name(self) -> str:
        """Hash of the episode, its assets and the versions that determine its frames."""
        about = "\0".join((self.spec.key, self.outcome, self.error, __version__, mujoco.__version__))
        content = about.encode() + _assets(self.spec.task, self.spec.pack).encode() + self.actions.tobytes()
        return hashlib.sha256(content).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class RenderStatus:
    """A video or still image, or the state of its rendering."""

    state: Literal["ready", "rendering", "waiting", "failed"]
    since: float = 0.0
    """Time of the first request, in seconds of the monotonic clock."""
    message: str = ""
    """Reason why rendering failed, or a note on how the replay differs from the recording."""
    path: Path | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the status as a JSON object for polling pages."""
        seconds = round(time.monotonic() - self.since) if self.since else 0
        return {"state": self.state, "seconds": seconds, "message": self.message}


@dataclass(slots=True)
class _Job:
    """A requested file that has not been rendered yet."""

    future: Future[None]
    since: float
    last_request: float


class Replays:
    """Renderer and cache of videos and stills; a context manager that ends its child process on exit."""

    def __init__(self, folder: Path | None = None) -> None:
        """Initialise without starting a process; ``folder`` is the cache, by default in the user's cache folder."""
        self.folder = folder or cache_folder() / "videos"
        self._jobs: dict[Path, _Job] = {}
        self._lock = Lock()
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._pool is not None:
            for child in list(self._pool._processes.values()):
                child.kill()  # a video may take a minute, and the pool has no way to interrupt it
            self._pool.shutdown(cancel_futures=True)

    def find(self, episode: EpisodeRecording, ending: str) -> RenderStatus:
        """Return the video or last frame of an episode, or the state of its rendering, which is started if necessary.

        ``ending`` is `VIDEO` or `STILL`. A failure is reported once; the next request starts a new attempt.
        """
        if ending == VIDEO and episode.own_video is not None:
            return RenderStatus("ready", path=episode.own_video)
        if not len(episode.actions):
            problem = "No actions are recorded, so the episode cannot be replayed."
            return RenderStatus("failed", message=problem)
        path, note = (self.folder / f"{episode.name}{end}" for end in (ending, NOTE))
        if path.is_file():
            message = ""
            with suppress(OSError, ValueError):
                os.utime(path)
                message = json.loads(note.read_text(encoding="utf-8"))
                os.utime(note)
            return RenderStatus("ready", message=message, path=path)
        now = time.monotonic()
        with self._lock:
            for queued in self._jobs.values():
                if now - queued.last_request > INTEREST_S:
                    queued.future.cancel()
            job = self._jobs.get(path)
            if job is None:
                self._trim()
                job = self._jobs[path] = _Job(self._submit(episode, ending), now, now)
            elif job.future.done():
                del self._jobs[path]
                try:
                    job.future.result()
                except CancelledError:
                    pass
                except BrokenProcessPool:
                    return RenderStatus("failed", message="the rendering process ended unexpectedly")
                except Exception as error:
                    reason = str(error) if isinstance(error, AssayError) else error
                    return RenderStatus("failed", message=one_line(reason, 400))
            job.last_request = now
            return RenderStatus("rendering" if job.future.running() else "waiting", job.since)

    def _submit(self, episode: EpisodeRecording, ending: str) -> Future[None]:
        """Queue a file, starting the child process if none exists or if it has died."""
        if self._pool is not None:
            with suppress(BrokenProcessPool):
                return self._pool.submit(_render, episode, self.folder, ending)
        self._pool = processes.pool(1, _ignore_interrupts)
        return self._pool.submit(_render, episode, self.folder, ending)

    def _trim(self) -> None:
        """Delete the least recently used files while the cache is too large."""
        with suppress(OSError):
            files = [(path.stat(), path) for path in self.folder.iterdir() if not path.name.startswith(".")]
            total = sum(stat.st_size for stat, _ in files)
            for stat, path in sorted(files, key=lambda file: file[0].st_mtime):
                if total <= MAX_CACHE_BYTES:
                    return
                path.unlink(missing_ok=True)
                total -= stat.st_size


def _ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends the child process


def _render(recorded: EpisodeRecording, folder: Path, ending: str) -> None:
    """Write the video or the last frame of an episode. Runs in the child process."""
    load_plugins(recorded.plugins)
    gl.backend()  # fails before the simulation, not after it
    env = _open_env(world_of(recorded.spec.task).traits.name, recorded.states)
    video = EpisodeVideo(env, recorded.spec, seconds=FRAME_S)
    episode = replay(env, recorded.spec, recorded.actions, error=recorded.error, watch=video)
    if episode.outcome != recorded.outcome or episode.steps != len(recorded.actions):
        note = (
            f"The replay ended in {episode.outcome} after {episode.steps} steps, but the recorded episode ended in "
            f"{recorded.outcome} after {len(recorded.actions)}: the assets or the MuJoCo version differ."
        )
        with replacing(folder / f"{recorded.name}{NOTE}") as part:  # first, so that no page misses it
            part.write_text(json.dumps(note), encoding="utf-8")
    path = folder / f"{recorded.name}{ending}"
    if ending == VIDEO:
        video.write(path, episode)
    else:
        with replacing(path) as part:
            Image.fromarray(env.frame(video.last)).save(part, "JPEG", quality=85)


@lru_cache(maxsize=2)
def _open_env(world: str, states: Path | None) -> Env:
    """Return an environment, cached because an episode and its control often share a compiled scene."""
    return WORLDS[world].open(states)


@lru_cache(maxsize=64)
def _assets(task: str, pack: str) -> str:
    """Return the digest of a task's assets, or an empty string if they are not installed."""
    try:
        return world_of(task).digest(pack)
    except AssayError:
        return ""
