from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from assay.episodes import EpisodeSpec, Outcome
from assay.extensions.tabletop.prompts.prompt import Prompt
from assay.extensions.tabletop.tasks import KINDS, make, settings
from assay.extensions.tabletop.tasks.levels import Difficulty
from assay.extensions.tabletop.tasks.task import Setting
from assay.extensions.tabletop.world.env import play
from assay.extensions.tabletop.world.goals import SweepGoal
from assay.extensions.tabletop.world.observation import TableObservation
from assay.extensions.tabletop.world.oracle import TableOracle
from assay.extensions.tabletop.world.simulation import ActionEffect, action


@pytest.mark.parametrize("difficulty", list(Difficulty))
def test_the_oracle_does_every_task(difficulty: Difficulty) -> None:
    drawn = [Setting(kind.id, 0, kind.levels[0], difficulty) for kind in KINDS.values()]
    assert not [setting.id for setting in drawn if not play(make(setting), TableOracle()).success]


def test_the_oracle_makes_no_mistake_in_tasks_of_one_action() -> None:
    for setting in settings(range(2)):
        task = make(setting)
        if setting.task in ("T1", "T2", "T3", "T6", "T7", "T8"):
            played = play(task, TableOracle(), most=task.best)
            assert played.flawless, setting.id
            assert len(played.actions) == 1


def test_the_oracle_pursues_what_is_asked_and_success_is_what_counts() -> None:
    task = make(Setting("T12", 0))
    assert isinstance(task.goal, SweepGoal)
    other = replace(task.goal, targets=task.goal.bystanders, bystanders=task.goal.targets)
    played = play(replace(task, asked=other), TableOracle())
    assert not played.success and played.episode.moved in task.goal.bystanders
    assert played.env.effects[-1] is ActionEffect.NOTHING


class _Fixed:
    """Always does the same."""

    def __init__(self, given: np.ndarray) -> None:
        self._given = given

    def reset(self, prompt: Prompt, spec: EpisodeSpec) -> None:
        pass

    def act(self, observation: TableObservation) -> np.ndarray:
        return self._given


def test_the_wrong_thing_in_the_container_is_no_success() -> None:
    task = make(Setting("T7", 0))
    base, wrong = task.scene.item("base_obj"), task.scene.item("distractor_1")
    moves = []
    for piece in wrong.solid.pieces[:1]:
        own = piece.top.mean(axis=0)
        c, s = np.cos(wrong.yaw), np.sin(wrong.yaw)
        grip = (wrong.x + c * own[0] - s * own[1], wrong.y + s * own[0] + c * own[1])
        moves.append(action(grip, (base.x, base.y)))
    played = play(task, _Fixed(np.array(moves)), most=task.best)
    assert played.env.effects[0] is ActionEffect.MOVED
    assert not played.success


@pytest.mark.parametrize("given", [np.zeros(12), np.zeros((0, 12)), np.zeros((1, 7))])
def test_actions_of_a_wrong_shape_are_refused(given: np.ndarray) -> None:
    episode = play(make(Setting("T1", 0)), _Fixed(given)).episode
    assert episode.outcome is Outcome.ERROR and "(k, 12)" in episode.error
