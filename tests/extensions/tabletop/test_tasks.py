from __future__ import annotations

import itertools
import subprocess
import sys

import numpy as np
import pytest

from assay.errors import TaskError
from assay.extensions.tabletop.tasks import ENTRIES, KINDS, make
from assay.extensions.tabletop.tasks.task import (
    HELD_BACK,
    NEW_CONTAINERS,
    SET_1,
    SET_2,
    Difficulty,
    Level,
    Setting,
    parse_level,
)
from assay.extensions.tabletop.world.env import TABLETOP_WORLD
from assay.extensions.tabletop.world.goals import PutGoal


@pytest.mark.parametrize("difficulty", list(Difficulty))
def test_every_task_can_be_made_without_overlaps(difficulty: Difficulty) -> None:
    for entry, seed in itertools.product(ENTRIES.values(), range(2)):
        setting = Setting(entry.kind, seed, entry.level, difficulty)
        task = make(setting)
        assert task.prompt.segments
        assert 1 <= task.best <= task.most
        flat = {item.name for item in task.scene.items if item.solid.flat}
        for one, other in itertools.combinations(task.scene.items, 2):
            near = np.hypot(one.x - other.x, one.y - other.y) < 0.02
            inside = flat & {one.name, other.name} or {one.fixed, other.fixed} == {True, False}
            blocked = difficulty.extreme and setting.task in ("T4", "T5")
            assert not near or inside or blocked, f"{setting.id}: {one.name} on {other.name}"


def test_levels_have_the_published_numbers_of_tasks() -> None:
    counts = [sum(level in kind.levels for kind in KINDS.values()) for level in Level]
    assert counts == [13, 13, 12, 4]


def test_levels_draw_from_their_pools() -> None:
    for seed in range(10):
        for level, looks in ((Level.L1, (SET_1, SET_2)), (Level.L2, (SET_2, SET_1))):
            scene = make(Setting("T1", seed, level)).scene
            assert scene.item("dragged_obj").texture in looks[0]
            assert scene.item("base_obj").texture in looks[1]
        scene = make(Setting("T1", seed, Level.L3)).scene
        assert scene.item("dragged_obj").shape in HELD_BACK
        assert scene.item("base_obj").shape in NEW_CONTAINERS


def test_difficulties_add_the_published_number_of_bystanders() -> None:
    for difficulty, counts in (
        (Difficulty.DEFAULT, {"T1": 1, "T4": 2, "T16": 3}),
        (Difficulty.DISTRACTING, {"T1": 6, "T3": 8, "T4": 3, "T6": 3, "T7": 3, "T11": 3, "T15": 5, "T16": 5}),
        (Difficulty.EXTREME, {"T16": 14}),
    ):
        for task, count in counts.items():
            assert len(make(Setting(task, 0, difficulty=difficulty)).goal.bystanders) == count, task


def test_a_distractor_blocks_a_goal_of_extreme_rearranging() -> None:
    task = make(Setting("T4", 3, difficulty=Difficulty.EXTREME))
    assert isinstance(task.goal, PutGoal)
    blocker = task.scene.item("distractor_1")
    assert any(np.hypot(blocker.x - put.x, blocker.y - put.y) < 0.01 for put in task.goal.stages[0])
    assert task.best == 4


def test_a_setting_gives_the_same_task_in_another_process() -> None:
    code = (
        "from assay.extensions.tabletop.tasks import make; from assay.extensions.tabletop.tasks.task import Setting; "
        "t = make(Setting('T9', 5)); print(t.prompt.words, t.scene.items[0])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    task = make(Setting("T9", 5))
    assert run.stdout.strip() == f"{task.prompt.words} {task.scene.items[0]}"


def test_a_selection_of_kinds_levels_and_ids_has_each_task_once() -> None:
    everything = TABLETOP_WORLD.select("all")
    assert len(everything) == len(set(everything)) == sum(len(kind.levels) for kind in KINDS.values())
    selected = [entry.id for entry in TABLETOP_WORLD.select("T12, T1/L3, tabletop/T1/L3")]
    assert selected == ["tabletop/T12/L1", "tabletop/T12/L2", "tabletop/T1/L3"]
    assert {entry.kind for entry in TABLETOP_WORLD.select("L4,T8")} == {"T8", "T10", "T13", "T14"}


def test_unknown_tasks_and_levels_are_refused() -> None:
    for selection, words in (
        ("T18", "unknown tabletop task 'T18'"),
        ("libero_goal", "unknown tabletop task 'libero_goal'"),
        ("tabletop/T12/L3", "unknown tabletop task 'tabletop/T12/L3': did you mean"),
        ("tabletop/T1/L9", "unknown tabletop task 'tabletop/T1/L9'"),
        ("tabletop/T0/L1", "unknown tabletop task 'tabletop/T0/L1'"),
        (" , ", "selects no tabletop task"),
    ):
        with pytest.raises(TaskError, match=words):
            TABLETOP_WORLD.select(selection)
    with pytest.raises(TaskError, match="unknown tabletop task 'T18/L1'"):
        make(Setting("T18", 0))
    with pytest.raises(TaskError, match="did you mean 'extreme'"):
        parse_level(Difficulty, "extrem")
