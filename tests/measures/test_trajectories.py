from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from assay.measures.failure.near_far import NearFarFailures, failures
from assay.measures.memory.paths import POINTS, Paths, distances
from assay.measures.result import MeasureError
from assay.runs.store import Store

from .conftest import dtw


def path_to(
    target: tuple[float, float, float], steps: int = 100, wiggle: float = 0.0, seed: int = 0
) -> np.ndarray:
    """Return a straight path from the origin to a place and back, with smooth noise."""
    time = np.linspace(0, 2, steps + 1)[:, None]
    phase = np.random.default_rng(seed).uniform(0, 2 * np.pi, 3)
    return np.minimum(time, 2 - time) * np.array(target) + wiggle * np.sin(
        np.linspace(0, 6, steps + 1)[:, None] + phase
    )


def judged(store: Store) -> NearFarFailures:
    return failures(store.frame(), Paths.of(store.trajectories()))


def test_distances_are_exact():
    rng = np.random.default_rng(7)
    paths = np.cumsum(rng.normal(size=(12, POINTS, 3)), axis=1).astype(np.float32)
    references = paths[:3]
    which = rng.integers(3, size=12)
    want = [
        dtw(path.astype(float), references[each].astype(float))
        for path, each in zip(paths, which, strict=True)
    ]
    assert distances(paths, references, which) == pytest.approx(want, rel=1e-5, abs=1e-9)
    assert distances(paths, paths) == pytest.approx(0.0)


def test_planted_near_and_far_failures_are_separated(run, made):
    """Near failures pause after the successful path; far failures go elsewhere from the start."""
    targets = {"libero_goal/1": (0.3, 0.1, 0.0), "libero_goal/4": (-0.1, 0.3, 0.1)}
    episodes, planted = [], {}
    for (task, target), seed in product(targets.items(), range(40)):
        kind = "success" if seed < 25 else "near" if seed < 31 else "far"
        place = target if kind != "far" else (target[1], -target[0], 0.2)
        hand = path_to(place, 100, 0.006 if kind == "near" else 0.01, seed)
        if kind == "near":
            hand = np.concatenate([hand, np.repeat(hand[-1:], 200, axis=0)])
        planted[task, seed] = kind
        options = {"condition": "words", "labels": {"axis": "words"}} if seed % 2 else {}
        episodes.append(made(kind == "success", task=task, seed=seed, hand=hand, **options))
    for condition, labels in (("world", {"axis": "words+world"}), ("xxx", {"plausible": False})):
        hand = path_to((0, 0, 0.3) if condition == "world" else (0, 0, 0))
        episodes += [
            made(False, seed=seed, condition=condition, labels=labels, hand=hand) for seed in range(3)
        ]
    episodes += [made(False, task="libero_goal/2", hand=path_to((0.1, 0, 0))), made(False, seed=99)]
    store = run(episodes)
    found = judged(store)
    assert (found.successes, found.failures, found.near["max"], found.far["max"]) == (50, 30, 12, 18)
    assert found.far_share == pytest.approx(0.6) and found.interval.low < 0.6 < found.interval.high
    assert found.unjudged == 2, "a task without successes, an episode without a path"
    assert found.elsewhere == 3
    names = {row["id"]: (row["task"], row["seed"]) for row in store.frame().iter_rows(named=True)}
    for row in found.episodes.filter(~found.episodes["success"]).iter_rows(named=True):
        assert planted[names[row["id"]]] == ("near" if row["near"] else "far")
    assert found.tasks[0].reference.shape == (POINTS, 3)
    assert "reference" not in found.tasks[0].as_json() and "episodes" not in found.as_json()


def test_each_goal_of_a_task_has_its_own_reference(run, made):
    other = {"On plate_1 flat_stove_1_cook_region": ()}
    here, there = (0.3, 0.1, 0.0), (-0.3, 0.1, 0.2)
    rows = [made(False, seed=9, condition="third", truth={"Open x_1": ()}, hand=path_to(here))]
    for seed in range(8):
        rows.append(made(True, seed=seed, hand=path_to(here, wiggle=0.01, seed=seed)))
        hand = path_to(there if seed > 0 else here, wiggle=0.01, seed=seed)
        rows.append(made(seed > 0, seed=seed, condition="other", truth=other, hand=hand))
    found = judged(run(rows))
    assert (found.successes, found.failures, found.far["max"], found.unjudged) == (15, 1, 1, 1)
    assert max(each.thresholds["max"] for each in found.tasks) < 0.03


def test_failures_are_judged_only_with_paths_and_successes(run, made):
    bare, lost = run([made(True), made(False, seed=1)]), run([made(False, hand=path_to((0.1, 0, 0)))])
    with pytest.raises(MeasureError, match="no episode in an unchanged world has a trajectory"):
        judged(bare)
    with pytest.raises(MeasureError, match="no task has the 5 successes"):
        judged(lost)
    won = run(made(True, seed=seed, hand=path_to((0.1, 0, 0), wiggle=0.01, seed=seed)) for seed in range(5))
    found = judged(won)
    assert found.failures == 0 and found.far_share is None and found.interval is None


def test_failures_within_a_centimetre_are_near(run, made):
    """Failures within a centimetre count as both close and near."""
    here = (0.3, 0.1, 0.0)
    heights = [0.0] * 5 + [-0.006, 0.006, -0.007, 0.007, 0.008]
    episodes = [
        made(seed < 5, seed=seed, hand=path_to(here) + (0.0, 0.0, height))
        for seed, height in enumerate(heights)
    ]
    found = judged(run(episodes))
    assert found.tasks[0].thresholds["max"] == 0.01
    assert (found.near["max"], found.close, found.failures) == (5, 5, 5)
    assert found.close_p == pytest.approx(1 / 2**5)
    lost = run([*episodes, *(made(False, seed=20 + far, hand=path_to((0.0, -0.3, 0.2))) for far in range(3))])
    found = judged(lost)
    assert (found.near["max"], found.close, found.failures) == (5, 5, 8) and found.close_p > 0.3


def test_idle_far_failures_are_counted(run, made):
    won = [made(True, seed=seed, hand=path_to((0.3, 0.1, 0.2), seed=seed)) for seed in range(6)]
    far = {"hand": path_to((0.0, -0.3, 0.2))}
    lost = [
        made(False, seed=20, touched=None, moved=None, **far),
        made(False, seed=21, touched="plate_1", moved=None, **far),
        made(False, seed=22, touched=None, moved=None, hand=path_to((0.3, 0.1, 0.2))),
    ]
    found = judged(run([*won, *lost]))
    assert (found.far["max"], found.near["max"], found.idle) == (2, 1, 1)
