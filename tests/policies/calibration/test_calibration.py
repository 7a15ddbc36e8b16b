"""Each policy with a planted flaw on a pair of cases: one that the flaw leaves alone, one that it breaks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest

from assay import tasks
from assay.episodes import EpisodeSpec, Outcome, rollout
from assay.perturb import apply_perturbations
from assay.perturb.world import Attribute, VariedTarget
from assay.policies.calibration.execution import memorise
from assay.policies.calibration.instruction import KeywordPolicy, word_overlap
from assay.policies.calibration.perception import mean_colour
from assay.policies.registry import load_policy
from assay.sim import CompiledScene, Simulation, compile_scene, load_pack
from assay.sim.world import SceneEnv
from assay.tasks import Goal, Instruction, Rectangle, Scene, Task
from assay.tasks.language.lexicon import names_of

MOVED = 0.03
"""How far a thing must have gone to have been moved, metres."""
STEPS = 120
"""The oracle needs 110 at most for all that is asked here."""
SOON = 30
"""Whoever has not set off by then waits."""


@dataclass(frozen=True)
class Tried:
    """An episode: whether the goal was reached, which things had moved at the end, and where the hand was."""

    reached: bool
    moved: frozenset[str]
    path: np.ndarray


def told(task: Task, text: str) -> Task:
    """The same task in other words."""
    return replace(task, instruction=Instruction(text))


def asked(task: Task, other: str) -> Task:
    """Another task's goal and instruction in the same scene."""
    wanted = tasks.load(other)
    return replace(task, goal=wanted.goal, instruction=wanted.instruction)


def placed(task: Task, **centres: tuple[float, float]) -> Task:
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


def unchanged(world: Simulation) -> None:
    """A world as it is."""


@pytest.fixture(scope="module")
def attempt() -> Callable[..., Tried]:
    """Lets a policy try a task, perhaps a changed one, under the spec of the task it is made from; once."""

    @cache
    def tried(
        address: str,
        task: Task,
        *,
        seed: int = 0,
        steps: int = STEPS,
        change: Callable[[Simulation], None] = unchanged,
    ) -> Tried:
        world = Simulation(built(task.scene))
        change(world)
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
        return Tried(done.outcome is Outcome.SUCCESS, frozenset(moved), np.array(path))

    return tried


BOWL_ON_PLATE = tasks.load("libero_goal/8")
Attempt = Callable[..., Tried]

BOWL_MOVED = placed(BOWL_ON_PLATE, akita_black_bowl_region=(0.1, 0.2))
SWAPPED = placed(BOWL_ON_PLATE, akita_black_bowl_region=(-0.05, 0.13), cream_cheese_region=(-0.09, 0.0))
"""The bowl where the cream cheese was, and the cream cheese where the bowl was."""


@pytest.mark.parametrize(
    ("name", "task"),
    [
        *((name, "libero_goal/8") for name in ("replay", "blind", "colour", "nearest")),
        ("replay", "libero_goal/7"),
    ],
)
def test_the_control_is_solved(attempt: Attempt, name: str, task: str):
    """The proof of the instrument has those of libero_object; keyword pursues the goals of all controls, see below."""
    assert attempt(name, tasks.load(task)).reached


# -- replay


def test_replay_plays_the_same_path_when_the_words_are_new(attempt: Attempt):
    control, renamed = attempt("replay", BOWL_ON_PLATE), attempt("replay", told(BOWL_ON_PLATE, "xxx"))
    assert renamed.reached and np.array_equal(control.path, renamed.path)


def test_replay_does_the_old_task_when_another_is_asked_for(attempt: Attempt):
    other = attempt("replay", asked(BOWL_ON_PLATE, "libero_goal/6"))
    assert not other.reached and "akita_black_bowl_1" in other.moved


def test_replay_reaches_where_the_bowl_was(attempt: Attempt):
    moved = attempt("replay", BOWL_MOVED)
    assert not moved.reached and "akita_black_bowl_1" not in moved.moved


def test_replay_plays_the_memory_whose_look_is_nearest():
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


