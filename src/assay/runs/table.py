"""Episodes on the table."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from assay.experiments.spec import EpisodeSpec
from assay.policies.table import table_rollout
from assay.runs.episode import Episode, Path, nothing_happened
from assay.tabletop import Played, TablePolicy

START = (0.5, 0.0)
"""Where a path begins: the middle of the table, metres."""


class TableTroupe:
    """A policy that acts on tables. A table is made for each episode, which takes milliseconds."""

    def __init__(self, policy: TablePolicy) -> None:
        self._policy = policy

    def attempt(self, spec: EpisodeSpec, alive: Callable[[], None]) -> Episode:
        """Perform one episode. Raises what breaks outside the policy."""
        task = spec.realised_table()
        done = table_rollout(task, self._policy, spec, alive=alive)
        told = task.prompt.words
        if done.played is None:
            return Episode(done.outcome, 0, nothing_happened(), told, error=done.error, passing=done.passing)
        played = done.played
        return Episode(
            outcome=done.outcome,
            steps=len(played.actions),
            path=_path(played),
            instruction=told,
            decisions=played.decisions,
            touched=next((name for name in played.held if name), None),
            moved=played.moved or None,
            error="" if played.success else ", ".join(dict.fromkeys(filter(None, played.mistakes))),
        )

    def close(self) -> None:
        """Nothing is held."""


def _path(played: Played) -> Path:
    """Where each action let go, on the table, and what the actions were."""
    places = np.vstack([START, played.actions[:, 6:8]])
    hand = np.column_stack([places, np.zeros(len(places))]).astype(np.float32)
    return Path(hand, np.zeros(len(hand), np.float32), played.actions.astype(np.float32))
