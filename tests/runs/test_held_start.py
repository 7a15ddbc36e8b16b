"""Runs from one held start with varying policy seeds, and runs of some conditions of an experiment."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import assay
from assay import tasks
from assay.episodes import CONTROL, EpisodeSpec, task_of
from assay.errors import RunError
from assay.experiments import load_experiment
from assay.measures.clustering import shares
from assay.measures.success.drops import drops
from assay.perturb.world.position import Displace
from assay.runs.certificates import claim
from assay.runs.options import RunOptions
from assay.runs.plan import RunPlan
from assay.runs.shards import merge

STOVE = "libero_goal/7"


class Witness:
    """Does what its seed says, and writes down what it saw first."""

    def __init__(self) -> None:
        self.seen: list[np.ndarray] = []

    def attach(self, env: Any) -> None:
        self._simulation = env.simulation

    def reset(self, instruction: Any, spec: EpisodeSpec) -> None:
        self._rng = np.random.default_rng(spec.seed)
        things = self._simulation.compiled.entities
        self.seen.append(np.concatenate([self._simulation.pose(name)[0] for name in things]))

    def act(self, observation: Any) -> np.ndarray:
        return self._rng.uniform(-1, 1, (1, 7))


def played(path: Path, policy: Witness, seeds: list[int], **more: Any) -> assay.Run:
    return assay.run("libero", policy, tasks=STOVE, seeds=seeds, steps=2, out=path, **more)


def test_held_start_changes_the_key_of_its_specs_only():
    spec = EpisodeSpec("libero_goal/1", 5, perturbations=(Displace(0.1),))
    assert "start" not in spec.to_json()
    held = replace(spec, start=3)
    assert EpisodeSpec.from_json(held.to_json()) == held and held.key != spec.key
    assert held.control() == EpisodeSpec("libero_goal/1", 5, start=3)
    same = replace(spec, seed=3)
    assert task_of(held) == task_of(same) != task_of(spec), "what the world draws, it draws by the start"
    assert held.scene_key == same.scene_key
    assert claim(held) == claim(same), "a certificate is about the start, whoever acts"


def test_start_stays_and_the_policys_seed_varies(tmp_path: Path):
    usual, held = Witness(), Witness()
    played(tmp_path / "usual.assay", usual, [3, 4])
    run = played(tmp_path / "held.assay", held, [0, 1], hold_start=3)
    assert np.array_equal(held.seen[0], held.seen[1]) and np.array_equal(held.seen[0], usual.seen[0])
    assert not np.array_equal(usual.seen[0], usual.seen[1])
    frame = run.frame()
    assert frame["seed"].to_list() == [0, 1] and frame["start"].to_list() == [3, 3]
    assert run.meta["settings"]["start"] == 3
    first, second = run.episodes.values()
    assert not np.array_equal(first.trajectory.actions, second.trajectory.actions)
    again = second.replay()
    assert np.array_equal(again.trajectory.end_effector, second.trajectory.end_effector)


def test_held_start_is_resumed_extended_and_merged_only_with_the_same_start(tmp_path: Path):
    played(tmp_path / "a.assay", Witness(), [0], hold_start=3)
    assert len(played(tmp_path / "a.assay", Witness(), [0, 1], hold_start=3).frame()) == 2
    for other in ({}, {"hold_start": 4}):
        with pytest.raises(RunError, match="settings start=3, not start="):
            played(tmp_path / "a.assay", Witness(), [0, 1], **other)
    played(tmp_path / "b.assay", Witness(), [2], hold_start=3)
    assert merge([tmp_path / "a.assay", tmp_path / "b.assay"], tmp_path / "c.assay") == 3
    with pytest.raises(RunError, match="hold_start=-1: expected a number >= 0"):
        played(tmp_path / "d.assay", Witness(), [0], hold_start=-1)


def test_conditions_are_recorded_and_others_extend_the_run(tmp_path: Path):
    def corrupted(conditions: Any = None) -> assay.Run:
        options: dict[str, Any] = {"tasks": STOVE, "seeds": 1, "steps": 1, "out": tmp_path / "run.assay"}
        return assay.run("corruption", Witness(), conditions=conditions, **options)

    run = corrupted(["empty"])
    assert run.frame()["condition"].to_list() == ["control", "corruption/empty"]
    assert run.meta["conditions"] == ["empty"]
    assert len(corrupted("xxx,empty").frame()) == 3
    assert run.meta["conditions"] == ["empty", "xxx,empty"]
    whole = len(list(load_experiment("corruption").plan([tasks.load(STOVE)], (0,))))
    assert len(corrupted().frame()) == whole > 3 and run.meta["conditions"] == ["*"]


def table(starts: list[int]) -> pl.DataFrame:
    """Ten tasks, each with a control and a change for five seeds; every other task's control succeeds."""
    same = {"instruction": "do it", "experiment": "x", "axis": "words", "plausible": True}
    rows = []
    for task, (seed, start), condition in product(range(10), enumerate(starts), ("control", "x/a")):
        success = int(task % 2 and condition == "control")
        row = {"task": f"libero_goal/{task}", "seed": seed, "start": start, "condition": condition}
        rows.append(row | same | {"success": success, "outcome": "success" if success else "failure"})
    return pl.DataFrame(rows)


