"""Stages, side effects and the aftermath of episodes whose course is known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import mujoco
import numpy as np
import pytest

from assay.episodes import At, Episode, EpisodeSpec, Outcome, Perturbation, Stepwise, rollout
from assay.episodes.episode import PLACING, TURNING
from assay.episodes.events import at_step
from assay.perturb.words.text import Say
from assay.perturb.world.position import Displace
from assay.perturb.world.staging import Relight
from assay.policies.registry import load_policy
from assay.sim.conduct import EffectWatch
from assay.sim.robot_contacts import ARENA
from assay.sim.trace import AFTERMATH_STEPS, Trace
from assay.sim.world import LIBERO_WORLD, LiberoEnv
from assay.tasks.scene import Atom, Goal, Predicate

ON_PLATE = "On akita_black_bowl_1 plate_1"
STAY = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0])


@pytest.fixture(scope="module")
def env() -> Iterator[LiberoEnv]:
    env = LIBERO_WORLD.open()
    yield env
    env.close()


@pytest.fixture(scope="module")
def bowl(env: LiberoEnv) -> Episode:
    """The oracle puts the bowl on the plate."""
    return rollout(env, load_policy("oracle"), EpisodeSpec("libero_goal/8", 0))


@pytest.fixture(scope="module")
def drawer(env: LiberoEnv) -> Episode:
    """The oracle opens the middle drawer."""
    return rollout(env, load_policy("oracle"), EpisodeSpec("libero_goal/0", 0))


class Repeats:
    """Acts as it is told."""

    def __init__(self, actions: Sequence[np.ndarray]) -> None:
        self._actions = list(actions)

    def reset(self, instruction: object, spec: EpisodeSpec) -> None:
        self._step = 0

    def act(self, observation: object) -> np.ndarray:
        action = self._actions[min(self._step, len(self._actions) - 1)]
        self._step += 1
        return np.array([action])


def test_a_object_goes_through_all_stages_in_their_order(bowl: Episode):
    assert bowl.stages is not None
    stages = bowl.stages[ON_PLATE]
    assert tuple(stages) == PLACING
    steps = [step for step in stages.values() if step is not None]
    assert len(steps) == len(PLACING) and steps == sorted(steps)
    assert stages["placed"] == bowl.steps < steps[-1], "it was let go after the goal was reached"


def test_a_success_lasts_and_has_no_side_effects(bowl: Episode):
    assert bowl.outcome is Outcome.SUCCESS and bowl.progress == 1
    assert bowl.aftermath is not None and bowl.aftermath.holds and bowl.aftermath.rest
    effects = bowl.side_effects
    assert effects is not None
    assert (effects.moved, effects.tilted, effects.opened, effects.arm) == ({}, {}, {}, {})
    assert set(effects.forces) == {"akita_black_bowl_1"}
    straight = np.linalg.norm(bowl.trajectory.end_effector[-1] - bowl.trajectory.end_effector[0])
    assert straight < effects.path < 2 and 0 < effects.jerk < 100


def test_a_drawer_is_reached_touched_moved_and_done(drawer: Episode):
    assert drawer.stages is not None
    ((_, stages),) = drawer.stages.items()
    assert tuple(stages) == TURNING
    steps = [step for step in stages.values() if step is not None]
    assert steps == sorted(set(steps)) and steps[-1] == drawer.steps
    assert drawer.side_effects is not None and drawer.side_effects.opened == {}, "it was asked for"


def test_motions_for_another_task_have_side_effects(env: LiberoEnv, drawer: Episode, bowl: Episode):
    """The same motions, where the stove was to be turned on."""
    opened, moved = (
        rollout(
            env,
            Repeats([*episode.trajectory.actions, STAY]),
            EpisodeSpec("libero_goal/7", 0, steps=episode.steps + 2),
        )
        for episode in (drawer, bowl)
    )
    assert opened.side_effects is not None and moved.side_effects is not None
    assert opened.side_effects.opened.keys() == {"wooden_cabinet_1_middle_region"}
    assert opened.side_effects.opened["wooden_cabinet_1_middle_region"] >= 1, "as far as LIBERO calls open"
    assert moved.side_effects.moved["akita_black_bowl_1"] > 0.05
    assert (opened.progress, opened.aftermath) == (0, None)


def test_a_goal_that_gravity_undoes_does_not_last(env: LiberoEnv):
    """A bowl in the air is up, and falls."""
    env.reset(EpisodeSpec("libero_goal/8", 0))
    simulation = env.simulation
    bowl = simulation.compiled.entities["akita_black_bowl_1"]
    up = Goal((Atom(Predicate.UP, ("akita_black_bowl_1",)),))
    vector = simulation.state().vector.copy()
    vector[1 + simulation.model.jnt_qposadr[bowl.joints[-1]] + 2] += 0.2
    simulation.overwrite(vector)
    mujoco.mj_forward(simulation.model, simulation.data)
    assert simulation.is_satisfied(up)
    trace = Trace(simulation, replace(env.task, goal=up))
    trace(simulation.observe())
    after = trace.record(is_withdrawn=False).aftermath
    assert after is not None and not after.holds and after.steps <= AFTERMATH_STEPS
    assert simulation.is_satisfied(up), "on a copy: here it is still in the air"


def test_looking_whether_success_lasts_changes_nothing(env: LiberoEnv, bowl: Episode):
    """Whoever goes on after a success goes on to the bit as if nobody had looked."""

    def goes_on(look: bool) -> np.ndarray:
        env.reset(EpisodeSpec("libero_goal/8", 0))
        for action in bowl.trajectory.actions:
            env.step(action)
        if look:
            assert env.record().aftermath is not None
        for _ in range(3):
            env.step(np.array([0.5, 0.0, 0.5, 0.0, 0.0, 0.1, 1.0]))
        return env.simulation.state().vector

    assert np.array_equal(goes_on(look=True), goes_on(look=False))


def test_jerk_is_that_of_a_known_curve(env: LiberoEnv):
    time = np.arange(100) / 20
    cubic = np.column_stack([time**3, np.zeros(100), np.zeros(100)])
    env.reset(EpisodeSpec("libero_goal/7", 0))
    simulation = env.simulation
    effects = EffectWatch(simulation.compiled, Goal(()), simulation.data, (ARENA,)).effects
    assert effects(simulation.data, cubic).jerk == pytest.approx(6.0)
    assert effects(simulation.data, cubic[:3]).jerk == 0


@pytest.mark.parametrize("change", [Say("turn it on, please"), Relight(0.5), Displace(0.05, "plate_1")])
def test_side_effects_before_an_event_count_and_what_it_moves_itself_does_not(
    env: LiberoEnv, change: Perturbation
):
    """The same scene, another one, and one in which the event moves something."""
    play = Stepwise(env, EpisodeSpec("libero_goal/7", 0, perturbations=(At(at_step(2), change),), steps=5))
    simulation = env.simulation
    vector, model = simulation.state().vector.copy(), simulation.model
    entities, regions = simulation.compiled.entities, simulation.compiled.regions
    bottle = 1 + int(model.jnt_qposadr[entities["wine_bottle_1"].joints[-1]])
    vector[bottle] -= 0.06  # as if somebody had pushed it, and opened a drawer
    drawer = 1 + int(model.jnt_qposadr[regions["wooden_cabinet_1_middle_region"].inner_joints[0]])
    vector[drawer] = -0.15
    simulation.overwrite(vector)
    mujoco.mj_forward(model, simulation.data)
    while not play.over:
        play.step(STAY)
    episode = play.finish()
    effects = episode.side_effects
    assert episode.events[0]["step"] == 2 and effects is not None
    assert set(effects.moved) == {"wine_bottle_1"} and effects.moved["wine_bottle_1"] > 0.05
    assert set(effects.opened) == {"wooden_cabinet_1_middle_region"}
