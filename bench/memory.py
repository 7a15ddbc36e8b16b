"""The memorisation index of policies that replay, follow the target, or do both, at several noise levels."""

from __future__ import annotations

import json

import numpy as np
import polars as pl

from assay.measures.memory.memorisation import Memorisation, memorisation
from assay.measures.memory.paths import Paths
from bench.figure import Figure

TASKS, SEEDS, STEPS = 4, 10, 120
HORIZON = 300
MOVED = 0.2
"""Noise levels, metres."""


def measure() -> list[Figure]:
    """Measure how often trajectories are mistaken for the control's, and errors of the estimated replay fraction."""
    found = []
    for noise in (0.004, 0.015, 0.03):
        index = np.mean([_run(seed, noise, 0.0).overall.index for seed in range(5)])
        found.append(
            Figure(
                f"index of a policy that follows the target, noise {1000 * noise:.0f} mm",
                float(index),
                "of 1",
                0.05,
            )
        )
    index = np.mean([_run(seed, 0.015, 0.0, 1.3, 20).overall.index for seed in range(5)])
    found.append(
        Figure(
            "index of a policy that follows the target, 30 % slower and 20 steps later",
            float(index),
            "of 1",
            0.05,
        )
    )
    for what, slower, later in (
        ("", 1.0, 0),
        (", 15 % slower", 1.15, 0),
        (", 30 % slower", 1.3, 0),
        (", 10 steps later", 1.0, 10),
        (", 20 steps later", 1.0, 20),
        (", 30 % slower and 20 steps later", 1.3, 20),
    ):
        index = np.mean([_run(seed, 0.008, 1.0, slower, later).overall.index for seed in range(3)])
        found.append(
            Figure(f"index of a policy that replays{what}", float(index), "of 1", 0.85, at_most=False)
        )
    for share, bound in ((0.0, 5.0), (0.2, 80.0), (0.5, 95.0)):
        told = np.mean([_run(seed, 0.008, share).overall.p < 0.05 for seed in range(20)])
        found.append(
            Figure(
                f"estimated fraction of replays if {share:.0%} of the episodes are replays",
                100 * told,
                "%",
                bound,
                at_most=not share,
            )
        )
    return found


def _run(
    seed: int, noise: float, replays: float, slower: float = 1.0, later: int = 0, each: int = 5
) -> Memorisation:
    """Return the index of a policy that replays a fraction of its perturbed episodes, with small variations."""
    rng = np.random.default_rng(seed)
    places = rng.uniform(-0.25, 0.25, size=(TASKS, 2, 3)) + np.array([0.0, 0.0, 0.3])
    rows: list[dict[str, object]] = []
    hands = {}
    for task in range(TASKS):
        for start in range(SEEDS):
            stands = places[task, 0] + rng.normal(scale=0.005, size=3)
            for number in range(each + 1):
                moved, again = np.zeros(3), number == 0 or rng.random() < replays
                if number:
                    angle = rng.uniform(0, 2 * np.pi)
                    moved = MOVED * np.array([np.cos(angle), np.sin(angle), 0.0])
                goes = stands if again else stands + moved
                identity = len(rows)
                hesitates = (slower, later) if number else (1.0, 0)
                hands[identity] = _path(rng, goes, places[task, 1], noise, *hesitates, failing=number > 0)
                rows.append(
                    {
                        "id": identity,
                        "task": f"task/{task}",
                        "seed": start,
                        "start": start,
                        "condition": f"c{number}" if number else "control",
                        "outcome": "failure" if number else "success",
                        "truth": json.dumps({f"On thing_{task} place_{task}": []}),
                        "initial_positions": json.dumps({f"thing_{task}": list(stands + moved)}),
                        "axis": "world" if number else None,
                        "plausible": True,
                    }
                )
    paths = Paths(
        np.array(list(hands)),
        np.concatenate(list(hands.values())).astype(np.float32),
        np.concatenate([[0], np.cumsum([len(hand) for hand in hands.values()])]),
    )
    return memorisation(pl.DataFrame(rows), paths)


def _path(
    rng: np.random.Generator,
    thing: np.ndarray,
    place: np.ndarray,
    noise: float,
    slower: float,
    later: int,
    failing: bool,
) -> np.ndarray:
    """Sample a smooth trajectory from home to the object and to its destination; failures linger at their end."""
    steps = round(STEPS * slower)
    time = np.linspace(0, 2, steps + 1)[:, None]
    home = np.array([0.0, 0.0, 0.5])
    ease = (1 - np.cos(np.pi * np.clip(time % 1.0 + (time == 2), 0, 1))) / 2
    way = np.where(time < 1, home + (thing - home) * ease, thing + (place - thing) * ease)
    knots = rng.normal(scale=noise, size=(7, 3))
    knots[0] = 0
    wobble = np.stack(
        [np.interp(time[:, 0], np.linspace(0, 2, 7), knots[:, axis]) for axis in range(3)], axis=1
    )
    hand = np.concatenate([np.repeat(home[None], later, axis=0), way + wobble])
    rest = HORIZON - len(hand) if failing else 0
    return np.concatenate([hand, hand[-1] + rng.normal(scale=noise / 2, size=(max(rest, 0), 3))])


if __name__ == "__main__":
    for each in measure():
        print(f"{each.what}: {each.measured}")
