"""Each policy with a planted flaw on a pair of cases: one that the flaw leaves alone, one that it breaks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest

from assay import tasks
from assay.episodes import EpisodeSpec, Outcome, rollout
from assay.errors import PolicyError
from assay.perturb import Perturbation, apply_perturbations
from assay.perturb.senses.robot import ActionDelay
from assay.perturb.world.position import Displace
from assay.perturb.world.targets import Attribute, VariedTarget
from assay.policies.calibration.instruction import KeywordPolicy, SemanticPolicy
from assay.policies.control import memorise
from assay.policies.registry import load_policy
from assay.runs.executor import EpisodeRunner, WorkerConfig
from assay.sim import CompiledScene, Simulation, compile_scene, load_pack
from assay.sim.world import SceneEnv
from assay.tasks import Goal, Instruction, Rectangle, Scene, Task
from assay.tasks.language.lexicon import names_of
from assay.tasks.scene import Finish

MOVED = 0.03
"""Displacement from which an object counts as moved, metres."""
STEPS = 120
"""The oracle needs at most 110 in these tasks."""
SOON = 30
"""Steps after which a policy that has not moved is waiting."""


@dataclass(frozen=True)
class Attempted:
    """The result of an episode: success, the objects that moved, and the path of the end effector."""

    reached: bool
    moved: frozenset[str]
    path: np.ndarray


def reworded(task: Task, text: str) -> Task:
    """The same task with another instruction."""
    return replace(task, instruction=Instruction(text))


def with_goal_of(task: Task, other: str) -> Task:
    """Another task's goal and instruction in the same scene."""
    wanted = tasks.load(other)
    return replace(task, goal=wanted.goal, instruction=wanted.instruction)


def with_regions_at(task: Task, **centres: tuple[float, float]) -> Task:
    """The same task with regions of the table elsewhere."""
    regions = tuple(
        replace(region, rectangles=(Rectangle(x - 0.01, y - 0.01, x + 0.01, y + 0.01),))
        if (place := centres.get(region.name)) and (x := place[0]) is not None and (y := place[1]) is not None
        else region
        for region in task.scene.regions
    )
    return replace(task, scene=replace(task.scene, regions=regions))


@cache
def built(scene: Scene) -> CompiledScene:
    """A scene on primitives, compiled once."""
    return compile_scene(scene, load_pack("primitives"))


@pytest.fixture(scope="module")
def attempt() -> Callable[..., Attempted]:
    """Runs a policy on a task, possibly a changed one; each combination once."""

    @cache
    def tried(address: str, task: Task, *, seed: int = 0, steps: int = STEPS) -> Attempted:
        world = Simulation(built(task.scene))
        state = world.sample(seed)
        world.reset(state)
        objects = [entity.name for entity in task.scene.objects]
        before = {name: world.pose(name)[0] for name in objects}
        path: list[np.ndarray] = []
        done = rollout(
            SceneEnv(world, task, state),
            load_policy(address),
            EpisodeSpec(task.id, seed, "primitives", steps=steps),
            watch=lambda observation: path.append(observation.eef_position),
        )
        assert done.outcome is not Outcome.ERROR, done.error
        moved = {name for name in objects if np.linalg.norm(world.pose(name)[0] - before[name]) > MOVED}
        return Attempted(done.outcome is Outcome.SUCCESS, frozenset(moved), np.array(path))

    return tried


BOWL_ON_PLATE = tasks.load("libero_goal/8")
Attempt = Callable[..., Attempted]

BOWL_MOVED = with_regions_at(BOWL_ON_PLATE, akita_black_bowl_region=(0.1, 0.2))
SWAPPED = with_regions_at(
    BOWL_ON_PLATE, akita_black_bowl_region=(-0.05, 0.13), cream_cheese_region=(-0.09, 0.0)
)
"""The bowl where the cream cheese was, and the cream cheese where the bowl was."""


BOWL, CHEESE = "akita_black_bowl_1", "cream_cheese_1"
OTHER_TASK = with_goal_of(BOWL_ON_PLATE, "libero_goal/6")
NO_BOWL_NAME = reworded(BOWL_ON_PLATE, "put the vessel on the plate")
STOVE = tasks.load("libero_goal/7")


