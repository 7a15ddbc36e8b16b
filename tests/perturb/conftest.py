"""Facts about a task and its compiled model, by name, so that two tasks can be compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from functools import lru_cache
from typing import Any

import mujoco
import numpy as np
import pytest

from assay.sim import CompiledScene, Simulation, compile_scene, load_pack
from assay.tasks import Atom, Entity, Region, Task
from assay.tasks.scene import CameraChange

Facts = dict[str, Any]

NEAR = 0.003
"""Tolerance for the positions (in metres) and axes of settled objects."""
ELEMENTS = {
    "body": ("nbody", ("pos", "quat", "mass")),
    "geom": ("ngeom", ("pos", "size", "rgba")),
    "cam": ("ncam", ("pos", "quat", "fovy")),
    "light": ("nlight", ("diffuse", "dir", "castshadow")),
    "mat": ("nmat", ("rgba",)),
}
"""Kinds of named elements in a model, the names of their numbers, and the arrays that are compared."""
ACCESS = {"cam": "camera", "mat": "material"}


@pytest.fixture(scope="session")
def facts() -> Callable[[Any], Facts]:
    """All facts about a task: its fields, arrays of its compiled model, and the positions in which objects settle.

    For a task of the tabletop world, only its fields.
    """

    @lru_cache(maxsize=4)
    def of_scene(scene: Any) -> Facts:
        compiled = compile_scene(scene, load_pack("primitives"))
        return {**dict(_model(compiled.model)), **dict(_settled(compiled))}

    def found(task: Any) -> Facts:
        said = dict(_flat(task, ""))
        if not isinstance(task, Task):
            return said
        both = said | of_scene(task.scene)
        return {key.replace(task.scene.arena.workspace, "workspace"): both[key] for key in both}

    return found


@pytest.fixture(scope="session")
def differences() -> Callable[[Facts, Facts], set[str]]:
    """Function that returns the facts that differ; an element that only one task has is ``new`` or ``gone``."""

    def found(before: Facts, after: Facts) -> set[str]:
        elements = [{_element(key) for key in each} for each in (before, after)]
        apart = {f"{each} gone" for each in elements[0] - elements[1]}
        apart |= {f"{each} new" for each in elements[1] - elements[0]}
        shared = [key for key in before.keys() & after.keys() if not _same(before[key], after[key], key)]
        lone = {key for key in before.keys() ^ after.keys() if _element(key) in elements[0] & elements[1]}
        return apart | set(shared) | lone

    return found


def _element(key: str) -> str:
    return key.rpartition(" ")[0] or key


def _same(one: Any, other: Any, key: str) -> bool:
    if key.startswith("settled "):
        return float(np.abs(np.subtract(one, other)).max()) < NEAR
    return np.array_equal(one, other) if isinstance(one, np.ndarray) else bool(one == other)


def _flat(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield the leaves of nested dataclasses; named items are listed by name, not by position."""
    if is_dataclass(value):
        for field in fields(value):
            yield from _flat(getattr(value, field.name), f"{path}{field.name} ")
    elif isinstance(value, tuple) and value and isinstance(value[0], Entity | CameraChange):
        for each in value:
            yield from _flat(each, f"{path}{each.name} ")
    elif isinstance(value, tuple) and value and isinstance(value[0], Region):
        for each in value:
            yield from _flat(replace(each, target=""), f"{path}{each.full_name} ")
    elif isinstance(value, tuple) and value and isinstance(value[0], Atom):
        yield from ((f"{path}{each} holds", True) for each in value)
    elif path.endswith("surfaces "):
        for surface, finish in value:
            yield from _flat(finish, f"{path}{surface} ")
    elif value != ():
        yield path.strip(), value


def _model(model: mujoco.MjModel) -> Iterator[tuple[str, Any]]:
    """Yield the arrays of a model row by row, under the names of the elements."""
    for kind, (count, arrays) in ELEMENTS.items():
        for index in range(getattr(model, count)):
            element = getattr(model, ACCESS.get(kind, kind))(index)
            path = f"{kind} {element.name or 'unnamed'}"
            for name in arrays:
                yield f"{path} {name}", getattr(model, f"{kind}_{name}")[index].copy()
            if kind == "geom":
                material = model.geom_matid[index]
                yield f"{path} material", model.material(material).name if material >= 0 else None


def _settled(compiled: CompiledScene) -> Iterator[tuple[str, Any]]:
    """Yield the settled positions, relative to the workspace's centre, and the initial joint angles of the arm."""
    world = Simulation(compiled)
    seen = world.reset(world.sample(1))
    for name in compiled.entities:
        position, rotation = world.pose(name)
        place = position - np.array(compiled.layout.offset)
        yield from ((f"settled {name} place", place[:2]), (f"settled {name} height", place[2]))
        yield f"settled {name} axes", rotation
    for index, region in compiled.regions.items():
        if region.inner_joints:
            yield (
                f"settled {index} joints",
                world.data.qpos[compiled.model.jnt_qposadr[list(region.inner_joints)]],
            )
    yield "settled arm joints", seen.joints
    yield "settled arm base", world.data.body("robot0_base").xpos - np.array(compiled.layout.offset)
    world.close()
