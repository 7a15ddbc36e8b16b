from __future__ import annotations

from pathlib import Path

import pytest

from assay.errors import BDDLError
from assay.tasks import bddl

TEXT = """(define (problem LIBERO_Tabletop_Manipulation)
  (:domain robosuite)
  (:language put the bowl on the plate)
  (:regions
    (bowl_region
      (:target main_table)
      (:ranges ((0.1 0.1 0.2 0.2)))
      (:yaw_rotation ((0 pi))))
    (plate_region
      (:target main_table)
      (:ranges ((0.3 0.3 0.4 0.4))))
    (left_region
      (:target bowl_drainer_1)))
  (:fixtures
    main_table - table)
  (:objects
    bowl_1 - bowl
    plate_1 - plate)
  (:obj_of_interest
    bowl_1
    plate_1)
  (:init
    (On bowl_1 main_table_bowl_region)
    (On plate_1 main_table_plate_region))
  (:goal
    (And (On bowl_1 plate_1)))
)
"""

# What is replaced, what by, the line that is reported, a part of the reason.
CASES = [
    # parentheses
    ("(On bowl_1 plate_1)))\n)", "(On bowl_1 plate_1)))\n", 1, "'(define' is never closed"),
    ("(On bowl_1 plate_1)))\n)", "(On bowl_1 plate_1)))\n))", 27, "unmatched ')'"),
    ("main_table - table)", "main_table - table))", 16, "text after the end of the task on line 15"),
    ("(:goal", "(" * 70, 25, "nested more than 64 levels deep"),
    # sections
    ("(define", "(defin", 1, "begins with '(define', not with '(defin'"),
    ("(:language put the bowl on the plate)", "", 1, "section ':language' is missing"),
    ("(:init", "(:inti", 22, "unknown section ':inti'; did you mean ':init'?"),
    ("(:domain", "(:domain robosuite) (:domain", 2, "section ':domain' was already given"),
    ("(:domain robosuite)", "(:domain behavior)", 2, "the domain is 'behavior', not 'robosuite'"),
    ("Tabletop_Manipulation)", "Tabeltop_Manipulation)", 1, "unknown problem"),
    ("put the bowl on the plate", "", 3, "the instruction in ':language' is empty"),
    # regions
    ("(:target bowl_drainer_1)", "", 12, "region 'left_region' has no ':target'"),
    ("(:ranges ((0.1", "(:range ((0.1", 7, "unknown attribute ':range'; did you mean ':ranges'?"),
    ("0.1 0.1 0.2 0.2", "0.1 0.1 0.2", 7, "expected 4 numbers, found 3"),
    ("0.1 0.1 0.2 0.2", "0.1 0.1 nan 0.2", 7, "'nan' is not a finite number"),
    ("0.1 0.1 0.2 0.2", "0.3 0.1 0.2 0.2", 5, "the minimum x of a rectangle, 0.3, exceeds its maximum, 0.2"),
    ("((0.1 0.1 0.2 0.2))", "()", 7, "':ranges' is empty"),
    ("(:ranges ((0.1 0.1 0.2 0.2)))", "", 5, "lies on the workspace 'main_table', so it needs a rectangle"),
    ("(0 pi)", "(0 pi/0)", 8, "'pi/0' divides by zero"),
    ("(0 pi)", "(0 __import__('os'))", 8, "expected a number, found '('os''"),
    ("(plate_region", "(bowl_region", 9, "the name 'main_table_bowl_region' is already taken by a region"),
    # things
    ("plate_1 - plate)", "plate_1)", 18, "'plate_1' has no category: write 'name - category'"),
    ("plate_1 - plate)", "bowl_1 - plate)", 18, "the name 'bowl_1' is already taken by an object"),
    ("plate_1 - plate)", "pl@te - plate)", 18, "'pl@te' is not a valid name"),
    ("main_table - table)", ")", 14, "the workspace of this problem, 'main_table - table', is not listed"),
    ("main_table - table)", "main_table - table floor - floor)", 15, "'floor' is the workspace of another"),
    # relations
    ("(On bowl_1 main_table_bowl_region)", "(On bwol_1 main_table_bowl_region)", 23, "unknown object"),
    (
        "(On bowl_1 main_table_bowl_region)",
        "(On bowl_1 bowl_drainer_1_left_region)",
        23,
        "belongs to 'bowl_drainer_1', which is not in the scene",
    ),
    # goal and things of interest
    ("(And (On bowl_1 plate_1))", "(And (On bowl_1 plat_1))", 26, "unknown object or region 'plat_1'"),
    ("(And (On bowl_1 plate_1))", "(And (Uprighton bowl_1))", 26, "UprightOn takes 2 names, not 1"),
    ("(And (On bowl_1 plate_1))", "(And)", 25, "the goal is empty"),
    ("(And (On bowl_1 plate_1))", "(Open bowl_1) (Open bowl_1)", 25, "':goal' takes only one predicate"),
    ("(And (On bowl_1 plate_1))", "(And (Not (On bowl_1 plate_1)))", 26, "'Not' is not supported"),
    ("(And (On bowl_1 plate_1))", "(And (On bowl_1 (plate_1)))", 26, "expected names without parentheses"),
]


def test_the_text_the_cases_start_from_is_sound():
    assert bddl.parse_document(TEXT, id="x").warnings == ()


@pytest.mark.parametrize(("old", "new", "line", "reason"), CASES, ids=[case[3][:40] for case in CASES])
def test_a_mistake_is_one_line_with_file_line_and_reason(old: str, new: str, line: int, reason: str):
    assert old in TEXT
    with pytest.raises(BDDLError) as caught:
        bddl.parse(TEXT.replace(old, new, 1), id="x", file="dir/my.bddl")
    assert reason in caught.value.reason
    assert caught.value.line == line
    assert str(caught.value) == f"dir/my.bddl:{line}: {caught.value.reason}"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "x.bddl:1: the file is empty"),
        (b" \n; only a comment\n", "x.bddl:1: the file is empty"),
        (b"(define\n\xff\xfe)", "x.bddl:2: the file is not text: byte 0xff is not UTF-8"),
        (b"(define\n\n\0)", "x.bddl:3: the file is not text: it contains a zero byte"),
        (b"(" * 1_000_000, "x.bddl:1: parentheses are nested more than 64 levels deep"),
        (b"(define (problem " + b"x" * 100_000 + b"))", "x.bddl:1: section ':language' is missing"),
        (b" " * 5_000_001, "x.bddl: the file is larger than 5,000,000 bytes, so it is not a task file"),
    ],
    ids=["empty", "comment", "binary", "zero", "deep", "long word", "huge"],
)
def test_a_file_that_is_not_a_task_file_is_rejected(tmp_path: Path, content: bytes, message: str):
    file = tmp_path / "x.bddl"
    file.write_bytes(content)
    with pytest.raises(BDDLError) as caught:
        bddl.read(file)
    assert str(caught.value) == f"{tmp_path}/{message}"


def test_a_file_that_is_not_there_is_rejected(tmp_path: Path):
    with pytest.raises(BDDLError, match=r"none\.bddl: cannot be read: No such file or directory"):
        bddl.read(tmp_path / "none.bddl")
    with pytest.raises(BDDLError, match="cannot be read: Is a directory"):
        bddl.read(tmp_path)


def test_signs_that_would_disturb_a_terminal_are_not_passed_on():
    with pytest.raises(BDDLError) as caught:
        bddl.parse(TEXT.replace("(On bowl_1 plate_1)", "(On bowl_1 \x1b[31mx\u2028y)"), id="x")
    assert str(caught.value).isprintable()
