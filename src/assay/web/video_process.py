"""Plays a recorded episode again and writes its video, in a process of its own with a GL context of its own."""

from __future__ import annotations

import signal
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

import numpy as np

from assay import processes
from assay.episodes import WORLDS, Env, EpisodeSpec, world_of
from assay.errors import AssayError, RenderingError
from assay.plugins import import_module
from assay.runs.replay import write_video
from assay.sim import gl

FRAME_SECONDS = 0.1
"""At most one image for so much simulated time, seconds: rendering is by far the dearest."""
PATIENCE = 600.0
"""Seconds a video may take."""


@dataclass(frozen=True, slots=True, eq=False)
class Order:
    """A video to be made."""

    spec: EpisodeSpec
    actions: np.ndarray
    """(steps, action size)"""
    outcome: str
    """As it is recorded."""
    error: str
    """What broke, as it is recorded."""
    out: Path
    states: Path | None = None
    """The run's folder of stored initial states."""
    plugins: tuple[str, ...] = ()
    """Modules to import first."""


class VideoProcess:
    """One process that makes one video after the other; begun when it is first needed, replaced if it dies."""

    def __init__(self) -> None:
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None

    def render(self, order: Order) -> tuple[str, float]:
        """Make a video; returns what is to be said about it, and the steps between two of its frames.

        Raises RenderingError with the reason.
        """
        if self._process is None or self._pipe is None or not self._process.is_alive():
            self._begin()
        assert self._process is not None and self._pipe is not None
        try:
            self._pipe.send(order)
            if not self._pipe.poll(PATIENCE):
                self._process.kill()
                raise RenderingError(f"the video was not done within {PATIENCE:.0f} s")
            works, said = self._pipe.recv()
        except (EOFError, OSError):
            raise RenderingError("the process that draws died") from None
        if not works:
            raise RenderingError(str(said))
        return said  # type: ignore[no-any-return]

    def close(self) -> None:
        """End the process, whatever it is doing."""
        if self._process is not None:
            self._process.kill()
            self._process.join()

    def _begin(self) -> None:
        self._pipe, theirs = processes.context().Pipe()
        self._process = processes.start(_work, theirs)
        theirs.close()


def _work(pipe: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server; it ends us
    with suppress(EOFError, OSError):
        while True:
            order: Order = pipe.recv()
            try:
                for module in order.plugins:
                    import_module(module)
                pipe.send((True, write(order)))
            except Exception as error:
                kind = "" if isinstance(error, AssayError) else f"{type(error).__name__}: "
                pipe.send((False, " ".join(f"{kind}{error}".split())[:400]))


def write(order: Order) -> tuple[str, float]:
    """Replay an episode's actions from its initial state, and write its video.

    Returns a sentence if it did not end as it is recorded, which other assets or another MuJoCo can cause;
    and how many steps lie between two frames.
    """
    gl.backend()  # before the work, not after it
    spec = order.spec
    world = world_of(spec.task)
    env = _env(world.traits.name, order.states)
    every = max(1, round(FRAME_SECONDS / world.frame_seconds))
    result, stride = write_video(env, spec, order.actions, order.out, error=order.error, every=every)
    same = result.outcome == order.outcome and result.steps == len(order.actions)
    if same:
        return "", stride
    said = (
        f"Replayed it ends in {result.outcome} after {result.steps} steps; the record says "
        f"{order.outcome} after {len(order.actions)}: other assets, or another version of MuJoCo."
    )
    return said, stride


@lru_cache(maxsize=2)
def _env(world: str, states: Path | None) -> Env:
    """An episode and its control often share a compiled scene."""
    return WORLDS[world].open(states)
