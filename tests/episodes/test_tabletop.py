"""Episodes on the table keep all that episodes elsewhere keep."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from assay.episodes import Episode, EpisodeSpec, Outcome, horizon, rollout
from assay.extensions.tabletop.build import VIEWS
from assay.extensions.tabletop.observation import TableObservation
from assay.extensions.tabletop.prompt import Prompt
from assay.extensions.tabletop.simulation import action
from assay.extensions.tabletop.world import TABLETOP_WORLD
from assay.policies.registry import load_policy

SPEC = EpisodeSpec("tabletop/T1/L1", 0, "tabletop")
STILL = action((0.5, 0.0), (0.5, 0.0))


class Scripted:
    """Returns what it is told to, and remembers when it was asked."""

    def __init__(self, *answers: object, looks: bool = False) -> None:
        self.answers = answers
        self.looks = looks

    def reset(self, instruction: Prompt, spec: EpisodeSpec) -> None:
        self.seen: list[int] = []

    def act(self, observation: TableObservation) -> np.ndarray:
        self.seen.append(observation.step)
        if self.looks:
            observation.image("top")
        answer = self.answers[min(len(self.seen), len(self.answers)) - 1]
        if isinstance(answer, BaseException):
            raise answer
        return answer  # type: ignore[return-value]


def played(policy: Scripted, **options: int) -> Episode:
    return rollout(TABLETOP_WORLD.open(), policy, replace(SPEC, **options))


def test_a_whole_chunk_is_executed_unless_told_otherwise():
    policy = Scripted(np.tile(STILL, (4, 1)))
    assert played(policy, steps=8).decisions == 2 and policy.seen == [0, 4]
    assert played(policy, steps=8, replan=2).decisions == 4 and policy.seen == [0, 2, 4, 6]


def test_a_policy_that_breaks_keeps_what_it_did_until_then():
    moves = [action((0.3 + 0.1 * number, 0.0), (0.6, 0.1)) for number in range(3)]
    episode = played(Scripted(*(each[None] for each in moves), ValueError("bad\nday")))
    assert episode.outcome is Outcome.ERROR
    assert episode.error == "Scripted, step 3: ValueError: bad day"
    assert (episode.steps, episode.decisions) == (3, 3)
    assert np.array_equal(episode.trajectory.actions, np.array(moves, np.float32))
    assert episode.trajectory.end_effector.shape == (4, 3) and episode.trajectory.gripper.shape == (4,)


@pytest.mark.usefixtures("drawing")
def test_images_are_counted():
    looking = played(Scripted(STILL[None], looks=True), steps=3)
    assert looking.images == 3 * len(VIEWS), "whoever looks once gets all views"
    assert played(Scripted(STILL[None]), steps=3).images == 0


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("left", "not an array of numbers"),
        (np.full((1, 12), "0.5"), "not an array of numbers"),
        ([["0.5"] * 12], "not an array of numbers"),
        (np.full((1, 12), np.nan), "not finite"),
        (np.zeros((1, 7)), "shape (1, 7)"),
        (np.zeros(12), "shape (12,)"),
    ],
)
def test_what_is_no_action_is_refused_with_the_name_and_the_step(answer: object, words: str):
    episode = played(Scripted(STILL[None], answer))
    assert episode.outcome is Outcome.ERROR and episode.steps == 1
    assert episode.error.startswith("Scripted, step 1: ") and words in episode.error


def test_the_oracle_does_the_task_and_the_episode_says_what_was_taken():
    episode = rollout(TABLETOP_WORLD.open(), load_policy("oracle", "tabletop"), SPEC)
    assert episode.outcome is Outcome.SUCCESS and episode.steps <= horizon(SPEC)
    assert (episode.touched, episode.moved) == ("dragged_obj", "dragged_obj")
    assert episode.instruction == TABLETOP_WORLD.task(SPEC).instruction.words


def test_one_environment_plays_one_episode_like_another():
    env = TABLETOP_WORLD.open()
    oracle = load_policy("oracle", "tabletop")
    first, other, again = (rollout(env, oracle, replace(SPEC, seed=seed)) for seed in (0, 1, 0))
    assert np.array_equal(first.trajectory.actions, again.trajectory.actions)
    assert not np.array_equal(first.trajectory.actions, other.trajectory.actions)