def test_replay_knows_another_task_by_its_exact_words_if_it_remembers_it(attempt: Attempt):
    cheese = asked(BOWL_ON_PLATE, "libero_goal/6")
    assert attempt("replay?tasks=libero_goal/6", cheese).reached
    reworded = replace(cheese, instruction=Instruction("put the cream cheese into the bowl"))
    assert not attempt("replay?tasks=libero_goal/6", reworded).reached


# -- blind


def test_blind_needs_no_words_and_follows_a_moved_bowl(attempt: Attempt):
    assert attempt("blind", told(BOWL_MOVED, "xxx")).reached


def test_blind_does_the_usual_task_when_another_is_asked_for(attempt: Attempt):
    other = attempt("blind", asked(BOWL_ON_PLATE, "libero_goal/6"))
    assert not other.reached and other.moved == {"akita_black_bowl_1"}


@pytest.mark.parametrize("policy", ["blind", "colour"])
def test_who_does_not_read_the_attribute_takes_what_looks_as_the_bowl_did(attempt: Attempt, policy: str):
    varied = apply_perturbations(BOWL_ON_PLATE, VariedTarget(Attribute.COLOUR), seed=2)
    (usual,) = (each.name for each in varied.scene.objects if "look_alike" in each.name and each.finish.usual)
    result = attempt(policy, varied)
    assert not result.reached and usual in result.moved and "akita_black_bowl_1" not in result.moved


# -- keyword


def heard(task: Task, text: str) -> Goal:
    """What keyword pursues when it is told a text."""
    world, policy = Simulation(built(task.scene)), KeywordPolicy()
    policy.attach(SceneEnv(world, task, world.state()))
    return policy.goal(Instruction(text), EpisodeSpec(task.id, 0))


def test_keyword_follows_any_wording_that_keeps_the_names(attempt: Attempt):
    farthest = "the bowl should be on the plate, put it there"
    for text in ("put the mixing bowl on the plate", "place the bowl gently on the plate", farthest):
        assert heard(BOWL_ON_PLATE, text) == BOWL_ON_PLATE.goal, text
    assert attempt("keyword", told(BOWL_ON_PLATE, farthest)).reached


def test_keyword_does_another_task_of_the_scene_when_asked(attempt: Attempt):
    assert attempt("keyword", asked(BOWL_ON_PLATE, "libero_goal/6")).reached


def test_keyword_takes_the_wrong_thing_for_a_name_it_does_not_know(attempt: Attempt):
    text = "put the vessel on the plate"
    result = attempt("keyword", told(BOWL_ON_PLATE, text))
    assert (
        not result.reached and "cream_cheese_1" in result.moved and "akita_black_bowl_1" not in result.moved
    )
    assert heard(BOWL_ON_PLATE, "put the container on the plate") == heard(BOWL_ON_PLATE, text)


def test_keyword_reaches_for_the_wrong_thing_when_it_does_not_know_what_to_turn_on(attempt: Attempt):
    result = attempt("keyword", told(tasks.load("libero_goal/7"), "turn on the range"))
    plate = (0.05, -0.02)
    assert not result.reached
    assert np.linalg.norm(result.path[:, :2] - plate, axis=1).min() < 0.1


def test_keyword_waits_when_it_knows_no_word(attempt: Attempt):
    result = attempt("keyword", told(BOWL_ON_PLATE, "xxx"), steps=SOON)
    assert not result.reached and not result.moved
    assert np.ptp(result.path, axis=0).max() < 0.02, "it waits"


@pytest.mark.parametrize("task", tasks.all_ids())
def test_keyword_never_hits_by_chance_what_it_does_not_know(task: str):
    """Each trained name of the instruction replaced: what it then pursues is something else, and possible."""
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
        heard = policy.goal(Instruction(text), spec)
        assert set(heard.atoms) != set(usual.goal.atoms), text
        for atom in heard.atoms:
            assert len(set(atom.arguments)) == len(atom.arguments)
            assert atom in usual.goal.atoms or not set(atom.arguments) <= named, (text, str(atom))


def _is_about(task: Task, entity: str, named: set[str]) -> bool:
    owners = {region.target for region in task.scene.regions if region.full_name in named}
    return entity in named | owners


