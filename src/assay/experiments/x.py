"""Experiment modelled on LIBERO-X: five cumulative levels of difficulty."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from assay.episodes import EpisodeSpec
from assay.episodes.spec import Label
from assay.errors import PerturbationError
from assay.experiments.base import Experiment, Variant
from assay.experiments.labels import families
from assay.experiments.reference_times import with_reference_times
from assay.perturb import Perturbation
from assay.perturb.unavailable import Unavailable
from assay.perturb.words.rewordings.designs import LEVEL5
from assay.perturb.world.exchange import ExchangePlaces
from assay.perturb.world.ground import movable, target
from assay.perturb.world.layout import Distractors
from assay.perturb.world.position import Jitter, Relocate, Swap
from assay.perturb.world.targets import Attribute, UnseenTargets, VariedTarget
from assay.support.streams import stream
from assay.tasks import Task
from assay.tasks.labels import CONFOUNDING, UNSEEN

CROWDED_OBJECTS = 6
"""Minimum number of movable objects at which level 3 adds one object, not two; LIBERO-X adds 1.3 on average."""


def x(time: float | Literal["unlimited"] = 1.1, times: str = "") -> Experiment:
    """Levels 1 to 5, cumulative; ``time`` is the time limit as a multiple of the reference time.

    The reference time is the demonstrator's or, with ``times``, a human's. ``times`` is a CSV file with the
    columns task, and seconds or steps.
    """
    design = Experiment(
        name="x",
        about="Five cumulative levels: placement, layout, exchange, new targets, wording (after LIBERO-X).",
        variants=_variants,
        seeds=tuple(range(10)),
        certified=True,
        keep=_is_scheduled,
    )
    return with_reference_times(design, time, times)


def _variants(task: Task) -> Iterator[Variant]:
    first: tuple[Perturbation, ...] = (Jitter(0.03),)
    second = (*first, Relocate(0.5))
    more = 1 if len(task.scene.objects) >= CROWDED_OBJECTS else 2
    # A cabinet rarely has a partner to exchange with, so two other objects are exchanged.
    exchange = ExchangePlaces(free=None) if target(task) in movable(task) else Swap()
    third = (*second, Distractors(more), exchange)
    for level, perturbations in enumerate((first, second, third), start=1):
        yield Variant(f"x/level{level}", perturbations, _labels(task, level))
    halves: list[tuple[str, UnseenTargets | VariedTarget]] = [(UNSEEN, UnseenTargets())]
    halves += ((CONFOUNDING, VariedTarget(attribute)) for attribute in Attribute)
    objects = {obj.name for obj in task.scene.objects}
    moves_objects = any(len(atom.arguments) > 1 and atom.arguments[0] in objects for atom in task.goal.atoms)
    lost: set[str] = set()
    for half, change in halves:
        try:
            instruction = change.example(task)
        except PerturbationError as error:
            # Level 4 does not apply to tasks that move no object; other tasks count as unavailable.
            if moves_objects and half not in lost:
                lost.add(half)
                cannot = (Unavailable(str(error)),)
                yield Variant(f"x/level4/{half}", cannot, _labels(task, 4) | {"objects": half})
            continue
        fourth = (*third, change)
        yield Variant(f"x/level4/{half}", fourth, _labels(instruction, 4) | {"objects": half})
        for form, rewording in LEVEL5.items():
            labels = _labels(instruction, 5) | {"objects": half, "form": form}
            yield Variant(f"x/level5/{half}/{form}", (*fourth, rewording), labels)


def _labels(task: Task, level: int) -> dict[str, Label]:
    """Return the labels of a task at a level, derived from its instruction."""
    axis = "words+world" if level > 3 else "world"
    labels = {f"label:{name}": value for name, value in families(task).items()}
    return {"axis": axis, "plausible": True, "level": level, **labels}


def _is_scheduled(spec: EpisodeSpec) -> bool:
    """Return whether an episode varies the attribute that its task's schedule assigns to its seed."""
    for perturbation in spec.perturbations:
        if isinstance(perturbation, VariedTarget):
            first = int(stream("x", "attribute", spec.task).integers(len(Attribute)))
            return perturbation.attribute is tuple(Attribute)[(first + spec.world_seed) % len(Attribute)]
    return True