@pytest.mark.parametrize(
    ("policy", "task", "reached", "moved", "not_moved"),
    [
        *((policy, BOWL_ON_PLATE, True, "", "") for policy in ("replay", "blind", "colour", "nearest")),
        ("replay", reworded(STOVE, "xxx"), True, "", ""),  # ignores the instruction
        ("replay", OTHER_TASK, False, BOWL, ""),  # plays the trained task
        ("replay", BOWL_MOVED, False, "", BOWL),  # reaches for the old position
        ("replay?tasks=libero_goal/6", OTHER_TASK, True, "", ""),
        (
            "replay?tasks=libero_goal/6",
            reworded(OTHER_TASK, "put the cream cheese into the bowl"),
            False,
            "",
            "",
        ),
        ("blind", reworded(BOWL_MOVED, "xxx"), True, "", ""),  # sees, but does not read
        ("blind", OTHER_TASK, False, BOWL, CHEESE),
        ("keyword", OTHER_TASK, True, "", ""),
        ("keyword", NO_BOWL_NAME, False, CHEESE, BOWL),  # confuses an object with an unknown name
        ("keyword", reworded(STOVE, "turn off the stove"), False, "", ""),
        ("clumsy?miss=0", BOWL_MOVED, True, "", ""),
        ("clumsy?miss=1", BOWL_MOVED, False, "", ""),
        ("colour", BOWL_MOVED, True, "", ""),
        ("nearest", with_regions_at(BOWL_ON_PLATE, akita_black_bowl_region=(-0.11, 0.02)), True, "", ""),
        ("nearest", SWAPPED, False, CHEESE, BOWL),  # takes the object at the old position
    ],
)
def test_each_policy_fails_where_its_flaw_matters_and_nowhere_else(
    attempt: Attempt, policy: str, task: Task, reached: bool, moved: str, not_moved: str
):
    result = attempt(policy, task)
    assert result.reached == reached
    assert not moved or moved in result.moved
    assert not_moved not in result.moved


def test_replay_plays_the_memory_with_the_nearest_positions():
    """The scene of seed 1 under the spec of seed 0: the memory of seed 1 is nearer than its own."""
    world = Simulation(built(BOWL_ON_PLATE.scene))
    state = world.sample(1)
    spec = EpisodeSpec(BOWL_ON_PLATE.id, 0, steps=40)
    played = [
        rollout(SceneEnv(world, BOWL_ON_PLATE, state), load_policy(address), spec).trajectory.actions
        for address in ("replay", "replay?seeds=2,1")
    ]
    remembered = [memorise(replace(spec, seed=seed)).actions for seed in (0, 1)]
    for actions, memory in zip(played, remembered, strict=True):
        steps = min(len(actions), len(memory))
        assert steps > 30 and np.array_equal(actions[:steps], memory[:steps])


@pytest.mark.parametrize("policy", ["blind", "colour"])
def test_blind_and_colour_take_the_object_with_the_original_appearance(attempt: Attempt, policy: str):
    varied = apply_perturbations(BOWL_ON_PLATE, VariedTarget(Attribute.COLOUR), seed=2)
    (usual,) = (
        each.name for each in varied.scene.objects if "look_alike" in each.name and each.finish == Finish()
    )
    result = attempt(policy, varied)
    assert not result.reached and usual in result.moved and "akita_black_bowl_1" not in result.moved


def goal_pursued_for(task: Task, text: str) -> Goal:
    """The goal that keyword derives from a text."""
    world, policy = Simulation(built(task.scene)), KeywordPolicy()
    policy.attach(SceneEnv(world, task, world.state()))
    return policy.goal(Instruction(text), EpisodeSpec(task.id, 0))


def test_keyword_follows_any_wording_that_keeps_the_names(attempt: Attempt):
    farthest = "the bowl should be on the plate, put it there"
    for text in ("put the mixing bowl on the plate", "place the bowl gently on the plate", farthest):
        assert goal_pursued_for(BOWL_ON_PLATE, text) == BOWL_ON_PLATE.goal, text
    assert attempt("keyword", reworded(BOWL_ON_PLATE, farthest)).reached


@pytest.mark.parametrize(("policy", "text"), [("keyword", "xxx"), ("verbatim", "put the bowl on the plate.")])
def test_keyword_and_verbatim_wait_if_they_do_not_know_the_instruction(
    attempt: Attempt, policy: str, text: str
):
    result = attempt(policy, reworded(BOWL_ON_PLATE, text), steps=SOON)
    assert not result.moved and np.ptp(result.path, axis=0).max() < 0.02
    assert attempt(policy, BOWL_ON_PLATE).reached


