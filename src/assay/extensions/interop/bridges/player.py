"""Runs episodes one after another for an evaluation harness, and records the finished ones."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from assay.episodes import Env, EpisodeSpec, Stepwise, world_of
from assay.errors import PolicyError, StateError
from assay.policies.simple import STILL
from assay.runs.recording import record


class HarnessPlayer:
    """Runs episodes for an evaluation harness in a single environment, which is reused."""

    def __init__(self, out: Path | None = None, states: Path | None = None) -> None:
        """Create a player that records to the existing run ``out``; ``states`` is LIBERO's folder of initial states."""
        self._out, self._states = out, states
        self._env: Env | None = None
        self._play: Stepwise | None = None
        self._start_time = 0.0
        self._recorded = True

    def begin(self, spec: EpisodeSpec, wait: int = 0) -> Stepwise:
        """Start an episode with ``wait`` idle steps, which do not count towards its horizon.

        An unfinished episode is discarded unless `leave` or `abandon` has recorded it.
        """
        if self._env is None:
            self._env = world_of(spec.task).open(self._states)
        self._start_time, self._recorded = time.perf_counter(), True
        self._play = Stepwise(self._env, spec)
        self._recorded = False
        self._play.horizon += wait
        for _ in range(wait):
            self._play.step(STILL)
        return self._play

    @property
    def play(self) -> Stepwise:
        """The current episode. Raises StateError before the first episode."""
        if self._play is None:
            raise StateError("no episode has started: call reset first")
        return self._play

    def end(self) -> None:
        """Record the episode with its outcome so far."""
        if not self._recorded:
            self._record()

    def leave(self) -> None:
        """Record an episode that the harness ended early as a failure with a note, if it had at least one step."""
        if not self._recorded and self.play.steps:
            self._record(
                note=f"the script ended the episode after {self.play.steps} of {self.play.horizon} steps"
            )

    def abandon(self, reason: str) -> None:
        """Record that the harness aborted the episode, so that a resumed run repeats it."""
        if not self._recorded and self.play.steps:
            broken = PolicyError(reason)
            broken.transient = True
            self._record(reason, broken)

    def close(self) -> None:
        """Release the environment; it is reopened for the next episode."""
        if self._env is not None:
            self._env.close()
        self._env = self._play = None
        self._recorded = True

    def _record(self, note: str = "", broken: PolicyError | None = None) -> None:
        self._recorded = True
        if self._out is not None:
            ended = self.play.finish(note, broken=broken)
            record(self._out, self.play.spec, replace(ended, seconds=time.perf_counter() - self._start_time))
