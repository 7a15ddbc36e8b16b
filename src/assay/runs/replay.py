"""Recorded actions, played again: the same spec, assets and MuJoCo give the same rollout."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from assay.episodes import Env, Episode, EpisodeSpec, Instruction, rollout, world_of
from assay.errors import PolicyError
from assay.runs.episode_video import EpisodeVideo


class Recorded:
    """A policy that does what was done."""

    def __init__(self, actions: np.ndarray, error: str, horizon: int) -> None:
        """``actions`` (steps, action size); ``error``: what broke then, where something did."""
        self._actions, self._error = actions, error
        self.waiting = max(len(actions) - horizon, 0)
        """Steps beyond the horizon that the policy was given."""

    def reset(self, instruction: Instruction, spec: EpisodeSpec) -> None:
        """Nothing to prepare."""

    def act(self, observation: Any) -> np.ndarray:
        """The next action of the record."""
        if observation.step >= len(self._actions):
            raise PolicyError(self._error or "the record ends here")
        return self._actions[observation.step : observation.step + 1]


def replay(
    env: Env,
    spec: EpisodeSpec,
    actions: np.ndarray,
    *,
    error: str = "",
    watch: Callable[[Any], None] = lambda observation: None,
) -> Episode:
    """Play recorded ``actions`` (steps, action size) from the start of their episode."""
    at_once = replace(spec, latency=0)  # what was done while the policy thought is among the actions
    return rollout(env, Recorded(actions, error, world_of(spec.task).horizon(spec)), at_once, watch=watch)


def write_video(env: Env, spec: EpisodeSpec, actions: np.ndarray, out: Path, *, error: str = "") -> Episode:
    """Replay and video, with a picture for every step."""
    video = EpisodeVideo(env, spec)
    episode = replay(env, spec, actions, error=error, watch=video)
    out.parent.mkdir(parents=True, exist_ok=True)
    video.write(out, episode)
    return episode
