"""Experiment modelled on LIBERO-plus: seven dimensions with sub-dimensions, each at difficulties 1 to 5."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

from assay.episodes.spec import Label
from assay.errors import ExperimentError, did_you_mean
from assay.experiments.base import Experiment, Variant
from assay.perturb import Perturbation, Say
from assay.perturb.senses import Fog, GaussianNoise, GlassBlur, MotionBlur, ZoomBlur
from assay.perturb.words.grid.cells import ActionType, Cell, ObjectType
from assay.perturb.words.grid.generate import paraphrases
from assay.perturb.words.rewordings import Concise, Passive, Reorder, Semantic, Typos, Verbose
from assay.perturb.world import Displace, Distractors, MoveCamera, Orbit, Relight, Repaint, StartPose
from assay.tasks import Arena, Task
from assay.tasks.scene import Pattern, Surface

DIFFICULTIES = (1, 2, 3, 4, 5)
Levels = Mapping[int, tuple[Perturbation, ...]]
"""Perturbations at each difficulty; a sub-dimension need not have all difficulties."""


def plus(dimensions: tuple[str, ...] = (), difficulties: tuple[int, ...] = DIFFICULTIES) -> Experiment:
    """Every sub-dimension of the given ``dimensions`` (all by default), at the given ``difficulties``."""
    for name in dimensions:
        if name not in DIMENSIONS:
            raise ExperimentError(f"plus: there is no dimension '{name}': {did_you_mean(name, DIMENSIONS)}")
    for level in difficulties:
        if level not in DIFFICULTIES:
            raise ExperimentError(f"plus: there is no difficulty {level}; valid: 1 to 5")
    if not difficulties or any(len(set(names)) < len(names) for names in (dimensions, difficulties)):
        raise ExperimentError(
            "plus: dimensions and difficulties are named once each; valid difficulties: 1 to 5"
        )
    return Experiment(
        name="plus",
        about="Layout, camera, robot, language, light, background, noise, from 1 to 5 (after LIBERO-plus).",
        variants=lambda task: _variants(task, dimensions or tuple(DIMENSIONS), difficulties),
        seeds=(0,),
        certified=True,
    )


def _variants(task: Task, dimensions: Sequence[str], difficulties: Sequence[int]) -> Iterator[Variant]:
    for dimension in dimensions:
        for subdimension, levels in DIMENSIONS[dimension](task).items():
            for level in (difficulty for difficulty in difficulties if difficulty in levels):
                labels: dict[str, Label] = {
                    "dimension": dimension,
                    "subdimension": subdimension,
                    "difficulty": level,
                }
                yield Variant(f"plus/{dimension}/{subdimension}={level}", levels[level], labels)


def _layout(task: Task) -> dict[str, Levels]:
    return {
        "distractors": _five(Distractors(count) for count in (1, 2, 3, 4, 6)),
        "displacement": _five(Displace(distance) for distance in (0.05, 0.1, 0.15, 0.2, 0.3)),
    }


def _camera(task: Task) -> dict[str, Levels]:
    return {
        "distance": _five(Orbit(distance=factor) for factor in (1.1, 1.2, 1.35, 1.5, 1.75)),
        "position": _five(Orbit(_AROUND[n - 1], 0.04 * n, 1.0 + 0.04 * n) for n in DIFFICULTIES),
        "orientation": _five(MoveCamera(turn=(0.02 * n, 0.025 * n, 0.04 * n)) for n in DIFFICULTIES),
        "zoom": _five(MoveCamera(zoom=factor) for factor in (0.95, 1.1, 0.88, 1.3, 1.5)),
    }


def _robot(task: Task) -> dict[str, Levels]:
    return {
        "joints": _five(StartPose(joints=0.1 * n) for n in DIFFICULTIES),
        "base": _five(StartPose(base=(0.0, 0.03 * n)) for n in DIFFICULTIES),
    }


def _language(task: Task) -> dict[str, Levels]:
    """Return the language perturbations.

    Raises PerturbationError for an instruction that the paraphrase grid cannot parse.
    """
    texts = {paraphrase.cell: paraphrase.text for paraphrase in paraphrases(task, per_cell=1, seed=0)}

    def reword(*cells: tuple[int, Cell]) -> Levels:
        return {level: (Say(texts[cell]),) for level, cell in cells if cell in texts}

    return {
        "form": _five((Semantic(), Concise(), Reorder(), Passive(), Verbose())),
        "names": reword(*((level, Cell(named, ActionType.NONE)) for level, named in _NAMES.items())),
        "directness": reword(
            *((level, Cell(ObjectType.NONE, action_type)) for level, action_type in _DIRECTNESS.items())
        ),
        "typing": {2: (Typos(0.3),), 4: (Typos(1.0),)},
    }


def _light(task: Task) -> dict[str, Levels]:
    return {
        "brightness": _five(Relight(intensity) for intensity in (0.75, 0.55, 0.4, 0.25, 0.1)),
        "colour": _five(Relight(colour=(1.0, 1.0 - 0.12 * n, 1.0 - 0.18 * n)) for n in DIFFICULTIES),
        "direction": _five(Relight(tilt=(0.24 * n, 0.12 * n)) for n in DIFFICULTIES),
        "shadows": _five(Relight(tilt=(0.2 * (n - 1), 0.0), shadows=True) for n in DIFFICULTIES),
    }


def _background(task: Task) -> dict[str, Levels]:
    table = Surface.TABLE
    room: tuple[Surface, ...] = (Surface.WALLS, Surface.FLOOR)
    if task.scene.arena is Arena.LIVING_ROOM:  # its camera sees neither, for sofas
        room = (*room, table)
    return {
        "table": _five(
            (
                Repaint(table, (0.85, 0.8, 0.72)),
                Repaint(table),
                *(
                    Repaint(table, pattern=surface)
                    for surface in (Pattern.GRADIENT, Pattern.STRIPES, Pattern.CHECKER)
                ),
            )
        ),
        "room": {
            1: tuple(Repaint(surface, (0.75, 0.78, 0.72)) for surface in room),
            2: tuple(Repaint(surface, pattern=Pattern.GRADIENT) for surface in room),
            3: tuple(Repaint(surface) for surface in room),
            4: tuple(Repaint(surface, pattern=Pattern.STRIPES) for surface in room),
            5: tuple(Repaint(name, pattern=Pattern.CHECKER) for name in dict.fromkeys((*room, table))),
        },
    }


def _noise(task: Task) -> dict[str, Levels]:
    kinds: dict[str, Callable[[int], Perturbation]] = {
        "motion_blur": MotionBlur,
        "gaussian_noise": GaussianNoise,
        "zoom_blur": ZoomBlur,
        "fog": Fog,
        "glass_blur": GlassBlur,
    }
    return {name: _five(sense(2 * n) for n in DIFFICULTIES) for name, sense in kinds.items()}


def _five(changes: Iterator[Perturbation] | Sequence[Perturbation]) -> Levels:
    return {level: (change,) for level, change in zip(DIFFICULTIES, changes, strict=True)}


_AROUND = (0.15, -0.3, 0.45, -0.65, 0.85)
"""Camera angles about the vertical, radians, alternating between both sides."""
_NAMES = {1: ObjectType.ADDITION, 3: ObjectType.CONTEXTUAL, 5: ObjectType.HABITUAL}
_DIRECTNESS = {
    1: ActionType.NEED,
    2: ActionType.EMBEDDED,
    3: ActionType.PERMISSION,
    4: ActionType.QUESTION,
    5: ActionType.HINT,
}
DIMENSIONS: Mapping[str, Callable[[Task], dict[str, Levels]]] = MappingProxyType(
    {
        "layout": _layout,
        "camera": _camera,
        "robot": _robot,
        "language": _language,
        "light": _light,
        "background": _background,
        "noise": _noise,
    }
)
"""LIBERO-plus' seven dimensions: name -> function from a task to its changes, by sub-dimension."""
