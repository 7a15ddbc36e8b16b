from __future__ import annotations

import pkgutil
import re
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import assay
from assay import errors
from assay.errors import AssayError, BDDLError, did_you_mean

LINE = re.compile(
    r"^    (?P<indent>(?:[│├└ ][─ ][─ ] )*)(?P<name>\w+Error) +(?P<about>.{10,})$", re.MULTILINE
)
OPTIONAL = {"torch", "vla_eval", "lerobot", "wandb", "trackio"}
"""Packages of extras; modules that need them may be absent."""


def _below(parent: type[AssayError]) -> Iterator[tuple[str, str]]:
    """Yield the name of every error class and of its base class."""
    for each in parent.__subclasses__():
        if each.__module__.startswith("assay."):
            yield each.__name__, parent.__name__
            yield from _below(each)


def _raised() -> Counter[tuple[str, str]]:
    """Count the error classes in all of Assay's modules, with their base classes."""
    for module in pkgutil.walk_packages(assay.__path__, "assay."):
        try:
            import_module(module.name)
        except ModuleNotFoundError as missing:
            assert missing.name in OPTIONAL, f"{module.name}: {missing}"
    return Counter(_below(AssayError))


def _drawn() -> Counter[tuple[str, str]]:
    """Count the error classes in the tree, with their base classes."""
    assert errors.__doc__ is not None
    drawn: Counter[tuple[str, str]] = Counter()
    above: list[str] = []
    for line in LINE.finditer(errors.__doc__):
        del above[len(line["indent"]) // 4 :]
        drawn.update((line["name"], parent) for parent in above[-1:])
        above.append(line["name"])
    return drawn


@pytest.mark.extensions()
def test_every_error_class_is_in_the_tree():
    raised, drawn = _raised(), _drawn()
    assert not raised - drawn, "not drawn in assay/errors.py"
    assert not drawn - raised, "drawn in assay/errors.py, and in no module"


def test_every_line_of_the_tree_is_read():
    assert errors.__doc__ is not None
    assert len(LINE.findall(errors.__doc__)) == len(re.findall(r"\w+Error\b", errors.__doc__)) > 30


def test_bddl_error_begins_with_its_place():
    for file, line, place in (
        ("a.bddl", 3, "a.bddl:3: "),
        (Path("b/a.bddl"), None, "b/a.bddl: "),
        (None, 3, "3: "),
    ):
        error = BDDLError("odd", file=file, line=line)
        assert str(error) == f"{place}odd" and (error.reason, error.line) == ("odd", line)


def test_nearest_name_is_suggested_or_valid_names_are_listed():
    assert did_you_mean("agentveiw", ["frontview", "agentview"]) == "did you mean 'agentview'?"
    assert did_you_mean("UPRIGHTON", ["UprightOn", "On"]) == "did you mean 'UprightOn'?"
    assert did_you_mean("zzz", ["b", "a", "b"]) == "choose from a, b"
    assert did_you_mean("zzz", [f"n{i}" for i in range(9)]) == "choose from n0, n1, n2, n3, n4, n5, ..."
    assert did_you_mean("zzz", "abc", most=3) == "choose from a, b, c"
    assert did_you_mean("zzz", []) == "no valid names exist"
