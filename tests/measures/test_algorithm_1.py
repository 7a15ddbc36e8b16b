"""Near and far failures, against LIBERO-Para's algorithm 1 implemented from the paper."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product

import numpy as np
import polars as pl
import pytest

from assay.episodes.spec import Label
from assay.measures.failure.near_far import (
    OURS,
    PAPER,
    QUANTILES,
    NearFar,
    NearFarFailures,
    NearFarRule,
    failures,
)
from assay.measures.memory.paths import Paths
from assay.measures.result import MeasureError
from assay.runs.store import Store

from .conftest import Made, dtw

K = 50
HOMES = {0: "libero_goal/0", 3: "libero_goal/8", 9: "libero_goal/7"}
CELLS = [("none", "hint"), ("habitual", "none"), ("contextual", "need")]
SEEDS = (7, 8)
EACH = 30
"""Paraphrases of each task, ten in each cell."""


def resampled(path: np.ndarray) -> np.ndarray:
    """Lines 4 and 9: K points, linear in time."""
    times = np.linspace(0, len(path) - 1, K)
    return np.stack([np.interp(times, np.arange(len(path)), path[:, axis]) for axis in range(3)], axis=1)


def algorithm_1(episodes: list[Made]) -> dict[str, list[str]]:
    """Threshold -> class of each episode of one task: success, near or far."""
    paths = [np.asarray(each.hand, np.float32) for each in episodes]
    won = [path for path, each in zip(paths, episodes, strict=True) if each.success]
    reference = np.mean([resampled(path) for path in won], axis=0)
    longest = max(map(len, won))  # no success is longer, so none is cut
    off = [dtw(resampled(path[:longest]), reference) for path in paths]
    successful = [distance for distance, each in zip(off, episodes, strict=True) if each.success]
    labels = {}
    for name, share in QUANTILES.items():
        tau = np.percentile(successful, 100 * share)
        labels[name] = [
            "success" if each.success else "near" if distance <= tau else "far"
            for distance, each in zip(off, episodes, strict=True)
        ]
    return labels


def walked(task: int, kind: str, rng: np.random.Generator) -> np.ndarray:
    """A path out and back; failures stray a little or a lot, and last longer."""
    steps = int(rng.integers(60, 90)) if kind == "success" else 150
    time = np.linspace(0, 1, steps)[:, None] * (1.0 if kind == "success" else steps / 75)
    place = np.array([0.3, 0.05 * task, 0.2])
    stray = {"success": 0.012, "near": 0.012, "some": 0.024, "far": 0.15}[kind]
    return np.asarray(np.sin(np.pi * np.minimum(time, 1.0)) * (place + stray * rng.normal(size=3)))


@pytest.fixture(scope="module")
def log() -> Iterator[tuple[list[Made], Store]]:
    """Episodes of paraphrases, and the run that has them and one control.

    The control succeeds far from everything else: it must not widen the paper's threshold.
    """
    rng = np.random.default_rng(3)
    episodes = []
    for task, number, seed in product(HOMES, range(EACH), SEEDS):
        kind = ("success", "success", "near", "some", "far")[rng.integers(5)]
        thing, action = CELLS[number % 3]
        labels: dict[str, Label] = {"axis": "words", "plausible": True, "object": thing, "action": action}
        options = {"seed": seed, "condition": f"para/{thing},{action}", "labels": labels}
        text, hand = f"wording {number} of {task}", walked(task, kind, rng)
        episodes.append(Made(kind == "success", HOMES[task], hand=hand, words=text, **options))  # type: ignore[arg-type]
    control = Made(True, HOMES[9], seed=7, hand=np.tile([-1.0, -1.0, 2.0], (150, 1)))
    with Store.scratch() as store:
        store.plan(each.spec for each in (*episodes, control))
        numbers = {waiting.key: waiting.number for waiting in store.todo()}
        for each in (*episodes, control):
            store.append(numbers[each.spec.key], each.episode)
        yield episodes, store


@pytest.fixture(scope="module")
def found(log: tuple[list[Made], Store]) -> NearFarFailures:
    _, store = log
    return failures(store.frame(), Paths.of(store.trajectories()), PAPER)


@pytest.fixture(scope="module")
def labelled(log: tuple[list[Made], Store]) -> dict[str, list[tuple[Made, str]]]:
    """Threshold -> every episode and its class in the paper."""
    episodes, _ = log
    result: dict[str, list[tuple[Made, str]]] = {name: [] for name in QUANTILES}
    for task in HOMES.values():
        mine = [each for each in episodes if each.task == task]
        for name, labels in algorithm_1(mine).items():
            result[name] += zip(mine, labels, strict=True)
    return result


def same(group: NearFar, episodes: list[tuple[Made, str]], threshold: str) -> None:
    """That a group has the same counts as labelled episodes have."""
    want = Counter(label for _, label in episodes)
    got = {"success": group.successes, "near": group.near[threshold], "far": group.far[threshold]}
    assert got == {label: want[label] for label in got}
    assert (group.episodes, group.unjudged) == (len(episodes), 0)


def test_counts_match_the_papers_algorithm(found: NearFarFailures, labelled):
    near = [Counter(label for _, label in labelled[name])["near"] for name in QUANTILES]
    assert near == sorted(near, reverse=True) and len(set(near)) >= 3 and 0 < near[0] < found.failures
    assert [each.group for each in found.by_task] == list(HOMES.values())
    for threshold, every in labelled.items():
        same(found.overall, every, threshold)
        for task, group in zip(HOMES.values(), found.by_task, strict=True):
            same(group, [pair for pair in every if pair[0].task == task], threshold)
        for axis, (label, groups) in enumerate((("object", found.by_object), ("action", found.by_action))):
            assert {each.group for each in groups} == {types[axis] for types in CELLS}
            for group in groups:
                same(group, [pair for pair in every if pair[0].labels[label] == group.group], threshold)
    every = found.overall
    assert every.success_rate() + every.near_share() + every.far_share() == pytest.approx(1.0)
    assert every.far_of_failures() == pytest.approx(found.far_share)


def test_every_failure_is_classified_as_in_the_paper(found: NearFarFailures, labelled, log):
    _, store = log
    named = found.episodes.join(store.frame().select("id", "instruction"), on="id")
    got = {(row["instruction"], row["seed"]): row["near"] for row in named.iter_rows(named=True)}
    want = {"success": None, "near": True, "far": False}
    assert got == {(each.words, each.seed): want[label] for each, label in labelled["max"]}


def test_stricter_thresholds_are_smaller_down_to_the_floor(log):
    _, store = log
    frame, paths = store.frame(), Paths.of(store.trajectories())
    for task in failures(frame, paths, PAPER).tasks:
        assert len(set(task.thresholds.values())) == len(QUANTILES)
    wide = failures(frame, paths, NearFarRule(floor=1.0, least_successes=1, with_controls=False))
    assert {value for task in wide.tasks for value in task.thresholds.values()} == {1.0}
    assert wide.far["max"] == 0


def test_rule_decides_whether_controls_count(found: NearFarFailures, log):
    _, store = log
    ours = failures(store.frame(), Paths.of(store.trajectories()), OURS)
    assert (ours.rule, found.rule) == (OURS, PAPER)
    assert ours.overall.episodes == found.overall.episodes + 1
    (none,) = (each for each in ours.by_object if each.group == "none")
    (same_none,) = (each for each in found.by_object if each.group == "none")
    assert none.episodes == same_none.episodes + 1, "a control names things as the original does"
    stove = {each.task: each.thresholds["max"] for each in found.tasks}["libero_goal/7"]
    assert {each.task: each.thresholds["max"] for each in ours.tasks}["libero_goal/7"] > 2 * stove


def test_minimum_number_of_successes_depends_on_the_rule(log):
    _, store = log
    frame = store.frame().filter(pl.col("condition") != "control")
    won = frame.filter(pl.col("outcome") == "success").group_by("task", maintain_order=True).head(1)
    few = pl.concat([won, frame.filter(pl.col("outcome") == "failure")], how="diagonal_relaxed").sort("id")
    paths = Paths.of(store.trajectories())
    paper = failures(few, paths, PAPER)
    assert paper.unjudged == paper.overall.unjudged == 0 and paper.near["max"] == 0, "only itself is as near"
    with pytest.raises(MeasureError, match="no task has the 5 successes"):
        failures(few, paths)
