from __future__ import annotations

from assay.extensions.tabletop.prompts.perturbations import OtherInstruction, read_fields
from assay.extensions.tabletop.tasks import make
from assay.extensions.tabletop.tasks.task import Level, Setting, TableTask
from assay.extensions.tabletop.world.env import play
from assay.extensions.tabletop.world.goals import PutGoal
from assay.extensions.tabletop.world.oracle import TableOracle
from assay.extensions.tabletop.world.simulation import ActionEffect
from assay.perturb import apply_perturbations


def told_other(kind: str, seed: int, level: Level = Level.L1) -> TableTask:
    return apply_perturbations(make(Setting(kind, seed, level)), OtherInstruction(), seed=seed)


def test_a_piece_that_should_go_into_a_container_is_to_be_turned_where_it_is():
    task = told_other("T1", 0)
    piece = task.scene.item("dragged_obj")
    assert task.prompt.text.startswith("Rotate the {dragged_obj} ")
    assert [name for name, _ in task.prompt.pictures] == ["dragged_obj"]
    assert isinstance(task.asked, PutGoal)
    ((put,),) = task.asked.stages
    assert (put.item, put.x, put.y, put.turned) == ("dragged_obj", piece.x, piece.y, True)
    own = make(Setting("T1", 0))
    drawn = {apply_perturbations(own, OtherInstruction(), seed=seed).prompt.text for seed in range(80)}
    assert len(drawn) == 5


def test_the_count_is_kept_where_a_sweep_cannot_be_done_as_told():
    own = make(Setting("T13", 0, Level.L4))
    task = told_other("T13", 0, Level.L4)
    (count,) = read_fields(own)["count"]
    assert (
        task.prompt.text == f"Sweep {count} {{swept_obj}} into {{bounds}} without exceeding {{constraint}}."
    )
    assert task.asked is None


def test_what_is_gathered_by_profile_is_what_has_the_profile():
    found = 0
    for seed in range(12):
        task = told_other("T14", seed, Level.L4)
        assert task.prompt.text == "Put all objects with the same profile as {base_obj} into it."
        base = task.scene.item("base_obj").solid.profile
        alike = {item.name for item in task.scene.items if not item.fixed and item.solid.profile == base}
        if task.asked is None:
            assert not alike or not base
        else:
            assert isinstance(task.asked, PutGoal)
            assert {put.item for put in task.asked.stages[0]} == alike
            assert {*task.asked.bystanders, *alike} == {i.name for i in task.scene.items if not i.fixed}
            found += 1
    assert found


def test_where_nothing_has_the_texture_there_is_nothing_to_gather():
    task = told_other("T15", 0)
    assert task.prompt.text == "Put all objects with the same texture as {base_obj} into it."
    assert task.asked is None


def test_the_oracle_does_what_is_asked_and_then_nothing():
    task = told_other("T1", 0)
    played = play(task, TableOracle())
    assert not played.success
    assert played.env.effects[0] is ActionEffect.MOVED and set(played.env.effects[1:]) == {
        ActionEffect.NOTHING
    }
    assert played.env.held[0] == "dragged_obj"


def test_the_oracle_gathers_what_it_is_told_to():
    task = next(
        task
        for seed in range(20)
        if (task := told_other("T14", seed, Level.L4)).asked not in (None, task.goal)
    )
    assert isinstance(task.asked, PutGoal)
    played = play(task, TableOracle())
    assert not played.success
    assert {name for name in played.env.held if name} == {put.item for put in task.asked.stages[0]}
    assert played.env.effects[-1] is ActionEffect.NOTHING
