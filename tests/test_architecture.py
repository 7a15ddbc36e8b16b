"""The map in docs/architecture.md matches the import contract, and both are complete."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "assay"
ABOVE = ("api", "cli", "experiments", "measures", "report", "runs", "web")
"""Packages that must not depend on which world they deal with."""
CONTRACT, MAP = "pyproject.toml's layers", "docs/architecture.md's map"


def _modules() -> list[str]:
    """What is in the package: ``cli/``, ``errors``."""
    packages = (f"{path.parent.name}/" for path in SOURCE.glob("*/__init__.py"))
    return sorted([*packages, *(path.stem for path in SOURCE.glob("*.py") if path.stem != "__init__")])


def _layers() -> list[str]:
    """What the contract has, from the top."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    layers = next(each["layers"] for each in contracts if each["type"] == "layers")
    names = [name.strip().removeprefix("assay.") for layer in layers for name in re.split(r"[|:]", layer)]
    return [f"{name}/" if (SOURCE / name).is_dir() else name for name in names]


def _mapped() -> list[str]:
    """What the map has, from the top; lines that go on are indented."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    drawn = page.split("## Layers", 1)[1].split("```")[1]
    return re.findall(r"^(\w+/?)  +\S", drawn, re.MULTILINE)


def _difference(one: Iterable[str], other: Iterable[str], name: str) -> str:
    """What has to be done to the second to be the same, in one line; empty where nothing has."""
    missing, extra = sorted(set(one) - set(other)), sorted(set(other) - set(one))
    said = [f"lacks {', '.join(missing)}"] * bool(missing) + [
        f"has {', '.join(extra)}, which is not there"
    ] * bool(extra)
    return f"{name}: {'; '.join(said)}" if said else ""


def test_every_module_is_in_the_layers_and_on_the_map_in_the_same_order():
    layers, mapped = _layers(), _mapped()
    for names, owner in ((layers, CONTRACT), (mapped, MAP)):
        difference = _difference(_modules(), names, owner)
        assert not difference, difference
    assert layers == mapped


def test_outside_of_the_simulator_mujoco_comes_without_its_choice_of_a_gl_library():
    """Whoever imported it first in another way would load a library, or fail where ``MUJOCO_GL`` names none."""
    outside = (path for path in SOURCE.rglob("*.py") if path.relative_to(SOURCE).parts[0] != "sim")
    wrong = [
        str(path)
        for path in outside
        if re.search(r"^(import mujoco|from mujoco)", path.read_text("utf-8"), re.M)
    ]
    assert wrong == []


def _compared(node: ast.AST) -> Iterator[ast.AST]:
    """What a node compares, tests for membership, or matches; elements one by one."""
    if isinstance(node, ast.Compare):
        sides = (node.left, *node.comparators)
    elif isinstance(node, ast.MatchValue):
        sides = (node.value,)
    else:
        return
    for side in sides:
        yield from side.elts if isinstance(side, ast.Tuple | ast.List | ast.Set) else (side,)


def _asks_for_a_world(node: ast.AST) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
        return any(isinstance(each, ast.Name) and each.id.endswith("World") for each in ast.walk(node))
    names = {
        each.value if isinstance(each, ast.Constant) else getattr(each, "id", getattr(each, "attr", None))
        for each in _compared(node)
    }
    return not names.isdisjoint({"tabletop", "LIBERO", "TABLETOP", "LIBERO_WORLD", "TABLETOP_WORLD"})


def test_comparisons_with_a_world_are_detected():
    for code in (
        "a == LIBERO", "LIBERO != a", "a in ('x', 'tabletop')", "a is sim.LIBERO_WORLD", "isinstance(a, TabletopWorld)"
    ):  # fmt: skip
        assert any(map(_asks_for_a_world, ast.walk(ast.parse(code)))), code


def test_nothing_above_the_worlds_asks_which_one_it_is():
    found = [
        f"{path.relative_to(SOURCE)}:{node.lineno}"  # type: ignore[attr-defined]
        for package in ABOVE
        for path in sorted((SOURCE / package).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if _asks_for_a_world(node)
    ]
    assert found == []
