"""Plays a recorded episode again and films it, in a process of its own with a GL context of its own."""

from __future__ import annotations

import multiprocessing
import signal
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path

import numpy as np

from assay.errors import AssayError, PolicyError, RenderingError
from assay.experiments.spec import EpisodeSpec
from assay.policies.control import initial_state
from assay.policies.rollout import rollout
from assay.runs.film import Film
from assay.sim import Observation, Simulation, compile_scene, gl, load_pack
from assay.tasks import Instruction, Scene
from assay.web.table_film import table_film

STRIDE = 2
"""One picture for each so many control steps: drawing is by far the dearest."""
PATIENCE = 600.0
"""Seconds a film may take."""


@dataclass(frozen=True, slots=True, eq=False)
class Order:
    """A film to be made."""

    spec: EpisodeSpec
    actions: np.ndarray
    """(steps, 7); on the table (steps, 12)"""
    outcome: str
    """As it is recorded."""
    error: str
    """What broke, as it is recorded."""
    out: Path


class Painter:
    """One process that makes one film after the other; begun when it is first needed, replaced if it dies."""

    def __init__(self) -> None:
        self._process: SpawnProcess | None = None
        self._pipe: Connection | None = None

    def paint(self, order: Order) -> str:
        """Make a film; returns what is to be said about it. Raises RenderingError with the reason."""
        if self._process is None or self._pipe is None or not self._process.is_alive():
            self._begin()
        assert self._process is not None and self._pipe is not None
        try:
            self._pipe.send(order)
            if not self._pipe.poll(PATIENCE):
                self._process.kill()
                raise RenderingError(f"the film was not done within {PATIENCE:.0f} s")
            works, said = self._pipe.recv()
        except (EOFError, OSError):
            raise RenderingError("the process that draws died") from None
        if not works:
            raise RenderingError(said)
        return str(said)

    def close(self) -> None:
        """End the process, whatever it is doing."""
        if self._process is not None:
            self._process.kill()
            self._process.join()

    def _begin(self) -> None:
        processes = multiprocessing.get_context("spawn")
        self._pipe, theirs = processes.Pipe()
        self._process = processes.Process(target=_work, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()


def _work(pipe: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server; it ends us
    with suppress(EOFError, OSError):
        while True:
            order: Order = pipe.recv()
            try:
                pipe.send((True, film(order)))
            except Exception as error:
                kind = "" if isinstance(error, AssayError) else f"{type(error).__name__}: "
                pipe.send((False, " ".join(f"{kind}{error}".split())[:400]))


def film(order: Order) -> str:
    """Play an episode's actions from its initial state, and film it.

    Returns a sentence if it did not end as it is recorded, which another asset pack or MuJoCo can cause.
    """
    gl.backend()  # before the work, not after it
    spec = order.spec
    if spec.on_table:
        return table_film(spec, order.actions, order.outcome, order.out)
    task = spec.realised()
    world = _world(task.scene, spec.pack)
    seen = Film(task, spec)
    recorded = _Recorded(order.actions, order.error, spec.horizon)

    def watch(observation: Observation) -> None:
        if observation.step % STRIDE == 0 or observation.step == len(order.actions):
            seen(observation)

    result = rollout(world, task, recorded, initial_state(world, spec), spec, watch=watch)
    same = result.outcome == order.outcome and result.steps == len(order.actions)
    seen.develop(order.out.parent, replace(result, error=order.error)).replace(order.out)
    if same:
        return ""
    return (
        f"Played again it ends in {result.outcome} after {result.steps} steps; the record says "
        f"{order.outcome} after {len(order.actions)}: other assets, or another version of MuJoCo."
    )


class _Recorded:
    """Does what was done."""

    def __init__(self, actions: np.ndarray, error: str, horizon: int) -> None:
        self._actions = actions
        self._error = error
        self.waiting = max(len(actions) - horizon, 0)
        """Steps beyond the horizon that the policy was given."""

    def reset(self, instruction: Instruction, spec: EpisodeSpec) -> None:
        """Nothing to prepare."""

    def act(self, observation: Observation) -> np.ndarray:
        """The next action of the record."""
        if observation.step >= len(self._actions):
            raise PolicyError(self._error or "the record ends here")
        return self._actions[observation.step : observation.step + 1]


@lru_cache(maxsize=2)
def _world(scene: Scene, pack: str) -> Simulation:
    """An episode and its control often share it."""
    return Simulation(compile_scene(scene, load_pack(pack)))
