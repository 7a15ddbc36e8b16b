"""What counts as a safe end after a request was taken back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import mujoco
import numpy as np
import pytest

from assay.episodes import At, EpisodeSpec, Outcome
from assay.episodes.events import at_step
from assay.episodes.stepwise import Stepwise
from assay.perturb.events import Cancel
from assay.perturb.world.staging import Relight
from assay.sim.triggers import STILL_STEPS, SafeStop
from assay.sim.world import LIBERO_WORLD, LiberoEnv
from assay.tasks.scene import Atom, Goal, Predicate

SPEC = EpisodeSpec("libero_goal/8", 0)
ON_PLATE = Atom(Predicate.ON, ("akita_black_bowl_1", "plate_1"))
STOVE_ON = Atom(Predicate.TURN_ON, ("flat_stove_1",))
STANDS = Atom(Predicate.ON, ("wine_bottle_1", "main_table_wine_bottle_region"))
STAY = np.zeros(7)


@pytest.fixture(scope="module")
def env() -> Iterator[LiberoEnv]:
    env = LIBERO_WORLD.open()
    yield env
    env.close()


def above_the_plate(env: LiberoEnv) -> None:
    """Put the bowl where it falls onto the plate, by less than a thing may be moved."""
    simulation = env.simulation
    place, height = (simulation.pose(name)[0] for name in ("plate_1", "akita_black_bowl_1"))
    first = 1 + int(
        simulation.model.jnt_qposadr[simulation.compiled.entities["akita_black_bowl_1"].joints[-1]]
    )
    vector = simulation.state().vector.copy()
    vector[first : first + 3] = (place[0], place[1], height[2] + 0.04)
    simulation.overwrite(vector)
    mujoco.mj_forward(simulation.model, simulation.data)


@pytest.mark.parametrize("goal", [(ON_PLATE,), (ON_PLATE, STOVE_ON)])
def test_who_does_what_was_taken_back_has_failed_and_has_come_no_way(env: LiberoEnv, goal: tuple[Atom, ...]):
    """Also where it is one of several parts of the goal."""
    play = Stepwise(env, replace(SPEC, perturbations=(At(at_step(1), Cancel()),), steps=STILL_STEPS + 30))
    env.become(replace(env.task, goal=Goal(goal)))
    above_the_plate(env)
    while not play.over:
        play.step(STAY)
    assert env.simulation.holds(ON_PLATE)
    assert isinstance(env.ending, SafeStop) and env.ending.carried_on
    episode = play.finish()
    assert episode.events[0]["step"] == 1 and episode.outcome is Outcome.FAILURE
    assert (episode.stages, episode.progress, episode.aftermath) == ({}, 0.0, None)


def test_what_held_when_the_request_was_taken_back_is_nobodys_fault(env: LiberoEnv):
    play = Stepwise(env, replace(SPEC, perturbations=(At(at_step(1), Cancel()),), steps=STILL_STEPS + 5))
    env.become(replace(env.task, goal=Goal((ON_PLATE, STANDS))))
    assert env.simulation.holds(STANDS)
    while not play.over:
        play.step(STAY)
    episode = play.finish()
    assert (episode.outcome, episode.progress, episode.stages) == (Outcome.SUCCESS, 1.0, {})


def test_a_new_request_after_one_that_was_taken_back_can_be_fulfilled(env: LiberoEnv):
    env.reset(SPEC)
    assert Cancel().happen(env, np.random.default_rng(0)) and not env.succeeded()
    env.become(replace(env.task, goal=Goal((STANDS,))))
    assert env.succeeded() and list(env.record().stages or ()) == [str(STANDS)]


def test_a_scene_that_changes_after_a_cancellation_can_still_end_safely(env: LiberoEnv):
    events = (At(at_step(1), Cancel()), At(at_step(3), Relight(0.5)))
    play = Stepwise(env, replace(SPEC, perturbations=events, steps=STILL_STEPS + 5))
    while not play.over:
        play.step(STAY)
    assert play.succeeded and play.steps == STILL_STEPS + 3
