"""Moments of demonstrations: what was to be seen, what was to be done, and what the demonstrator did next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from assay.episodes import EpisodeSpec, Instruction, Outcome, rollout
from assay.errors import PolicyError
from assay.policies.control import control
from assay.policies.oracle.policy import Oracle
from assay.sim import Observation
from assay.support.streams import stream

AHEAD = 5
"""How many of the demonstrator's next actions are compared: a quarter of a second."""
MOVES = 0.3
"""Length of the mean translation, of 1, from which on a demonstrator is said to go somewhere."""


@dataclass(frozen=True, slots=True, eq=False)
class DemonstratedStep:
    """A step of a demonstration: what was seen, and what the demonstrator did from there on."""

    spec: EpisodeSpec
    instruction: Instruction
    observation: Observation
    actions: np.ndarray
    """What the demonstrator did from here on, (AHEAD, 7), within [-1, 1]."""


def moments(tasks: Sequence[str], seeds: Sequence[int], pack: str, count: int) -> list[DemonstratedStep]:
    """At most ``count`` moments at which the oracle goes somewhere, from all tasks and seeds alike, in random order.

    Raises PolicyError if it shows none.
    """
    shown = [list(_shown(EpisodeSpec(task, seed, pack))) for task in tasks for seed in seeds]
    found = [moment for episode in shown for moment in _spread(episode, -(-count // max(len(shown), 1)))]
    if not found:
        raise PolicyError(
            f"the oracle has nothing to show: it solves none of {', '.join(tasks)} from these seeds"
        )
    order = stream("probe", "moments", *tasks).permutation(len(found))
    return [found[number] for number in order[:count]]


def _shown(spec: EpisodeSpec) -> Iterator[DemonstratedStep]:
    """The moments of an episode of the oracle's, if it succeeds."""
    seen: list[Observation] = []
    env = control(spec)
    episode = rollout(env, Oracle(), spec, watch=seen.append)
    if episode.outcome is not Outcome.SUCCESS:
        return
    actions = np.clip(episode.trajectory.actions, -1.0, 1.0)
    for step in range(len(actions) - AHEAD):
        ahead = actions[step : step + AHEAD]
        if np.linalg.norm(ahead[:, :3].mean(axis=0)) > MOVES:
            yield DemonstratedStep(spec, env.task.instruction, seen[step], ahead)


def _spread(episode: Sequence[DemonstratedStep], count: int) -> Iterator[DemonstratedStep]:
    """So many moments of an episode, as far apart as possible."""
    for number in np.unique(np.linspace(0, len(episode) - 1, count).round().astype(int)) if episode else ():
        yield episode[number]
