"""Experiments of tabletop tasks: four levels of novelty made harder, and prompts that say less and less."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from assay.episodes import EpisodeSpec, Label
from assay.experiments.base import Experiment, Variant
from assay.perturb.tabletop import (
    Gobbledygook,
    Harder,
    OtherInstruction,
    Paraphrase,
    Part,
    PermutedObjects,
    PromptMask,
    TextReferents,
    Unit,
)
from assay.perturb.tabletop.base import TablePerturbation
from assay.tabletop import Difficulty, TableEntry
from assay.tabletop.world import TABLETOP_WORLD

WORLD = "tabletop"
SEEDS = tuple(range(20))


def _design(
    name: str, about: str, variants: Callable[[TableEntry], Iterable[Variant]], mistakes: bool
) -> Experiment:
    return Experiment(
        name, about, variants, seeds=SEEDS, world=WORLD, complete=_labelled if mistakes else _flawless
    )


def _labelled(spec: EpisodeSpec) -> EpisodeSpec:
    """A spec with its kind, its level and the fewest actions it takes.

    Its prompt is made for that, so that one which cannot be is an error now and not later.
    """
    task = TABLETOP_WORLD.task(spec)
    about: dict[str, Label] = {"kind": task.setting.task, "level": str(task.setting.level), "best": task.best}
    return replace(spec, labels=about | spec.labels)


def _flawless(spec: EpisodeSpec) -> EpisodeSpec:
    """The same with no more actions than the task takes."""
    spec = _labelled(spec)
    best = spec.labels["best"]
    assert isinstance(best, int)
    return replace(spec, steps=best if spec.steps is None else spec.steps)


def tabletop(mistakes: bool = True) -> Experiment:
    """Seventeen tasks, as they are and harder; ``mistakes``: whether a policy may make some."""
    harder = [each for each in Difficulty if each is not Difficulty.DEFAULT]
    return _design(
        "tabletop",
        "Tasks told in words and pictures at four levels of novelty, and harder (after CoGeLoT).",
        lambda entry: [Variant(f"difficulty={each}", (Harder(each),)) for each in harder],
        mistakes,
    )


def prompts(mistakes: bool = True) -> Experiment:
    """The same tasks told otherwise, or nothing; ``mistakes``: whether a policy may make some."""
    return _design(
        "prompts",
        "Tabletop prompts reworded, masked, made nonsense or exchanged for another task's; objects in another order.",
        _prompt_variants,
        mistakes,
    )


PROMPT_CHANGES: tuple[tuple[str, TablePerturbation | PermutedObjects], ...] = (
    ("paraphrase", Paraphrase()),
    ("referents=text", TextReferents()),
    *((f"gobbledygook={unit}", Gobbledygook(unit)) for unit in Unit),
    *((f"mask={part}", PromptMask(part)) for part in Part),
    ("instruction=other", OtherInstruction()),
    ("order=permuted", PermutedObjects()),
)
"""Conditions and what they change."""


def _prompt_variants(entry: TableEntry) -> Iterator[Variant]:
    for condition, change in PROMPT_CHANGES:
        if isinstance(change, PermutedObjects) or change.concerns(entry.kind):
            yield Variant(condition, (change,))
