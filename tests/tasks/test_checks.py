from __future__ import annotations

from dataclasses import replace

import pytest

from assay.errors import TaskError
from assay.tasks import Atom, Entity, Goal, Instruction, Predicate, Rectangle, Region, Task, check, load

TASK = load("libero_goal/0")


def with_scene(**changes: object) -> Task:
    return replace(TASK, scene=replace(TASK.scene, **changes))  # type: ignore[arg-type]


CASES = [
    (
        with_scene(objects=(Entity("wine_rack_1", "plate"),)),
        "objects[0]: the name 'wine_rack_1' is already taken",
    ),
    (with_scene(regions=(Region("a", "main_table"),)), "regions[0]: region 'a' lies on the workspace"),
    (
        with_scene(regions=(Region("a", "plate_1", (Rectangle(0, 0, 0, float("inf")),)),)),
        "regions[0].rectangles[0]: a rectangle must consist of finite numbers",
    ),
    (
        with_scene(regions=(Region("b_c", "a"), Region("c", "a_b"))),
        "regions[1]: the name 'a_b_c' is already taken",
    ),
    (with_scene(initial=(Atom(Predicate.ON, ("plate_1",)),)), "initial[0]: On takes 2 names, not 1"),
    (replace(TASK, goal=Goal(())), "goal: the goal is empty"),
    (replace(TASK, goal=Goal((Atom(Predicate.OPEN, ("plate_7",)),))), "goal[0]: unknown object or region"),
    (replace(TASK, of_interest=("plate_1", "sink")), "of_interest[1]: unknown object or region 'sink'"),
    (replace(TASK, instruction=Instruction(" ")), "the instruction is empty"),
]


@pytest.mark.parametrize(("task", "message"), CASES, ids=[case[1][:40] for case in CASES])
def test_a_task_that_is_invalid_is_rejected_with_the_place(task: Task, message: str):
    with pytest.raises(TaskError) as caught:
        check(task)
    assert str(caught.value).startswith("libero_goal/0: ")
    assert message in str(caught.value)
