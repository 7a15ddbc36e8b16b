from __future__ import annotations

import numpy as np
import pytest

from assay.episodes import EpisodeSpec, Outcome
from assay.extensions.tabletop.prompts.prompt import Prompt
from assay.extensions.tabletop.tasks import KINDS, make
from assay.extensions.tabletop.tasks.task import Difficulty, Setting
from assay.extensions.tabletop.world.env import play
from assay.extensions.tabletop.world.goals import Put, PutGoal, SweepGoal, TableGoalProgress
from assay.extensions.tabletop.world.observation import TableObservation
from assay.extensions.tabletop.world.oracle import TableOracle
from assay.extensions.tabletop.world.scene import TableItem, TableScene

SCENE = TableScene((TableItem("a", "letter A", "red", 0.3, 0.0), TableItem("b", "ring", "blue", 0.5, 0.3)))


def _at(*poses: tuple[float, float, float]) -> np.ndarray:
    return np.array([poses])


def test_all_conditions_of_a_stage_must_hold_at_once() -> None:
    both = (Put("a", 0.6, 0.0), Put("b", 0.3, 0.3))
    there, back = PutGoal((both,)), PutGoal((both, (Put("a", 0.3, 0.0), Put("b", 0.5, 0.3))))
    for goal in (there, back):
        one_by_one = TableGoalProgress(goal, SCENE)
        for pose in ((0.6, 0, 0), (0.3, 0, 0)):
            assert not one_by_one.update(_at(pose, (0.5, 0.3, 0))).success
        assert not one_by_one.update(_at((0.3, 0, 0), (0.3, 0.3, 0))).success
        assert one_by_one.pending() == both[:1]
        assert one_by_one.update(_at((0.6, 0, 0), (0.3, 0.3, 0))).success == (goal is there)
    assert one_by_one.update(_at((0.3, 0, 0), (0.5, 0.3, 0))).success


def test_a_bystander_at_the_goal_is_a_mistake_at_every_stage_that_can_be_undone() -> None:
    progress = TableGoalProgress(PutGoal(((Put("a", 0.6, 0.0),), (Put("a", 0.3, 0.0),)), ("b",)), SCENE)
    verdict = progress.update(_at((0.6, 0, 0), (0.6, 0.05, 0)))
    assert (verdict.success, verdict.mistake) == (False, "wrong_item")
    assert not progress.update(_at((0.3, 0, 0), (0.6, 0.05, 0))).success
    progress.update(_at((0.6, 0, 0), (0.5, 0.3, 0)))
    assert progress.update(_at((0.3, 0, 0), (0.5, 0.3, 0))).success


def test_stages_are_met_one_after_the_other_and_stay_met() -> None:
    goal = PutGoal(((Put("a", 0.6, 0.0),), (Put("a", 0.3, 0.0),)), in_order=True)
    progress = TableGoalProgress(goal, SCENE)
    assert not progress.update(_at((0.3, 0, 0), (0.5, 0.3, 0))).success
    assert not progress.update(_at((0.62, 0, 0), (0.5, 0.3, 0))).success
    assert progress.update(_at((0.31, 0, 0), (0.5, 0.3, 0))).success


def test_a_stage_done_too_early_is_a_mistake_and_has_to_be_done_again() -> None:
    goal = PutGoal(((Put("a", 0.6, 0.0),), (Put("b", 0.6, 0.0),)), in_order=True)
    progress = TableGoalProgress(goal, SCENE)
    assert progress.update(_at((0.3, 0, 0), (0.6, 0, 0))).mistake == "wrong_order"
    for _ in range(2):
        assert not progress.update(_at((0.6, 0, 0), (0.6, 0, 0))).success
    assert not progress.update(_at((0.6, 0, 0), (0.4, 0.3, 0))).success
    assert progress.update(_at((0.6, 0, 0), (0.6, 0, 0))).success
    assert TableGoalProgress(goal, SCENE).update(_at((0.3, 0.9, 0), (0.5, 0.3, 0))).mistake == "off_table"


def test_a_yaw_counts_if_the_goal_asks_for_one() -> None:
    put = Put("a", 0.3, 0.0, np.pi, turned=True)
    assert put.holds_at(np.array([0.3, 0.0, -np.pi + 0.2]))
    assert not put.holds_at(np.array([0.3, 0.0, np.pi - 0.3]))


BLOCKS = TableScene(tuple(TableItem(name, "small block", "red", 0.6, 0.1) for name in "pqr"))
SWEEP = SweepGoal(("p", "q"), ("r",), 1, 1, (0.4, -0.1, 0.5, 0.1), (0.3, -0.2, 0.35, 0.2), 1)
AWAY = (0.7, 0.3, 0.0)


def test_a_sweep_needs_the_right_number_of_blocks_wholly_in_the_zone() -> None:
    for poses, success, mistake in (
        (((0.45, 0, 0.3), AWAY, AWAY), True, ""),
        (((0.49, 0, 0.0), AWAY, AWAY), False, ""),
        (((0.42, 0, 0), (0.47, 0, 0), AWAY), False, "too_many"),
        (((0.45, 0, 0), AWAY, (0.45, 0.05, 0)), False, "wrong_item"),
    ):
        verdict = TableGoalProgress(SWEEP, BLOCKS).update(_at(*poses))
        assert (verdict.success, verdict.mistake) == (success, mistake)


def test_crossing_the_line_cannot_be_undone() -> None:
    progress = TableGoalProgress(SWEEP, BLOCKS)
    across, back = ([(x, 0.0, 0.0), AWAY, AWAY] for x in (0.32, 0.45))
    assert progress.update(np.array([across, back])).mistake == "constraint"
    assert not progress.update(np.array([back])).success


def test_a_corner_of_the_line_inside_a_block_is_on_the_line() -> None:
    # The block stands on its corner: neither its corners nor its middle are over the line.
    half = max(BLOCKS.items[0].solid.half_size)
    beside = [(0.35 + 0.6 * half, 0.2 + 0.6 * half, np.pi / 4), AWAY, AWAY]
    assert TableGoalProgress(SWEEP, BLOCKS).update(np.array([beside])).mistake == "constraint"
    clear = [(0.35 + 0.8 * half, 0.2 + 0.8 * half, np.pi / 4), AWAY, AWAY]
    assert TableGoalProgress(SWEEP, BLOCKS).update(np.array([clear])).mistake == ""


@pytest.mark.parametrize("difficulty", list(Difficulty))
def test_the_oracle_does_every_task(difficulty: Difficulty) -> None:
    drawn = [Setting(kind.id, 0, kind.levels[0], difficulty) for kind in KINDS.values()]
    assert not [setting.id for setting in drawn if not play(make(setting), TableOracle()).success]


class _Fixed:
    """Always does the same."""

    def __init__(self, given: np.ndarray) -> None:
        self._given = given

    def reset(self, prompt: Prompt, spec: EpisodeSpec) -> None:
        pass

    def act(self, observation: TableObservation) -> np.ndarray:
        return self._given


@pytest.mark.parametrize("given", [np.zeros(12), np.zeros((0, 12)), np.zeros((1, 7))])
def test_actions_of_a_wrong_shape_are_refused(given: np.ndarray) -> None:
    episode = play(make(Setting("T1", 0)), _Fixed(given)).episode
    assert episode.outcome is Outcome.ERROR and "(k, 12)" in episode.error
