"""Everything there is to say about a task as it is played, as named facts, so that two can be compared."""

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
"""By how much a settled thing may be off before it stands elsewhere, metres; and as much in its axes."""
COUNTS = {
    "body": "nbody", "geom": "ngeom", "jnt": "njnt", "dof": "nv", "site": "nsite", "cam": "ncam",
    "light": "nlight", "mat": "nmat", "tex": "ntex", "mesh": "nmesh", "actuator": "nu", "sensor": "nsensor",
}  # fmt: skip
"""How MuJoCo calls the elements of a model in the names of its arrays, and their numbers."""
ACCESS = {"jnt": "joint", "cam": "camera", "mat": "material", "tex": "texture"}
REFERS = {
    "bodyid": "body", "parentid": "body", "rootid": "body", "weldid": "body", "targetbodyid": "body",
    "matid": "mat", "dataid": "mesh", "texid": "tex", "jntid": "jnt", "trnid": "jnt", "objid": "site",
    "dof_parentid": "dof",
}  # fmt: skip
"""Fields that hold numbers of other elements: these hang on what else there is, the names do not."""
SLICES = {
    "tex_data": ("tex", "tex_adr", None),
    "mesh_vert": ("mesh", "mesh_vertadr", "mesh_vertnum"),
    "mesh_face": ("mesh", "mesh_faceadr", "mesh_facenum"),
    "mesh_normal": ("mesh", "mesh_normaladr", "mesh_normalnum"),
    "mesh_texcoord": ("mesh", "mesh_texcoordadr", "mesh_texcoordnum"),
}
"""Arrays in which the data of all elements of a kind stand one after the other: where each begins."""
FOLLOWS = {
    "names", "names_map", "paths", "dof_treeid", "body_treeid", "body_subtreemass", "cam_poscom0",
    "light_poscom0", "mesh_facenormal", "mesh_facetexcoord", "mesh_graph",
}  # fmt: skip
"""What MuJoCo works out from the rest: orders, addresses, sums over the whole model."""


@pytest.fixture(scope="session")
def facts() -> Callable[[Any], Facts]:
    """All facts about a task: what it says, the arrays of its compiled model, and where things settle.

    Of a task on the table, just what it says.
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
    """The facts of two that differ; of an element that only one has, just that it is ``new`` or ``gone``."""

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
    """The leaves of nested dataclasses; what has a name is found under it, whatever its place."""
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
    """Every array of a model: that of elements row by row under their names, others as a whole."""
    names = {kind: _names(model, kind) for kind in COUNTS}
    for name in dir(mujoco.MjModel):
        value = getattr(model, name, None)
        kind, _, field = name.partition("_")
        if name in SLICES:
            kind, start, count = SLICES[name]
            starts = getattr(model, start)
            ends = starts + getattr(model, count) if count else np.append(starts, len(value))[1:]
            for element, low, high in zip(names[kind], starts, ends, strict=True):
                yield f"{name.replace('_', f' {element} ', 1)}", value[low:high]
        elif name in ("opt", "stat", "vis"):
            yield from _struct(value, name)
        elif not isinstance(value, np.ndarray) or not value.size or name in FOLLOWS or _is_order(name):
            continue
        elif kind in COUNTS and len(value) == getattr(model, COUNTS[kind]):
            for element, row in zip(names[kind], value, strict=True):
                yield f"{kind} {element} {field}", _named(row, names, REFERS.get(name, REFERS.get(field)))
        elif name.startswith("qpos"):
            for index, joint in enumerate(names["jnt"]):
                rows = value[model.jnt_qposadr[index] :][: {0: 7, 1: 4}.get(int(model.jnt_type[index]), 1)]
                yield f"jnt {joint} {name}", rows
        else:
            yield f"model {name}", value


def _is_order(name: str) -> bool:
    """Whether an array only says where others have what."""
    return name.startswith(("_", "bvh_", "name_", "mesh_poly")) or name.endswith(("adr", "bvhnum"))


def _names(model: mujoco.MjModel, kind: str) -> list[str]:
    if kind == "dof":
        joints = [model.joint(index).name for index in model.dof_jntid]
        return [f"{joint}.{joints[:place].count(joint)}" for place, joint in enumerate(joints)]
    access = getattr(model, ACCESS.get(kind, kind))
    return [access(index).name or "unnamed" for index in range(getattr(model, COUNTS[kind]))]


def _named(row: Any, names: dict[str, list[str]], kind: str | None) -> Any:
    """A row of a model, or the names of the elements whose numbers it holds."""
    if kind is None:
        return row
    return [names[kind][number] if number >= 0 else None for number in np.atleast_1d(row)]


def _struct(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    for name in (each for each in dir(value) if not each.startswith("_")):
        found = getattr(value, name)
        if isinstance(found, int | float | np.ndarray):
            yield f"{path} {name}", found
        elif not callable(found):
            yield from _struct(found, f"{path} {name}")


def _settled(compiled: CompiledScene) -> Iterator[tuple[str, Any]]:
    """Where things stand once they rest, from the workspace's middle; and how the arm starts."""
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
