"""Experiment modelled on LIBERO-plus: seven dimensions with sub-dimensions, each at difficulties 1 to 5."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from assay.episodes.spec import Label
from assay.errors import ExperimentError, did_you_mean
from assay.experiments.base import Experiment, Variant
from assay.perturb import Perturbation, Say
from assay.perturb.senses.images import Fog, GaussianNoise, GlassBlur, MotionBlur, ZoomBlur
from assay.perturb.words.grid.cells import ActionType, Cell, ObjectType
from assay.perturb.words.grid.generate import paraphrases
from assay.perturb.words.rewordings.corrupted import Typos
from assay.perturb.words.rewordings.sentences import Concise, Passive, Reorder, Semantic, Verbose
from assay.perturb.world.layout import Distractors
from assay.perturb.world.position import Displace
from assay.perturb.world.staging import MoveCamera, Orbit, Relight, Repaint, StartPose
from assay.tasks import Arena, Task
from assay.tasks.scene import Pattern, Surface

DIFFICULTIES = (1, 2, 3, 4, 5)
Levels = Mapping[int, tuple[Perturbation, ...]]
"""Perturbations by difficulty; some sub-dimensions lack some difficulties."""


def plus(dimensions: tuple[str, ...] = (), difficulties: tuple[int, ...] = DIFFICULTIES) -> Experiment:
    """Every sub-dimension of the given ``dimensions`` (all by default), at the given ``difficulties``."""
    for name in dimensions:
        if name not in DIMENSIONS:
            raise ExperimentError(f"plus: there is no dimension '{name}': {did_you_mean(name, DIMENSIONS)}")
    for level in difficulties:
        if level not in DIFFICULTIES:
            raise ExperimentError(f"plus: difficulty {level} is out of range: expected 1 to 5")
    if not difficulties or any(len(set(names)) < len(names) for names in (dimensions, difficulties)):
        raise ExperimentError(
            "plus: expected each dimension and each difficulty (1 to 5) at most once, and at least one difficulty"
        )
    return Experiment(
        name="plus",
        about="Layout, camera, robot, language, light, background, noise, at difficulties 1 to 5 (after LIBERO-plus).",
        variants=lambda task: _variants(task, dimensions or tuple(DIMENSIONS), difficulties),
        seeds=(0,),
        certified=True,
    )


def _variants(task: Task, dimensions: Sequence[str], difficulties: Sequence[int]) -> Iterator[Variant]:
    for dimension in dimensions:
        changes = DIMENSIONS[dimension]
        for subdimension, levels in (changes(task) if callable(changes) else changes).items():
            for level in (difficulty for difficulty in difficulties if difficulty in levels):
                labels: dict[str, Label] = {
                    "dimension": dimension,
                    "subdimension": subdimension,
                    "difficulty": level,
                }
                yield Variant(f"plus/{dimension}/{subdimension}={level}", levels[level], labels)


def _five(changes: Iterable[Perturbation]) -> Levels:
    return {level: (change,) for level, change in zip(DIFFICULTIES, changes, strict=True)}


def _language(task: Task) -> dict[str, Levels]:
    """Return the language perturbations.

    Raises PerturbationError if the paraphrase grid cannot parse the instruction.
    """
    texts = {paraphrase.cell: paraphrase.text for paraphrase in paraphrases(task, per_cell=1, seed=0)}

    def reword(cells: Mapping[int, Cell]) -> Levels:
        return {level: (Say(texts[cell]),) for level, cell in cells.items() if cell in texts}

    return {
        "form": _five((Semantic(), Concise(), Reorder(), Passive(), Verbose())),
        "names": reword({level: Cell(name, ActionType.NONE) for level, name in _NAMES.items()}),
        "directness": reword({level: Cell(ObjectType.NONE, act) for level, act in _DIRECTNESS.items()}),
        "typing": {2: (Typos(0.3),), 4: (Typos(1.0),)},
    }


def _background(task: Task) -> dict[str, Levels]:
    table, patterns = Surface.TABLE, (Pattern.GRADIENT, Pattern.STRIPES, Pattern.CHECKER)
    room: tuple[Surface, ...] = (Surface.WALLS, Surface.FLOOR)
    if task.scene.arena is Arena.LIVING_ROOM:  # its camera sees neither, for sofas
        room = (*room, table)
    return {
        "table": _five(
            (
                Repaint(table, (0.85, 0.8, 0.72)),
                Repaint(table),
                *(Repaint(table, pattern=pattern) for pattern in patterns),
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


_AROUND = (0.15, -0.3, 0.45, -0.65, 0.85)
"""Camera angles about the vertical, radians, alternating between left and right."""
_NAMES = {1: ObjectType.ADDITION, 3: ObjectType.CONTEXTUAL, 5: ObjectType.HABITUAL}
_DIRECTNESS = dict(zip(DIFFICULTIES, list(ActionType)[-5:], strict=True))
"""Difficulty -> action type of the paraphrase, from a stated need (difficulty 1) to a hint (difficulty 5)."""
DIMENSIONS: Mapping[str, Mapping[str, Levels] | Callable[[Task], Mapping[str, Levels]]] = MappingProxyType(
    {
        "layout": {
            "distractors": _five(Distractors(count) for count in (1, 2, 3, 4, 6)),
            "displacement": _five(Displace(distance) for distance in (0.05, 0.1, 0.15, 0.2, 0.3)),
        },
        "camera": {
            "distance": _five(Orbit(distance=factor) for factor in (1.1, 1.2, 1.35, 1.5, 1.75)),
            "position": _five(Orbit(_AROUND[n - 1], 0.04 * n, 1.0 + 0.04 * n) for n in DIFFICULTIES),
            "orientation": _five(MoveCamera(turn=(0.02 * n, 0.025 * n, 0.04 * n)) for n in DIFFICULTIES),
            "zoom": _five(MoveCamera(zoom=factor) for factor in (0.95, 1.1, 0.88, 1.3, 1.5)),
        },
        "robot": {
            "joints": _five(StartPose(joints=0.1 * n) for n in DIFFICULTIES),
            "base": _five(StartPose(base=(0.0, 0.03 * n)) for n in DIFFICULTIES),
        },
        "language": _language,
        "light": {
            "brightness": _five(Relight(intensity) for intensity in (0.75, 0.55, 0.4, 0.25, 0.1)),
            "colour": _five(Relight(colour=(1.0, 1.0 - 0.12 * n, 1.0 - 0.18 * n)) for n in DIFFICULTIES),
            "direction": _five(Relight(tilt=(0.24 * n, 0.12 * n)) for n in DIFFICULTIES),
            "shadows": _five(Relight(tilt=(0.2 * (n - 1), 0.0), shadows=True) for n in DIFFICULTIES),
        },
        "background": _background,
        "noise": {
            "motion_blur": _five(MotionBlur(2 * n) for n in DIFFICULTIES),
            "gaussian_noise": _five(GaussianNoise(2 * n) for n in DIFFICULTIES),
            "zoom_blur": _five(ZoomBlur(2 * n) for n in DIFFICULTIES),
            "fog": _five(Fog(2 * n) for n in DIFFICULTIES),
            "glass_blur": _five(GlassBlur(2 * n) for n in DIFFICULTIES),
        },
    }
)
"""LIBERO-plus's seven dimensions: name -> changes by sub-dimension, or a function that returns them for a task."""
