"""A task as plain lists and dictionaries, for JSON."""

from __future__ import annotations

from typing import Any

from assay.tasks.scene import Entity, Region, Task


def to_plain(task: Task) -> dict[str, Any]:
    """Everything about a task; atoms as text, metres and radians as in the scene."""
    scene = task.scene
    return {
        "id": task.id,
        "instruction": task.instruction.text,
        "arena": scene.arena.value,
        "style": scene.style,
        "workspace": scene.arena.workspace,
        "fixtures": [_entity(entity) for entity in scene.fixtures],
        "objects": [_entity(entity) for entity in scene.objects],
        "regions": [_region(region) for region in scene.regions],
        "initial": [str(atom) for atom in scene.initial],
        "goal": [str(atom) for atom in task.goal.atoms],
        "of_interest": list(task.of_interest),
    }


def _entity(entity: Entity) -> dict[str, Any]:
    return {"name": entity.name, "category": entity.category}


def _region(region: Region) -> dict[str, Any]:
    return {
        "name": region.full_name,
        "target": region.target,
        "rectangles": [list(rectangle) for rectangle in region.rectangles],
        "yaw": None if region.yaw is None else list(region.yaw),
        "rgba": None if region.rgba is None else list(region.rgba),
    }
