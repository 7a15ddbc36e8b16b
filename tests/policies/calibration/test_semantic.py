from __future__ import annotations

from collections import Counter

import pytest

from assay import tasks
from assay.episodes import EpisodeSpec, task_of
from assay.experiments import load_experiment
from assay.policies.calibration.instruction import KeywordPolicy, SemanticPolicy
from assay.sim import Simulation, compile_scene, load_pack
from assay.sim.world import SceneEnv
from assay.tasks import Goal, Instruction

BOWL_ON_STOVE = tasks.load("libero_goal/1")


@pytest.fixture(scope="module")
def world() -> Simulation:
    return Simulation(compile_scene(BOWL_ON_STOVE.scene, load_pack("primitives")))


@pytest.fixture(scope="module")
def grid() -> list[EpisodeSpec]:
    chosen = tasks.resolve("libero_goal/1,libero_goal/6")
    return [spec for spec in load_experiment("para?per_cell=1").plan(chosen, (7,)) if spec.labels]


def test_semantic_follows_the_most_similar_instruction(world: Simulation, grid: list[EpisodeSpec]):
    policy = SemanticPolicy()
    policy.attach(SceneEnv(world, BOWL_ON_STOVE, world.sample(0)))
    spec = EpisodeSpec(BOWL_ON_STOVE.id, 0)
    assert policy.goal(Instruction("set the basin down on the cooker"), spec) == BOWL_ON_STOVE.goal
    assert policy.goal(tasks.load("libero_goal/6").instruction, spec) == tasks.load("libero_goal/6").goal
    assert policy.goal(Instruction("zqx vrrp"), spec) == policy.goal(Instruction(""), spec) == Goal(())


def test_semantic_and_keyword_differ_on_the_paraphrase_grid(world: Simulation, grid: list[EpisodeSpec]):
    """Both follow what keeps the names; only semantic follows most of what changes them."""
    understood: Counter[tuple[str, str]] = Counter()
    asked: Counter[str] = Counter()
    state = world.sample(0)
    for spec in grid:
        task, kind = tasks.load(spec.task), str(spec.labels["object"])
        asked[kind] += 1
        for policy in (KeywordPolicy(), SemanticPolicy()):
            policy.attach(SceneEnv(world, task, state))
            heard = policy.goal(task_of(spec).instruction, spec)
            understood[type(policy).__name__, kind] += heard == task.goal
    share = {key: count / asked[key[1]] for key, count in understood.items()}
    for kind in ("none", "addition"):
        assert share["KeywordPolicy", kind] > 0.9 and share["SemanticPolicy", kind] > 0.9
    for kind in ("contextual", "habitual"):
        assert share["KeywordPolicy", kind] < 0.3 and share["SemanticPolicy", kind] > 0.5
