from __future__ import annotations

import pytest

from assay import tasks
from assay.errors import PerturbationError
from assay.extensions.tabletop.prompts.perturbations import (
    Gobbledygook,
    OtherInstruction,
    PermutedObjects,
    PromptMask,
    PromptParaphrase,
    PromptPart,
    TablePerturbation,
    TextReferents,
    Unit,
)
from assay.extensions.tabletop.tasks import KINDS, make
from assay.extensions.tabletop.tasks.task import Setting
from assay.extensions.tabletop.world.env import play
from assay.extensions.tabletop.world.oracle import TableOracle
from assay.extensions.tabletop.world.simulation import ActionEffect
from assay.perturb import Perturbation, Say, apply_perturbations
from assay.perturb.senses.images import Fog

PROMPTS: tuple[TablePerturbation, ...] = (
    PromptParaphrase(),
    *(Gobbledygook(unit) for unit in Unit),
    *(PromptMask(part) for part in PromptPart),
    TextReferents(),
    OtherInstruction(),
)
ALL: tuple[Perturbation, ...] = (*PROMPTS, PermutedObjects())


def concerns(value: Perturbation, kind: str) -> bool:
    """Whether a perturbation is defined for a kind of task; that of the senses is for all."""
    return not isinstance(value, TablePerturbation) or value.concerns(kind)


@pytest.mark.parametrize("value", ALL, ids=repr)
def test_a_perturbation_of_the_table_is_rejected_elsewhere_in_one_line(value: Perturbation):
    with pytest.raises(PerturbationError) as caught:
        apply_perturbations(tasks.load("libero_goal/0"), value, seed=0)
    said = str(caught.value)
    assert said.startswith(f"{value.kind} applies to tasks of the world 'tabletop'")
    assert "libero_goal/0" in said


@pytest.mark.parametrize("value", [Say("put it there"), Fog(3)], ids=repr)
def test_the_table_refuses_perturbations_of_the_other_world(value: Say | Fog):
    with pytest.raises(PerturbationError) as caught:
        apply_perturbations(make(Setting("T1", 0)), (PromptParaphrase(), value), seed=0)
    said = str(caught.value)
    assert said.startswith(f"{value.kind} applies to tasks of the world 'libero'")
    assert "tabletop/T1/L1" in said


@pytest.mark.parametrize("value", ALL, ids=repr)
def test_scene_and_goal_stay_and_where_a_perturbation_is_not_defined_it_is_rejected(value: Perturbation):
    for kind in KINDS.values():
        task = make(Setting(kind.id, 0, kind.levels[0]))
        if concerns(value, kind.id):
            changed = apply_perturbations(task, value, seed=0)
            assert (changed.scene, changed.goal, changed.setting) == (task.scene, task.goal, task.setting)
            assert changed == apply_perturbations(task, value, seed=0)
        else:
            with pytest.raises(
                PerturbationError, match=rf"^{value.kind} applies only to T1, .*not to {task.id}"
            ):
                apply_perturbations(task, value, seed=0)


@pytest.mark.parametrize("value", [each for each in ALL if concerns(each, "T3")], ids=repr)
def test_the_oracle_is_unmoved_by_what_is_plausible_and_idle_where_nothing_is_asked(value: Perturbation):
    task = make(Setting("T3", 0))
    played = play(apply_perturbations(task, value, seed=0), TableOracle(), perturbations=(value,))
    if value.plausible:
        assert played.flawless
    else:
        assert not played.success and set(played.env.effects) == {ActionEffect.NOTHING}
