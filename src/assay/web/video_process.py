"""Plays a recorded episode again and draws it, in a process of its own with a GL context of its own."""

from __future__ import annotations

import importlib
import json
import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Lock
from typing import Any, Literal

import numpy as np
from PIL import Image

from assay.episodes import WORLDS, Env, Episode, EpisodeSpec, world_of
from assay.errors import AssayError, RenderingError
from assay.runs.episode_video import EpisodeVideo
from assay.runs.replay import replay
from assay.sim import gl
from assay.support import processes
from assay.support.files import replacing
from assay.support.plugins import import_module

ROUGH, FINE = 1.0, 0.1
"""One picture for so much simulated time, seconds: in the video that is shown first, and in the one after it."""
PATIENCE = 600.0
"""Seconds a video may take."""
QUALITY = 85
"""Of stills, as JPEG counts it."""

HURRY = "hurry"
"""Sent to a process that is drawing: somebody waits for something else."""

Kind = Literal["rough", "fine", "still"]
"""Videos of few and of many pictures; how the episode ended."""


@dataclass(frozen=True, slots=True, eq=False)
class Order:
    """Something to be drawn."""

    kind: Kind
    name: str
    """Of the episode: equal names are equal episodes."""
    spec: EpisodeSpec
    actions: np.ndarray
    """(steps, action size)"""
    outcome: str
    """As it is recorded."""
    error: str
    """What broke, as it is recorded."""
    out: Path
    poster: Path | None = None
    """Where its first picture goes, at once."""
    states: Path | None = None
    """The run's folder of stored initial states."""
    plugins: tuple[str, ...] = ()
    """Modules to import first."""


class DiedError(RenderingError):
    """The process that draws ended, for whatever reason: memory, a signal, a driver."""


class PutOffError(RenderingError):
    """What was being drawn gives way to what somebody waits for; it is to be ordered again."""


class VideoProcess:
    """One process that draws one order after the other; begun when it is first needed, replaced if it dies."""

    def __init__(self) -> None:
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None
        self._sending, self._starting = Lock(), Lock()
        self._drawing = self._closed = False

    def hurry(self) -> bool:
        """Let what is being drawn be put off, if it is a video of many pictures; False where it has not begun."""
        with self._sending, suppress(OSError):  # it died: who waits for it is told
            if self._pipe is not None and self._drawing:
                self._pipe.send(HURRY)
                return True
        return False

    def render(self, order: Order) -> str:
        """Draw; returns what is to be said about it.

        Raises RenderingError with the reason; DiedError and PutOffError are such.
        """
        self.begin()
        assert self._process is not None and self._pipe is not None
        try:
            with self._sending:
                self._pipe.send(order)
                self._drawing = True
            if not self._pipe.poll(PATIENCE):
                self._process.kill()
                self._process.join()  # or the next order would be given to it
                raise RenderingError(f"the video was not done within {PATIENCE:.0f} s")
            works, said = self._pipe.recv()
        except (EOFError, OSError):
            self._process.join(1.0)  # or the next order would be given to it
            raise DiedError("the process that draws died") from None
        finally:
            with self._sending:
                self._drawing = False
        if works is None:
            raise PutOffError(str(said))
        if not works:
            raise RenderingError(str(said))
        return str(said)

    def begin(self) -> None:
        """Start the process, unless it is there. Raises RenderingError once it was closed."""
        with self._starting:
            if self._closed:
                raise RenderingError("nothing is drawn any more")
            if self._process is None or not self._process.is_alive():
                self._pipe, theirs = processes.context().Pipe()
                self._process = processes.start(_work, theirs)
                theirs.close()

    def close(self) -> None:
        """End the process, whatever it is doing, for good."""
        with self._starting:
            self._closed = True
        if self._process is not None:
            self._process.kill()
            self._process.join()


@dataclass(frozen=True, slots=True, eq=False)
class _Played:
    """An episode that was played again, as its pictures need it."""

    name: str
    video: EpisodeVideo
    episode: Episode


class Drawer:
    """Draws orders; remembers the episode that it played last, whose other pictures need no second play."""

    def __init__(self, hurry: Callable[[], bool] = lambda: False) -> None:
        """``hurry``: whether a video of many pictures is to be put off."""
        self._latest: _Played | None = None
        self._hurry = hurry

    def __call__(self, order: Order) -> str:
        """Draw one order. Returns a sentence if the episode did not end as it is recorded."""
        gl.backend()  # before the work, not after it
        if self._latest is None or self._latest.name != order.name:
            self._latest = None  # an old video holds its simulation
            self._latest = _play(order)
        video, episode = self._latest.video, self._latest.episode
        said = ""
        if episode.outcome != order.outcome or episode.steps != len(order.actions):
            said = (
                f"Replayed it ends in {episode.outcome} after {episode.steps} steps; the record says "
                f"{order.outcome} after {len(order.actions)}: other assets, or another version of MuJoCo."
            )
            with replacing(note_file(order.out)) as part:  # before the picture: whoever finds that finds this
                part.write_text(json.dumps(said), encoding="utf-8")
        if order.kind == "still":
            save(video.picture(episode.steps), order.out)
        elif order.kind == "rough":
            video.write(order.out, episode, seconds=ROUGH)
        else:
            video.write(order.out, episode, seconds=FINE, before_each=self._give_way)
        return said

    def _give_way(self) -> None:
        if self._hurry():
            raise PutOffError("put off")


def note_file(path: Path) -> Path:
    """Where it is kept what is odd about something that was drawn."""
    return path.with_suffix(".json")


def save(picture: np.ndarray, path: Path) -> None:
    """Write a picture (height, width, 3) as JPEG."""
    with replacing(path) as part:
        Image.fromarray(picture).save(part, "JPEG", quality=QUALITY)


def _play(order: Order) -> _Played:
    env = _env(world_of(order.spec.task).traits.name, order.states)
    video = EpisodeVideo(env, order.spec, seconds=FINE)

    def watch(observation: Any) -> None:
        video(observation)
        if observation.step == 0 and order.poster is not None:
            save(video.picture(0), order.poster)

    return _Played(order.name, video, replay(env, order.spec, order.actions, error=order.error, watch=watch))


def _work(pipe: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server; it ends us
    draw: Callable[[Order], str] = Drawer(lambda: pipe.poll() and pipe.recv() == HURRY)
    with suppress(AssayError):  # told with the first order
        gl.backend()
    importlib.import_module("assay.support.video")  # now, not while somebody waits for the first video
    with suppress(EOFError, OSError):
        while True:
            order = pipe.recv()
            if order == HURRY:  # too late: what it was about is drawn
                continue
            try:
                for module in order.plugins:
                    import_module(module)
                pipe.send((True, draw(order)))
            except PutOffError as error:
                pipe.send((None, str(error)))
            except Exception as error:
                kind = "" if isinstance(error, AssayError) else f"{type(error).__name__}: "
                pipe.send((False, " ".join(f"{kind}{error}".split())[:400]))


@lru_cache(maxsize=2)
def _env(world: str, states: Path | None) -> Env:
    """An episode and its control often share a compiled scene."""
    return WORLDS[world].open(states)
