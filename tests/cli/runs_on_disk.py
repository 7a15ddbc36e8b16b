"""Runs with known outcomes, written to a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from assay.episodes import CONTROL, Episode, EpisodeSpec, Outcome, no_trajectory
from assay.perturb import Say
from assay.runs.store import Store


def write_run(path: Path, wins: Mapping[str, Sequence[bool | None]], first: int = 0, **meta: object) -> Path:
    """Write a run with outcomes by condition, one for each seed; None for an episode that was not executed."""
    with Store.writing(path) as store:
        store.describe(**meta)
        store.plan(
            EpisodeSpec(
                "libero_goal/1", seed, condition=name, perturbations=() if name == CONTROL else (Say(name),)
            )
            for name, several in wins.items()
            for seed in range(first, first + len(several))
        )
        for waiting in store.todo():
            if (win := wins[waiting.condition][waiting.seed - first]) is not None:
                outcome = Outcome.SUCCESS if win else Outcome.FAILURE
                store.append(waiting.number, Episode(outcome, 100, no_trajectory(), "do it"))
    return path
