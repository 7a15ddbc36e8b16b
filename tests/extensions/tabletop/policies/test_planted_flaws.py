"""Policies whose flaws are known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from assay.episodes import EpisodeSpec, Policy
from assay.experiments import load_experiment
from assay.extensions.tabletop.measures.scores import PromptFlaw
from assay.extensions.tabletop.policies.planted import (
    FirstObject,
    OrderFollower,
    PromptBlind,
    RandomPlaces,
)
from assay.extensions.tabletop.prompts.perturbations import PermutedObjects, PromptMask, PromptPart
from assay.extensions.tabletop.tasks import make
from assay.extensions.tabletop.tasks.task import Level, Setting, TableTask
from assay.extensions.tabletop.world.env import PlayedTable, play
from assay.extensions.tabletop.world.oracle import TableOracle
from assay.measures.diagnosis import diagnose
from assay.measures.findings import Verdict
from assay.measures.flaws import Flaw
from assay.measures.measure import Profile, profile
from assay.perturb import apply_perturbations
from assay.runs.executor import EpisodeRunner, WorkerConfig
from assay.runs.store import Store

SETTINGS = [
    Setting("T1", seed, level)
    for seed, level in ((0, Level.L1), (1, Level.L2), (2, Level.L3), (3, Level.L1), (1, Level.L3))
]


def masked(setting: Setting) -> TableTask:
    return apply_perturbations(make(setting), PromptMask(PromptPart.INSTRUCTION), seed=setting.seed)


def permuted(setting: Setting, policy: Policy) -> PlayedTable:
    return play(make(setting), policy, perturbations=(PermutedObjects(),))


@pytest.mark.parametrize("policy", [TableOracle(), PromptBlind(), OrderFollower()])
def test_policies_that_know_the_tasks_solve_them(policy: Policy):
    assert all(play(make(each), policy).flawless for each in (*SETTINGS, Setting("T7", 0), Setting("T12", 0)))


def test_without_a_prompt_the_oracle_stays_still_and_the_promptblind_policy_succeeds():
    for each in SETTINGS[:3]:
        still = play(masked(each), TableOracle())
        assert not still.success and not any(still.env.held) and still.episode.moved is None
        assert play(masked(each), PromptBlind()).success


def test_the_order_follower_confuses_permuted_objects():
    assert all(permuted(each, TableOracle()).success for each in SETTINGS)
    followed = [permuted(each, OrderFollower()) for each in SETTINGS]
    assert sum(each.success for each in followed) <= 1
    assert any(each.env.held[0] not in ("dragged_obj", "") for each in followed)


def test_the_first_object_is_carried_to_the_second_for_every_prompt():
    task = make(Setting("T4", 0))  # pieces come first in its order
    played = play(task, FirstObject(), most=1)
    assert played.env.held == [task.scene.items[0].name]
    table = task.scene.items[1]
    assert np.hypot(*(played.actions[0, 6:8] - (table.x, table.y))) < 0.03


def test_random_places_depend_on_the_seed_only():
    task = make(Setting("T1", 3))
    first, again = (play(task, RandomPlaces(), most=3).actions for _ in range(2))
    assert np.array_equal(first, again)
    other = play(task, RandomPlaces(), most=3, seed=4).actions
    assert not np.array_equal(first, other)


CONDITIONS = ("control", "paraphrase", "mask=instruction", "order=permuted")


@pytest.fixture(scope="module")
def plan() -> list[EpisodeSpec]:
    experiment = load_experiment("prompts")
    specs = experiment.plan(experiment.choose("tabletop/T1/L1,tabletop/T2/L1"), range(8))
    return [spec for spec in specs if spec.condition in CONDITIONS]


def measured(path: Path, policy: str, plan: list[EpisodeSpec]) -> Profile:
    stage = EpisodeRunner(WorkerConfig(policy, world="tabletop"))
    with Store.writing(path) as store:
        store.plan(plan)
        for waiting in store.todo():
            (spec,) = store.specs([waiting.number])
            store.append(waiting.number, stage.run(spec))
    stage.close()
    with Store.reading(path) as store:
        return profile(store)


@pytest.mark.parametrize(
    "policy, flaw",
    [
        ("oracle", Flaw.NOTHING),
        ("promptblind", PromptFlaw.PROMPT_UNUSED),
        ("order-follower", PromptFlaw.ORDER),
    ],
)
def test_a_planted_flaw_is_found_and_nothing_else(tmp_path: Path, policy: str, flaw: Flaw, plan):
    found = measured(tmp_path / "run.assay", policy, plan)
    assert found["control"].count == 16 and not found.errors
    assert [each.flaw for each in diagnose(found) if each.verdict is Verdict.FOUND] == [flaw]
