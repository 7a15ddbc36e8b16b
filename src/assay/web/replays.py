"""Videos and stills of episodes: the run's own, or rendered on demand by child processes and cached as files.

Pages poll while they wait. A job that no page has asked for during `INTEREST_S`, queued or running, is abandoned, so
a user who moves on to another episode does not wait for the last one.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from queue import SimpleQueue
from threading import Lock
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from PIL import Image

from assay import __version__
from assay.episodes import WORLDS, Env, EpisodeSpec, world_of
from assay.errors import AssayError, RenderingError
from assay.runs.replay import EpisodeVideo, replay
from assay.sim import gl
from assay.sim.bare_mujoco import mujoco
from assay.support import processes
from assay.support.files import cache_folder, replacing
from assay.support.plugins import import_module

RENDER_PROCESSES = max(1, min(2, os.cpu_count() or 1))
"""Number of render processes; two render an episode and its control at the same time."""
MAX_CACHE_BYTES = 500_000_000
"""Maximum size of the cache folder, bytes; the least recently used files are deleted."""
MAX_STEPS = 3_000
"""Maximum number of steps of an episode that is rendered."""
INTEREST_S = 10.0
"""Seconds without a request after which a job is abandoned. Background tabs poll once a second."""
RENDER_TIMEOUT_S = 600.0
POLL_INTERVAL_S = 0.1
ROUGH_S, FINE_S = 1.0, 0.1
"""Simulated seconds between two frames: of the video that is shown first, and of the one that replaces it."""
JPEG_QUALITY = 85

Kind = Literal["video", "still"]


class _Files(NamedTuple):
    """The cached files of one episode."""

    poster: Path
    """The first frame, written before any video."""
    rough: Path
    fine: Path
    still: Path
    """The last frame."""
    note: Path
    """JSON: how the replay differed from the record. Absent if it did not."""

    def read_note(self) -> str:
        """The note, or an empty string."""
        try:
            return str(json.loads(self.note.read_text(encoding="utf-8")))
        except (OSError, ValueError):
            return ""


@dataclass(frozen=True, slots=True, eq=False)
class EpisodeRecording:
    """The part of a stored episode that is needed to replay it."""

    spec: EpisodeSpec
    actions: np.ndarray
    """Recorded actions, (steps, action size)."""
    outcome: str
    error: str = ""
    """The recorded error message, if the episode ended in an error."""
    states: Path | None = None
    """The run's folder of stored initial states."""
    plugins: tuple[str, ...] = ()
    """Modules to import before the replay."""
    own_video: Path | None = None
    """The video that the run itself recorded."""

    @property
    def name(self) -> str:
        """Hash of the episode, its assets and the versions that determine its frames."""
        about = "\0".join((self.spec.key, self.outcome, self.error, __version__, mujoco.__version__))
        content = about.encode() + _assets(self.spec.task, self.spec.pack).encode() + self.actions.tobytes()
        return hashlib.sha256(content).hexdigest()[:32]

    @property
    def problem(self) -> str:
        """Why the episode cannot be replayed; empty if it can."""
        if not len(self.actions):
            return "No actions are recorded, so the episode cannot be replayed."
        if len(self.actions) > MAX_STEPS:
            return f"{len(self.actions)} steps are too many to render here (at most {MAX_STEPS})."
        return ""


@dataclass(frozen=True, slots=True)
class RenderStatus:
    """A video or still, or the state of its rendering."""

    state: Literal["ready", "rendering", "waiting", "failed"]
    since: float = 0.0
    """When rendering started or was requested, seconds of the monotonic clock."""
    message: str = ""
    """Why it failed, or how the replay differs from the record."""
    path: Path | None = None
    poster: Path | None = None
    final: bool = True
    """False while a better video is being rendered."""

    def as_json(self) -> dict[str, Any]:
        """The status as the pages poll it."""
        return {
            "state": self.state,
            "seconds": round(time.monotonic() - self.since) if self.since else 0,
            "message": self.message,
            "final": self.final,
            "poster": self.poster is not None,
            "video": None if self.path is None else self.path.name,
        }