def test_seeds_from_one_start_are_no_independent_starts():
    apart, one = table([0, 1, 2, 3, 4]), table([0] * 5)
    usual = [each.filter(condition="control") for each in (apart, one)]
    (many, _), (few, interval) = (shares(each, "success")[()] for each in usual)
    assert few < 15 < many, "as much as ten starts know, since all seeds of one end alike"
    assert interval.one_start and "one start per task" in interval.method
    before, now = (drops(each)[0] for each in (apart, one))
    assert (before.starts, now.starts, before.pairs, now.pairs) == (50, 10, 50, 50)
    assert now.p > before.p and now.change == before.change == -0.5


def test_repeated_controls_share_the_start_of_their_control_and_keep_its_key(tmp_path: Path):
    usual, policy = Witness(), Witness()
    once = set(played(tmp_path / "a.assay", usual, [3]).frame()["key"])
    run = played(tmp_path / "a.assay", policy, [3], repeats=2)
    assert once < set(run.frame()["key"]), "the control itself is not run again"
    assert np.array_equal(policy.seen[0], usual.seen[0]) and len(policy.seen) == 1
    frame = run.frame()
    assert frame["seed"].to_list() == [3, 1_000_003] and frame["start"].to_list() == [3, 3]
    first, second = run.episodes.values()
    assert not np.array_equal(first.trajectory.actions, second.trajectory.actions)


def test_only_controls_are_repeated_and_stay_with_their_start():
    options = RunOptions.of(tasks=STOVE, seeds=3, conditions="semantic", certified=False, repeats=3)
    whole = RunPlan.make("pro", options).specs
    perturbed = [spec for spec in whole if spec.condition != CONTROL]
    assert len(perturbed) == 3 and len(whole) == 12
    assert all(spec.paired_seed == spec.seed for spec in perturbed)
    shards = [RunPlan.make("pro", replace(options, shard=f"{number}/3")).specs for number in (1, 2, 3)]
    assert all(len({spec.paired_seed for spec in specs}) == 1 for specs in shards)


def test_repeats_that_cannot_be_told_apart_are_refused():
    for options, message in (
        ({"hold_start": 3}, "--repeats cannot be combined with --hold-start"),
        ({"until": "decided=0.8"}, "--repeats cannot be combined with --until"),
        ({"seeds": [1_000_000]}, "--repeats: expected seeds below 1,000,000, got 1000000"),
    ):
        with pytest.raises(RunError, match=message):
            RunPlan.make("libero", RunOptions.of(tasks=STOVE, repeats=2, **options))
    for start in (assay.duel, assay.search):
        more = {"experiment": "pro", "second": "idle"} if start is assay.duel else {}
        with pytest.raises(RunError, match="repeats cannot be set"):
            start("idle", repeats=2, tasks=STOVE, **more)
