from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from assay import errors
from assay.errors import AssayError, BDDLError, did_you_mean

TREE = {
    name: each
    for name, each in vars(errors).items()
    if inspect.isclass(each) and issubclass(each, AssayError)
}


@pytest.mark.parametrize("name", TREE)
def test_every_error_is_drawn_in_the_tree(name: str):
    assert errors.__doc__ is not None
    lines = [line for line in errors.__doc__.splitlines() if name in line.split()]
    assert len(lines) == 1 and len(lines[0].split(name, 1)[1].strip()) > 10


def test_the_tree_draws_nothing_else():
    assert errors.__doc__ is not None
    drawn = {word for word in errors.__doc__.split() if word.endswith("Error")}
    assert drawn == set(TREE)


@pytest.mark.parametrize(
    ("file", "line", "message"),
    [
        ("a.bddl", 3, "a.bddl:3: odd"),
        (Path("b/a.bddl"), None, "b/a.bddl: odd"),
        (None, 3, "3: odd"),
        (None, None, "odd"),
    ],
)
def test_a_bddl_error_begins_with_its_place(file: Path | str | None, line: int | None, message: str):
    error = BDDLError("odd", file=file, line=line)
    assert str(error) == message
    assert (error.reason, error.line) == ("odd", line)


def test_the_nearest_name_is_offered():
    assert did_you_mean("agentveiw", ["frontview", "agentview"]) == "did you mean 'agentview'?"


def test_the_nearest_name_is_found_whatever_its_case():
    assert did_you_mean("UPRIGHTON", ["UprightOn", "On"]) == "did you mean 'UprightOn'?"


def test_names_that_are_near_to_nothing_get_the_list():
    assert did_you_mean("zzz", ["b", "a", "b"]) == "valid: a, b"


def test_a_long_list_is_cut():
    assert did_you_mean("zzz", [f"n{i}" for i in range(9)]) == "valid: n0, n1, n2, n3, n4, n5, ..."
    assert did_you_mean("zzz", "abc", most=3) == "valid: a, b, c"


def test_an_empty_list_says_so():
    assert did_you_mean("zzz", []) == "there is none to choose from"