@dataclass(slots=True)
class _Job:
    """One video or still that was requested and is not finished."""

    episode: EpisodeRecording
    kind: Kind
    files: _Files
    since: float
    last_request: float
    is_running: bool = False
    future: Future[None] | None = None


class Replays:
    """Renders and caches videos and stills; a context manager that ends its child processes on exit."""

    def __init__(self, folder: Path | None = None, render_processes: int = RENDER_PROCESSES) -> None:
        """``folder``: the cache, by default in the user's cache folder."""
        self.folder = folder or cache_folder() / "videos"
        self._jobs: dict[tuple[str, Kind], _Job] = {}
        self._lock = Lock()
        self._is_closed = False
        self._threads = ThreadPoolExecutor(render_processes, "videos")
        self._idle: SimpleQueue[_RenderProcess] = SimpleQueue()
        self._processes = [_RenderProcess() for _ in range(render_processes)]
        for process in self._processes:
            self._idle.put(process)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._is_closed = True  # running jobs notice it and end their process
        self._threads.shutdown(cancel_futures=True)
        for process in self._processes:
            process.stop()

    def video(self, episode: EpisodeRecording) -> RenderStatus:
        """The best video of an episode so far; a better one is requested if there can be one."""
        if episode.problem:
            if episode.own_video is not None:
                return RenderStatus("ready", path=episode.own_video)
            return RenderStatus("failed", message=episode.problem)
        files = self._files(episode)
        poster = files.poster if files.poster.is_file() else None
        if files.fine.is_file():
            return self._touch_cached(files, files.fine, poster)
        status = self._request(episode, "video", files)
        has_failed = status.state == "failed"
        if episode.own_video is not None:
            return RenderStatus("ready", path=episode.own_video, poster=poster, final=has_failed)
        if files.rough.is_file():
            return RenderStatus("ready", 0.0, files.read_note(), files.rough, poster, final=has_failed)
        return RenderStatus(status.state, status.since, status.message, None, poster, final=has_failed)

    def video_named(self, episode: EpisodeRecording, name: str) -> Path | None:
        """One of the videos of an episode by its file name: a browser reads it in parts while a better one appears."""
        files = self._files(episode)
        videos = [path for path in (episode.own_video, files.rough, files.fine) if path is not None]
        return next((path for path in videos if path.name == name and path.is_file()), None)

    def still(self, episode: EpisodeRecording) -> RenderStatus:
        """The last frame of an episode."""
        if episode.problem:
            return RenderStatus("failed", message=episode.problem)
        files = self._files(episode)
        if files.still.is_file():
            return self._touch_cached(files, files.still, None)
        return self._request(episode, "still", files)

    def _files(self, episode: EpisodeRecording) -> _Files:
        endings = (".jpg", "-rough.mp4", ".mp4", "-end.jpg", ".json")
        return _Files(*(self.folder / f"{episode.name}{ending}" for ending in endings))

    def _touch_cached(self, files: _Files, path: Path, poster: Path | None) -> RenderStatus:
        for used in (path, files.note, files.poster):  # together, so that trimming keeps them together
            with suppress(OSError):
                os.utime(used)
        return RenderStatus("ready", 0.0, files.read_note(), path, poster)

    def _request(self, episode: EpisodeRecording, kind: Kind, files: _Files) -> RenderStatus:
        """Queue a job, or return the state of the queued one. A failure is reported once; the next request retries."""
        now, key = time.monotonic(), (episode.name, kind)
        with self._lock:
            job = self._jobs.get(key)
            if job is not None and job.future is not None and job.future.done():
                del self._jobs[key]
                error = job.future.exception()
                if error is not None and not isinstance(error, _AbandonedError):
                    return RenderStatus("failed", message=_describe(error))
                job = None
            if job is None:
                job = self._jobs[key] = _Job(episode, kind, files, now, now)
                job.future = self._threads.submit(self._run, job)
            job.last_request = now
            return RenderStatus("rendering" if job.is_running else "waiting", job.since)

    def _run(self, job: _Job) -> None:
        """Render one job in an idle child process; the thread pool has as many threads as there are processes."""

        def is_wanted() -> bool:
            return not self._is_closed and time.monotonic() - job.last_request < INTEREST_S

        if not is_wanted():
            raise _AbandonedError
        job.is_running, job.since = True, time.monotonic()
        process = self._idle.get()
        try:
            process.render(job, is_wanted)
        finally:
            self._idle.put(process)
        self._trim()

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


