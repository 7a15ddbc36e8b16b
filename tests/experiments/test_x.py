from __future__ import annotations

from pathlib import Path

import pytest

from assay import tasks
from assay.episodes import CONTROL, EpisodeSpec, task_of
from assay.errors import ExperimentError
from assay.experiments import load_experiment
from assay.perturb.words.rewordings.designs import LEVEL5
from assay.perturb.world.exchange import MIN_EXCHANGE_M, goal_objects
from assay.perturb.world.ground import Ground, standing_region
from assay.perturb.world.objects import NEW_COLOURS
from assay.perturb.world.targets import (
    NEW_PATTERNS,
    NEW_SIZES,
    Attribute,
    UnseenTargets,
    VariedTarget,
    moved_things,
    new_names,
)
from assay.support.streams import stream
from assay.tasks import Rectangle, Scene, Task
from assay.tasks.language.lexicon import mentions, names_of, words

FIXTURES_ALONE = ("libero_goal/0", "libero_goal/7")
"""Open a drawer, turn on a stove: nothing is moved."""
MOVING = [task for task in tasks.resolve("all") if task.id not in FIXTURES_ALONE]


def planned(task: str, seeds: tuple[int, ...] = (3,), address: str = "x") -> list[EpisodeSpec]:
    return list(load_experiment(address).plan([tasks.load(task)], seeds))


def places(scene: Scene) -> dict[str, tuple[Rectangle, ...]]:
    return {
        entity.name: region.rectangles
        for entity in scene.objects
        if (region := standing_region(scene, entity.name)) is not None
    }


def test_a_level_adds_to_the_very_draws_of_the_levels_below():
    for task in ("libero_goal/6", "libero_10/3"):
        scenes = {spec.condition: task_of(spec).scene for spec in planned(task)}
        control, first, second, third = (
            places(scenes[name]) for name in (CONTROL, "x/level1", "x/level2", "x/level3")
        )
        assert control.keys() == first.keys() == second.keys() < third.keys()
        assert control != first != second
        exchanged = [name for name in second if third[name] != second[name]]
        assert 1 <= len(exchanged) <= 4, (
            "target and receptacle change places with others, or with what was added"
        )
        for half in ("unseen", "confounding"):
            above = places(scenes[f"x/level4/{half}"])
            assert {thing: above[thing] for thing in third} == third
            fifth = [scene for name, scene in scenes.items() if name.startswith(f"x/level5/{half}/")]
            assert len(fifth) == 5 and all(scene == scenes[f"x/level4/{half}"] for scene in fifth)


def test_level_3_moves_every_object_of_interest_to_anothers_place():
    for task in ("libero_goal/6", "libero_10/8"):
        plan = {spec.condition: task_of(spec) for spec in planned(task)}
        before, after = (Ground(plan[name].scene, snug=True).spots for name in ("x/level2", "x/level3"))
        about = goal_objects(plan["x/level2"])
        assert len(about) >= 2
        assert all(before[name].distance(after[name]) >= MIN_EXCHANGE_M - 1e-9 for name in about)


def test_levels_4_and_5_name_the_moved_object():
    for task in MOVING:
        rng = stream("test", task.id)
        told = UnseenTargets().apply(task, rng)
        old, new = moved_things(task, ""), moved_things(told, "")
        assert {each.category for each in new} <= new_names().keys() and len(
            {each.category for each in new}
        ) == len(new)
        for rewording in LEVEL5.values():
            text = rewording.apply(told, rng).instruction.text
            assert all(mentions(text, new_names()[each.category]) for each in new), text
            assert not any(mentions(text, name) for each in old for name in names_of(each.category)), text


@pytest.mark.parametrize("attribute", Attribute)
@pytest.mark.parametrize("task", MOVING, ids=lambda task: task.id)
def test_levels_4_and_5_name_the_new_attribute(task: Task, attribute: Attribute):
    rng = stream("test", task.id, attribute)
    told = VariedTarget(attribute).example(task)
    words_for = {Attribute.COLOUR: NEW_COLOURS, Attribute.PATTERN: NEW_PATTERNS, Attribute.SIZE: NEW_SIZES}
    new = set(words_for[attribute]) & set(words(told.instruction.text)) - set(words(task.instruction.text))
    assert len(new) == 1
    for rewording in LEVEL5.values():
        assert new <= set(words(rewording.apply(told, rng).instruction.text))


def test_only_the_attribute_tells_the_target_from_its_look_alikes():
    for task in ("libero_goal/1", "libero_spatial/6", "libero_object/0", "libero_10/8"):
        seen = set()
        for spec in planned(task, (0, 1, 2)):
            if spec.condition != "x/level4/confounding":
                continue
            usual, made = tasks.load(task), task_of(spec)
            (change,) = (each for each in spec.perturbations if isinstance(each, VariedTarget))
            meant = {each.name: each for each in moved_things(made, "")}
            first = next(iter(meant.values()))
            alike = [
                each
                for each in made.scene.objects
                if each.category == first.category and each.name not in meant
            ]
            looks = {(each.finish, each.size) for each in alike}
            (was,) = (each for each in usual.scene.objects if each.name == first.name)
            assert (was.finish, was.size) in looks, "one looks as the target used to"
            assert (first.finish, first.size) not in looks and len(looks) == 2
            (other,) = looks - {(was.finish, was.size)}
            same_colour, same_size = other[0].colour == first.finish.colour, other[1] == first.size
            assert (same_colour, same_size) == {
                Attribute.COLOUR: (False, True),
                Attribute.PATTERN: (True, True),
                Attribute.SIZE: (True, False),
            }[change.attribute]
            seen.add(change.attribute)
        assert seen == set(Attribute), "three seeds in a row have one attribute each"


def test_where_nothing_is_moved_there_are_three_levels():
    for task in FIXTURES_ALONE:
        assert {spec.condition for spec in planned(task)} == {CONTROL, "x/level1", "x/level2", "x/level3"}


def test_time_is_a_factor_of_the_demonstrators():
    for address, limit in (("x", 1.1), ("x?time=0.8", 0.8), ("x?time=unlimited", 0.0)):
        assert load_experiment(address).limit == limit
    for time in ("0.7", "1.6", "nan", "for_ever"):
        with pytest.raises(ExperimentError):
            load_experiment(f"x?time={time}")


def test_a_task_without_a_reference_time_is_rejected_by_the_plan(tmp_path: Path):
    file = tmp_path / "people.csv"
    file.write_text("task,seconds\nlibero_goal/1,6.5\n")
    assert planned("libero_goal/1", address=f"x?times={file}")
    with pytest.raises(
        ExperimentError, match=r"people\.csv has no time for libero_goal/2; it lists: libero_goal/1$"
    ):
        planned("libero_goal/2", address=f"x?times={file}")
