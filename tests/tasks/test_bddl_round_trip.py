from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from assay.errors import BDDLError, TaskError
from assay.tasks import (
    Arena,
    Atom,
    Entity,
    Goal,
    Instruction,
    Predicate,
    Rectangle,
    Region,
    Scene,
    Task,
    bddl,
    check,
    load,
)
from assay.tasks.bddl.reader import join_expressions
from assay.tasks.bddl.sexpr import evaluate

NAMES = st.from_regex(r"[a-z][a-z0-9_.-]{0,8}", fullmatch=True)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
WORDS = st.text(
    st.characters(exclude_categories=("Cs", "Cc", "Zs", "Zl", "Zp"), exclude_characters="();"), min_size=1
)


def rectangles() -> st.SearchStrategy[Rectangle]:
    spans = st.tuples(NUMBERS, NUMBERS).map(sorted)
    return st.tuples(spans, spans).map(lambda xy: Rectangle(xy[0][0], xy[1][0], xy[0][1], xy[1][1]))


@st.composite
def tasks(draw: st.DrawFn) -> Task:
    arena = draw(st.sampled_from(Arena))
    names = draw(st.lists(NAMES, min_size=1, max_size=6, unique=True))
    entities = [Entity(name, draw(NAMES)) for name in names]
    split = draw(st.integers(0, len(entities)))
    targets = st.sampled_from([arena.workspace, *names]) | NAMES
    regions = []
    for name in draw(st.lists(NAMES, max_size=5)):
        target = draw(targets)
        least = 1 if target == arena.workspace else 0
        regions.append(
            Region(
                name=name,
                target=target,
                rectangles=tuple(draw(st.lists(rectangles(), min_size=least, max_size=3))),
                yaw=draw(st.none() | st.tuples(NUMBERS, NUMBERS)),
                rgba=draw(st.none() | st.tuples(NUMBERS, NUMBERS, NUMBERS, NUMBERS)),
            )
        )
    present = {arena.workspace, *names}
    usable = [*names, arena.workspace, *(region.full_name for region in regions if region.target in present)]

    def atoms(least: int) -> tuple[Atom, ...]:
        predicates = draw(st.lists(st.sampled_from(Predicate), min_size=least, max_size=4))
        return tuple(
            Atom(known, tuple(draw(st.sampled_from(usable)) for _ in range(known.arity)))
            for known in predicates
        )

    scene = Scene(
        arena=arena,
        fixtures=tuple(entities[:split]),
        objects=tuple(entities[split:]),
        regions=tuple(regions),
        initial=atoms(0),
        style=draw(st.from_regex(r"([A-Za-z0-9_.-]{1,12})?", fullmatch=True)),
    )
    task = Task(
        id="generated",
        scene=scene,
        goal=Goal(atoms(1)),
        instruction=Instruction(" ".join(draw(st.lists(WORDS, min_size=1, max_size=5)))),
        of_interest=tuple(draw(st.lists(st.sampled_from(usable), max_size=3))),
    )
    try:
        check(task)
    except TaskError:
        assume(False)
    return task


@given(tasks())
def test_a_written_task_is_parsed_back_equal(task: Task):
    text = bddl.write(task)
    assert bddl.parse(text, id=task.id) == task
    assert bddl.write(bddl.parse(text, id=task.id)) == text


@given(st.text(st.sampled_from("() \n;-:aE0.define")))
def test_any_text_is_rejected(text: str):
    with pytest.raises(BDDLError) as caught:
        bddl.parse(text, id="x", file="any.bddl")
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("sign", ["(", ")", ";"])
def test_an_instruction_that_no_file_can_hold_is_rejected(sign: str):
    task = replace(load("libero_goal/0"), instruction=Instruction(f"open {sign} it"))
    with pytest.raises(
        TaskError, match="libero_goal/0: a task file cannot store an instruction that contains"
    ):
        bddl.write(task)


def test_a_task_that_is_invalid_is_not_written():
    task = replace(load("libero_goal/0"), goal=Goal((Atom(Predicate.OPEN, ("fridge_1",)),)))
    with pytest.raises(TaskError, match=r"libero_goal/0: goal\[0\]: unknown object or region 'fridge_1'"):
        bddl.write(task)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("3", 3.0),
        ("1e-3", 1e-3),
        ("np.pi", math.pi),
        ("-np.pi / 4", -math.pi / 4),
        ("math.pi*3/2", math.pi * 3 / 2),
        ("1-2-3", -4.0),
        ("8/4/2", 1.0),
        ("2*-3", -6.0),
        ("1 - pi/2 + 2", 1 - math.pi / 2 + 2),
    ],
)
def test_expressions_have_the_value_python_gives_them(expression: str, value: float):
    assert evaluate(expression) == value


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("", "is not a number"),
        ("2**3", "is not a number"),
        ("__import__", "is not a number"),
        ("nan", "is not a finite number"),
        ("1e200*1e200", "is not a finite number"),
        ("1/0", "divides by zero"),
        ("1" * 1000, "is too long for a number"),
    ],
)
def test_anything_else_is_rejected_with_a_reason(expression: str, reason: str):
    with pytest.raises(ValueError, match=f"^{reason}$"):
        evaluate(expression)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_number_survives_being_written_and_read(number: float):
    value = evaluate(repr(number))
    assert value == number
    assert math.copysign(1, value) == math.copysign(1, number)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("0.1 -0.2", ["0.1", "-0.2"]),
        ("-np.pi / 4 0", ["-np.pi/4", "0"]),
        ("pi/ 2 pi /2", ["pi/2", "pi/2"]),
        ("1 - 2 3", ["1-2", "3"]),
        ("", []),
    ],
)
def test_blanks_separate_expressions_unless_an_operator_needs_both_sides(text: str, parts: list[str]):
    assert join_expressions(text.split()) == parts
