"""After LIBERO-X: five levels of difficulty, each on top of the one below."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from assay.episodes.spec import Label
from assay.errors import ExperimentError
from assay.experiments.base import Experiment, Variant
from assay.experiments.labels import families
from assay.perturb import Perturbation
from assay.perturb.words.rewordings import LEVEL5
from assay.perturb.world import Confound, Distractors, Jitter, Relocate, Swap, unseen
from assay.tasks import Task

CONFUSING = Confound((0.75, 0.3, 0.2))
"""A double in another colour."""

TIMES = (0.8, 1.5)
"""The least and the greatest time limit, as factors of the demonstrator's time."""


def x(time: float | Literal["unlimited"] = 1.1) -> Experiment:
    """Levels 1 to 5, cumulative; ``time``: the limit as a factor of the demonstrator's time."""
    low, high = TIMES
    if time != "unlimited" and not low <= time <= high:
        raise ExperimentError(f"x: time={time}; valid: {low:g} to {high:g}, or unlimited")
    return Experiment(
        name="x",
        about="Five cumulative levels: placement, layout, swaps, new things, wording (after LIBERO-X).",
        variants=_variants,
        seeds=tuple(range(10)),
        certified=True,
        limit=0.0 if time == "unlimited" else time,
    )


def _variants(task: Task) -> Iterator[Variant]:
    first: tuple[Perturbation, ...] = (Jitter(0.03),)
    second = (*first, Relocate(0.5))
    third = (*second, Swap())
    new = (*third, Distractors(2, unseen()))
    confounding = (*third, CONFUSING)
    labels: dict[str, Label] = {f"label:{name}": value for name, value in families(task).items()}
    for level, name, perturbations in (
        (1, "level1", first),
        (2, "level2", second),
        (3, "level3", third),
        (4, "level4/unseen", new),
        (4, "level4/confounding", confounding),
    ):
        if perturbations is confounding and not CONFUSING.is_told(task):
            continue  # who would double a cabinet, or know which bowl is meant?
        yield Variant(
            f"x/{name}", perturbations, {"axis": "world", "plausible": True, "level": level, **labels}
        )
    for each in LEVEL5:
        yield Variant(
            f"x/level5/{each.name}",
            (*new, each.perturbation),
            {"axis": "words+world", "plausible": True, "level": 5, "form": each.name, **labels},
        )