@pytest.mark.parametrize("task", tasks.all_ids()[::4])
def test_keyword_never_guesses_an_unknown_name(task: str):
    """With a trained name replaced it pursues another goal, which is possible."""
    usual = tasks.load(task)
    world = Simulation(built(usual.scene))
    policy = KeywordPolicy()
    policy.attach(SceneEnv(world, usual, world.state()))
    spec = EpisodeSpec(task, 0)
    assert policy.goal(usual.instruction, spec) == usual.goal
    named = {name for atom in usual.goal.atoms for name in atom.arguments}
    categories = {entity.category for entity in usual.scene.entities if _is_about(usual, entity.name, named)}
    for category in categories:
        text = usual.instruction.text
        for form in sorted(names_of(category), key=len, reverse=True):
            text = text.replace(form, "gizmo")
        pursued = policy.goal(Instruction(text), spec)
        assert set(pursued.atoms) != set(usual.goal.atoms), text
        for atom in pursued.atoms:
            assert len(set(atom.arguments)) == len(atom.arguments)
            assert atom in usual.goal.atoms or not set(atom.arguments) <= named, (text, str(atom))


def _is_about(task: Task, entity: str, named: set[str]) -> bool:
    owners = {region.target for region in task.scene.regions if region.full_name in named}
    return entity in named | owners


def test_clumsy_misses_and_continues_on_the_oracles_path(attempt: Attempt):
    missed, oracle = (attempt(each, BOWL_ON_PLATE) for each in ("clumsy", "oracle"))
    assert oracle.reached and not missed.reached and not missed.moved
    gaps = np.linalg.norm(missed.path[: len(oracle.path)] - oracle.path, axis=1)
    assert gaps.max() < 0.03, "all the way to the plate"
    assert np.ptp(missed.path[len(oracle.path) + 20 :], axis=0).max() < 0.02, "then it waits"


def test_clumsy_fails_for_the_same_seeds_each_time(attempt: Attempt):
    missed = attempt("clumsy", BOWL_ON_PLATE)
    assert not missed.reached and attempt("clumsy", BOWL_ON_PLATE, seed=1).reached
    again = attempt("clumsy", BOWL_ON_PLATE, steps=60)
    assert np.array_equal(again.path, missed.path[: len(again.path)]) and len(again.path) > 50


FAR = Displace(0.1)


def begins(policy: str, *changes: Perturbation) -> bool:
    """Whether the policy moves in the first steps of a task."""
    runner = EpisodeRunner(WorkerConfig(policy))
    try:
        done = runner.run(EpisodeSpec("libero_goal/1", 0, perturbations=changes, steps=12))
    finally:
        runner.close()
    assert done.outcome is not Outcome.ERROR, done.error
    return bool(np.abs(done.trajectory.actions[:, :6]).max() > 0)


def test_within_acts_below_its_tolerance_and_waits_above_it():
    for policy, changes, acts in (
        ("within?reach=0.11", (FAR,), True),
        ("within?reach=0.09", (FAR,), False),
        ("within?reach=0.21&delay=4", (FAR, ActionDelay(2)), True),
        ("within?reach=0.19&delay=4", (FAR, ActionDelay(2)), False),
        ("within?delay=4", (ActionDelay(3),), True),
        ("within?delay=4", (ActionDelay(5),), False),
        ("within?lapse=1", (), False),
    ):
        assert begins(policy, *changes) == acts, policy
    with pytest.raises(PolicyError, match="expected reach > 0"):
        load_policy("within?reach=0")


BOWL_ON_STOVE = tasks.load("libero_goal/1")


@pytest.fixture(scope="module")
def world() -> Simulation:
    return Simulation(compile_scene(BOWL_ON_STOVE.scene, load_pack("primitives")))


def test_semantic_follows_the_most_similar_instruction(world: Simulation):
    policy = SemanticPolicy()
    policy.attach(SceneEnv(world, BOWL_ON_STOVE, world.sample(0)))
    spec = EpisodeSpec(BOWL_ON_STOVE.id, 0)
    assert policy.goal(Instruction("set the basin down on the cooker"), spec) == BOWL_ON_STOVE.goal
    assert policy.goal(tasks.load("libero_goal/6").instruction, spec) == tasks.load("libero_goal/6").goal
    assert policy.goal(Instruction("zqx vrrp"), spec) == policy.goal(Instruction(""), spec) == Goal(())