def test_keyword_knows_on_from_off(attempt: Attempt):
    assert not attempt("keyword", told(tasks.load("libero_goal/7"), "turn off the stove"), steps=80).reached


def test_the_share_of_known_words_leaves_function_words_out():
    assert word_overlap("PUT the bowl, on a stove!", "put the bowl on the stove") == 1.0
    assert word_overlap("put the bowl away", "put the bowl on the stove") == 0.5


# -- clumsy


def test_clumsy_without_error_is_the_oracle(attempt: Attempt):
    steady, oracle = attempt("clumsy?miss=0", BOWL_ON_PLATE), attempt("oracle", BOWL_ON_PLATE)
    assert steady.reached and np.array_equal(steady.path, oracle.path)


def test_clumsy_misses_on_the_oracles_path_and_carries_on_with_an_empty_hand(attempt: Attempt):
    missed, oracle = (attempt(each, BOWL_ON_PLATE) for each in ("clumsy", "oracle"))
    assert oracle.reached and not missed.reached and not missed.moved
    gaps = np.linalg.norm(missed.path[: len(oracle.path)] - oracle.path, axis=1)
    assert gaps.max() < 0.03, "all the way to the plate"
    assert np.ptp(missed.path[len(oracle.path) + 20 :], axis=0).max() < 0.02, "then it waits"


def test_clumsy_misses_what_it_has_not_got_used_to_as_well(attempt: Attempt):
    assert attempt("clumsy?miss=0", BOWL_MOVED).reached and not attempt("clumsy?miss=1", BOWL_MOVED).reached


def test_clumsy_as_it_is_fails_now_and_then_the_same_way_each_time(attempt: Attempt):
    missed = attempt("clumsy", BOWL_ON_PLATE)
    assert not missed.reached and attempt("clumsy", BOWL_ON_PLATE, seed=1).reached
    again = attempt("clumsy", BOWL_ON_PLATE, steps=60)
    assert np.array_equal(again.path, missed.path[: len(again.path)]) and len(again.path) > 50


# -- colour


def paint(world: Simulation, name: str, rgba: tuple[float, float, float, float]) -> None:
    model = world.model
    for geom in range(model.ngeom):
        if model.body_rootid[model.geom_bodyid[geom]] == world.compiled.entities[name].body:
            model.geom_matid[geom] = -1
            model.geom_rgba[geom] = rgba


def test_colour_does_not_mind_a_moved_bowl(attempt: Attempt):
    assert attempt("colour", BOWL_MOVED).reached


def test_colour_takes_what_has_the_bowls_colour(attempt: Attempt):
    model = built(BOWL_ON_PLATE.scene)
    black = (*mean_colour(model.model, model.entities["akita_black_bowl_1"]), 1.0)

    def change(world: Simulation) -> None:
        paint(world, "akita_black_bowl_1", (1.0, 0.5, 0.0, 1.0))
        paint(world, "cream_cheese_1", black)

    result = attempt("colour", BOWL_ON_PLATE, change=change)
    assert (
        not result.reached and "cream_cheese_1" in result.moved and "akita_black_bowl_1" not in result.moved
    )


# -- nearest


def test_nearest_still_finds_a_bowl_that_hardly_moved(attempt: Attempt):
    assert attempt("nearest", placed(BOWL_ON_PLATE, akita_black_bowl_region=(-0.11, 0.02))).reached


def test_nearest_takes_what_stands_where_the_bowl_stood(attempt: Attempt):
    result = attempt("nearest", SWAPPED)
    assert (
        not result.reached and "cream_cheese_1" in result.moved and "akita_black_bowl_1" not in result.moved
    )


# -- verbatim


def test_verbatim_knows_its_instruction_to_the_letter(attempt: Attempt):
    text = BOWL_ON_PLATE.instruction.text
    assert attempt("verbatim", BOWL_ON_PLATE).reached
    with_a_full_stop = attempt("verbatim", told(BOWL_ON_PLATE, f"{text}."), steps=SOON)
    assert np.ptp(with_a_full_stop.path, axis=0).max() < 0.02, "it waits"