class _AbandonedError(RenderingError):
    """Raised when no page waits for the job any more."""


class _RenderProcess:
    """A child process with its own GL context; started on first use and replaced if it died. Used by one thread."""

    def __init__(self) -> None:
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None

    def render(self, job: _Job, is_wanted: Callable[[], bool]) -> None:
        """Write the files of a job. Raises RenderingError with the reason, `_AbandonedError` once it is not wanted."""
        if self._process is None or not self._process.is_alive():
            self._pipe, child_pipe = processes.context().Pipe()
            self._process = processes.start(_render_jobs, child_pipe)
            child_pipe.close()
        assert self._pipe is not None
        deadline = time.monotonic() + RENDER_TIMEOUT_S
        try:
            self._pipe.send((job.episode, job.kind, job.files))
            while not self._pipe.poll(POLL_INTERVAL_S):
                if not is_wanted():
                    self.stop()
                    raise _AbandonedError
                if time.monotonic() > deadline:
                    self.stop()
                    raise RenderingError(f"rendering took longer than {RENDER_TIMEOUT_S:.0f} s")
            error = self._pipe.recv()
        except (EOFError, OSError):
            self.stop()
            raise RenderingError("the process that renders ended unexpectedly") from None
        if error:
            raise RenderingError(error)

    def stop(self) -> None:
        """Kill the process, also in the middle of a job."""
        if self._process is not None:
            self._process.kill()
            self._process.join()


def _render_jobs(pipe: Connection) -> None:
    """The child process: for every job received, write its files and send back an error message or an empty string."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends this process
    with suppress(EOFError, OSError):
        while True:
            episode, kind, files = pipe.recv()
            try:
                _render(episode, kind, files)
            except Exception as error:  # reported on the page; the next job may work
                pipe.send(_describe(error))
            else:
                pipe.send("")


def _render(recorded: EpisodeRecording, kind: Kind, files: _Files) -> None:
    for module in recorded.plugins:
        import_module(module)
    gl.backend()  # fails before the simulation, not after it
    env = _env(world_of(recorded.spec.task).traits.name, recorded.states)
    video = EpisodeVideo(env, recorded.spec, seconds=FINE_S)

    def watch(observation: Any) -> None:
        video(observation)
        if observation.step == 0 and kind == "video":
            _save(video.picture(0), files.poster)

    episode = replay(env, recorded.spec, recorded.actions, error=recorded.error, watch=watch)
    if episode.outcome != recorded.outcome or episode.steps != len(recorded.actions):
        note = (
            f"The replay ended in {episode.outcome} after {episode.steps} steps, the recorded episode in "
            f"{recorded.outcome} after {len(recorded.actions)}: the assets or the MuJoCo version differ."
        )
        with replacing(files.note) as part:  # before the frames, so that no page shows them without it
            part.write_text(json.dumps(note), encoding="utf-8")
    if kind == "still":
        _save(video.picture(episode.steps), files.still)
        return
    if recorded.own_video is None and not files.rough.is_file():
        video.write(files.rough, episode, seconds=ROUGH_S)
    video.write(files.fine, episode, seconds=FINE_S)


def _save(picture: np.ndarray, path: Path) -> None:
    """Write an image (height, width, 3) as JPEG."""
    with replacing(path) as part:
        Image.fromarray(picture).save(part, "JPEG", quality=JPEG_QUALITY)


@lru_cache(maxsize=2)
def _env(world: str, states: Path | None) -> Env:
    """Return an environment, which is reused because an episode and its control often share a compiled scene."""
    return WORLDS[world].open(states)


def _describe(error: BaseException) -> str:
    kind = "" if isinstance(error, AssayError) else f"{type(error).__name__}: "
    return " ".join(f"{kind}{error}".split())[:400] or "rendering failed"


@lru_cache(maxsize=64)
def _assets(task: str, pack: str) -> str:
    """Digest of the assets of a task; empty if they are not installed."""
    try:
        return world_of(task).digest(pack)
    except AssayError:
        return ""
