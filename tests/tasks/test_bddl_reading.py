from __future__ import annotations

import math
from pathlib import Path

import pytest

from assay.tasks import Arena, Atom, Entity, Predicate, Rectangle, bddl

TEXT = """; a comment before everything
(define (problem LIBERO_Tabletop_Manipulation)
  (:domain robosuite)
  (:language Put  the cook's PLATE, please,
     on the stove)           ; another one
  (:regions
    (Plate_region (:target main_table) (:ranges ((0.1 -0.2 0.30000000000000004 0.2) (0 0 1 1))))
    (stove_region (:target main_table) (:ranges ((-1 -1 1 1))) (:yaw_rotation ((-np.pi / 4 pi/2)))
                  (:rgba (0 0.5 1 .25)))
    (cook_region (:target flat_stove_1))
    (left_region (:target bowl_drainer_1)))
  (:fixtures flat_stove_1 - flat_stove
             main_table - table)
  (:objects plate_1 plate_2 - plate  soup - alphabet_soup)
  (:obj_of_interest plate_1 flat_stove_1_cook_region)
  (:init (On plate_1 main_table_plate_Region)
         (ON plate_2 plate_1)
         (in soup plate_2)
         (On flat_stove_1 main_table_stove_region)
         (Turnoff flat_stove_1))
  (:goal (And (On plate_1 flat_stove_1_cook_region) (turnON flat_stove_1))))
"""


def test_every_part_of_a_file_is_read():
    task = bddl.parse(TEXT, id="mine")
    scene = task.scene
    assert task.id == "mine"
    assert scene.arena is Arena.TABLE and scene.style == ""
    assert scene.fixtures == (Entity("flat_stove_1", "flat_stove"),)
    assert scene.objects == (
        Entity("plate_1", "plate"),
        Entity("plate_2", "plate"),
        Entity("soup", "alphabet_soup"),
    )
    plate, stove, cook, left = scene.regions
    assert plate.rectangles == (Rectangle(0.1, -0.2, 0.30000000000000004, 0.2), Rectangle(0, 0, 1, 1))
    assert stove.yaw == (-math.pi / 4, math.pi / 2) and stove.rgba == (0, 0.5, 1, 0.25)
    assert plate.yaw is None and plate.rgba is None
    assert cook.full_name == "flat_stove_1_cook_region" and cook.rectangles == ()
    assert scene.initial[0] == Atom(Predicate.ON, ("plate_1", "main_table_plate_region"))
    assert [atom.predicate for atom in scene.initial[1:]] == [
        Predicate.ON,
        Predicate.IN,
        Predicate.ON,
        Predicate.TURN_OFF,
    ]
    assert str(task.goal) == "On plate_1 flat_stove_1_cook_region and TurnOn flat_stove_1"
    assert task.of_interest == ("plate_1", "flat_stove_1_cook_region")
    assert left.target == "bowl_drainer_1"


def test_the_instruction_keeps_case_and_signs_but_not_runs_of_blanks():
    assert bddl.parse(TEXT, id="x").instruction.text == "Put the cook's PLATE, please, on the stove"


def test_the_instruction_comes_from_the_file_and_never_from_its_name(tmp_path: Path):
    file = tmp_path / "open_the_drawer.bddl"
    file.write_text(TEXT)
    task = bddl.read(file)
    assert task.id == "open_the_drawer"
    assert task.instruction.text.startswith("Put the cook's PLATE")


def test_a_goal_may_be_one_predicate_without_and():
    goal = TEXT[TEXT.index("(And (On") :]
    assert (
        str(bddl.parse(TEXT.replace(goal, "(TurnOn flat_stove_1)))"), id="x").goal) == "TurnOn flat_stove_1"
    )


@pytest.mark.parametrize(
    ("problem", "arena", "style"),
    [
        ("libero_tabletop_manipulation", Arena.TABLE, ""),
        ("LIBERO_Kitchen_Tabletop_Manipulation", Arena.KITCHEN, ""),
        ("LIBERO_Floor_Manipulation", Arena.FLOOR, ""),
        (
            "Libero_Tabletop_Manipulation_tabletop_table_Fabric001_REFL_6K",
            Arena.TABLE,
            "tabletop_table_Fabric001_REFL_6K",
        ),
    ],
)
def test_the_problem_names_arena_and_style(problem: str, arena: Arena, style: str):
    category = "table" if arena is Arena.TABLE else arena.workspace
    text = (
        TEXT.replace("LIBERO_Tabletop_Manipulation", problem)
        .replace("main_table - table", f"{arena.workspace} - {category}")
        .replace("main_table", arena.workspace)
    )
    task = bddl.parse(text, id="x")
    assert (task.scene.arena, task.scene.style) == (arena, style)
    assert bddl.parse(bddl.write(task), id="x") == task


def test_a_relation_over_nothing_in_the_scene_is_dropped_with_a_warning():
    text = TEXT.replace("(Turnoff flat_stove_1)", "(Turnoff faucet_1)\n (On soap_1 sink_region)")
    document = bddl.parse_document(text, id="x")
    assert len(document.task.scene.initial) == 4
    assert [(note.line, note.text) for note in document.warnings] == [
        (20, "'TurnOff faucet_1' has no effect: it names nothing in the scene"),
        (21, "'On soap_1 sink_region' has no effect: it names nothing in the scene"),
    ]


def test_things_placed_never_or_twice_get_a_warning():
    text = TEXT.replace("(in soup plate_2)", "(On plate_1 plate_2)")
    notes = [(note.line, note.text) for note in bddl.parse_document(text, id="x").warnings]
    assert notes == [
        (14, "'plate_1' is placed 2 times"),
        (14, "'soup' is not placed by any initial relation"),
    ]


def test_a_byte_order_mark_and_windows_line_ends_are_no_obstacle(tmp_path: Path):
    file = tmp_path / "x.bddl"
    file.write_bytes(b"\xef\xbb\xbf" + TEXT.replace("\n", "\r\n").encode())
    assert bddl.read(file) == bddl.parse(TEXT, id="x")
