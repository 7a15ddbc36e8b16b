from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.tasks.bddl.reader import join_expressions
from assay.tasks.bddl.sexpr import evaluate


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("3", 3.0),
        ("-0.25", -0.25),
        (".5", 0.5),
        ("5.", 5.0),
        ("1e-3", 1e-3),
        ("2E+2", 200.0),
        ("pi", math.pi),
        ("np.pi", math.pi),
        ("-np.pi / 4", -math.pi / 4),
        ("math.pi*3/2", math.pi * 3 / 2),
        ("1-2-3", -4.0),
        ("8/4/2", 1.0),
        ("1+2*3", 7.0),
        ("2*-3", -6.0),
        ("--3", 3.0),
        ("1 - pi/2 + 2", 1 - math.pi / 2 + 2),
    ],
)
def test_expressions_have_the_value_python_gives_them(expression: str, value: float):
    assert evaluate(expression) == value


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("", "is not a number"),
        ("two", "is not a number"),
        ("1 2 3pi", "is not a number"),
        ("2**3", "is not a number"),
        ("1+", "is not a number"),
        ("*2", "is not a number"),
        ("pi()", "is not a number"),
        ("pi.real", "is not a number"),
        ("__import__", "is not a number"),
        ("0x10", "is not a number"),
        ("nan", "is not a finite number"),
        ("-Infinity", "is not a finite number"),
        ("1e200*1e200", "is not a finite number"),
        ("1/0", "divides by zero"),
        ("1" * 1000, "is too long for a number"),
    ],
)
def test_anything_else_is_refused_with_a_reason(expression: str, reason: str):
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
