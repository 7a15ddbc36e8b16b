from __future__ import annotations

from dataclasses import replace

from assay.episodes import EpisodeSpec
from assay.perturb.senses.robot import ActionDelay
from assay.runs.plan import planned_tasks

SPEC = EpisodeSpec("libero_goal/3", 0)


def test_plan_is_tasks_with_a_number_of_episodes_each():
    plan = [
        replace(SPEC, task=task, seed=seed, condition=condition, perturbations=changes)
        for task in ("libero_goal/3", "libero_goal/7")
        for condition, changes in (
            ("control", ()),
            ("x/late", (ActionDelay(1),)),
            ("x/late", (ActionDelay(2),)),
        )
        for seed in (4, 5)
    ]
    found = planned_tasks(plan)
    assert [each.name for each in found] == [
        f"{what} {task}{number}"
        for task in ("libero_goal/3", "libero_goal/7")
        for what, number in (("control", ""), ("x/late", ""), ("x/late", " 2"))
    ]
    assert [spec for each in found for spec in each.specs] == plan
    assert [found[1].episode(number).seed for number in range(3)] == [4, 5, 4]
