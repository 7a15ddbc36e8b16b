"""Plays episodes one after the other for a harness, and records those that came to their end."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from assay.episodes import EpisodeSpec, Stepwise, world_of
from assay.episodes.world import Env
from assay.errors import PolicyError, StateError
from assay.runs.recording import record


class Player:
    """One process's environment, and the episode that is played in it."""

    def __init__(self, out: Path | None = None, states: Path | None = None) -> None:
        """``out``: the run to record in, which was begun; ``states``: LIBERO's folder of stored initial states."""
        self._out, self._states = out, states
        self._env: Env | None = None
        self._play: Stepwise | None = None
        self._begun = 0.0
        self._recorded = True

    def begin(self, spec: EpisodeSpec) -> Stepwise:
        """Begin an episode; one that has not come to its end, and was neither left nor abandoned, is forgotten."""
        if self._env is None:
            self._env = world_of(spec.task).open(self._states)
        self._begun, self._recorded = time.perf_counter(), True
        self._play = Stepwise(self._env, spec)
        self._recorded = False
        return self._play

    @property
    def play(self) -> Stepwise:
        """The episode. Raises StateError where none has begun."""
        if self._play is None:
            raise StateError("no episode has begun: call reset first")
        return self._play

    def end(self) -> None:
        """The harness is done with the episode, whether its goal is reached or not: record it."""
        if not self._recorded:
            self._record()

    def leave(self) -> None:
        """The harness goes on before the episode's time is over: if it acted at all, that is a failure, with a note."""
        if not self._recorded and self.play.steps:
            self._record(
                note=f"the script ended the episode after {self.play.steps} steps; usual are {self.play.horizon}"
            )

    def abandon(self, reason: str) -> None:
        """The harness broke off: record that, so that the episode is played again when the run is resumed."""
        if not self._recorded and self.play.steps:
            broken = PolicyError(reason)
            broken.transient = True
            self._record(reason, broken)

    def close(self) -> None:
        """Give back what the environment holds; another episode opens it again."""
        if self._env is not None:
            self._env.close()
        self._env = self._play = None
        self._recorded = True

    def _record(self, note: str = "", broken: PolicyError | None = None) -> None:
        self._recorded = True
        if self._out is not None:
            ended = self.play.ended(note, broken=broken)
            record(self._out, self.play.spec, replace(ended, seconds=time.perf_counter() - self._begun))
