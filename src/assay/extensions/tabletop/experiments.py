"""Tabletop experiments: four levels of novelty at several difficulties, and increasingly uninformative prompts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Literal

from assay.episodes import EpisodeSpec, Label, Perturbation
from assay.errors import ExperimentError
from assay.experiments.base import Experiment, Variant
from assay.extensions.tabletop.prompts import perturbations
from assay.extensions.tabletop.prompts.perturbations import Harder, PermutedObjects
from assay.extensions.tabletop.tasks import TableEntry
from assay.extensions.tabletop.tasks.task import Difficulty, parse_level
from assay.extensions.tabletop.world.env import TABLETOP_WORLD

WORLD = "tabletop"
SEEDS = tuple(range(20))


def _design(
    name: str,
    about: str,
    variants: Callable[[TableEntry], Iterable[Variant]],
    mistakes: bool,
    actions: int | None,
) -> Experiment:
    if actions is not None and actions < 1:
        raise ExperimentError(f"{name}: actions={actions}: expected an integer >= 1")

    def complete(spec: EpisodeSpec) -> EpisodeSpec:
        # The task is built, so that a prompt that cannot be made is an error of the plan and not of the run.
        task = TABLETOP_WORLD.task(spec)
        labels: dict[str, Label] = {
            "kind": task.setting.task,
            "level": str(task.setting.level),
            "best": task.best,
        }
        most = actions if mistakes else min(task.best, actions or task.best)
        return replace(spec, labels=labels | spec.labels, steps=most if spec.steps is None else spec.steps)

    return Experiment(name, about, variants, seeds=SEEDS, world=WORLD, complete=complete)


def tabletop(mistakes: bool = True, actions: int | None = None) -> Experiment:
    """Return the experiment with the seventeen tasks at the default and at higher difficulties.

    ``mistakes``: whether mistakes are allowed. ``actions``: maximum number of actions per episode, 10 in the paper; by
    default 10 or twice the minimum, whichever is larger.
    """
    return _design(
        "tabletop",
        "Tasks with multimodal prompts at four levels of novelty and several difficulties (after CoGeLoT).",
        lambda entry: [
            Variant(f"difficulty={difficulty}", (Harder(difficulty),)) for difficulty in perturbations.HARDER
        ],
        mistakes,
        actions,
    )


def prompts(
    mistakes: bool = True,
    actions: int | None = None,
    difficulty: tuple[str, ...] = (),
    order: Literal["own", "permuted"] = "own",
) -> Experiment:
    """Return the experiment with perturbed, masked or exchanged prompts on the same tasks.

    ``mistakes`` and ``actions`` are as in `tabletop`. ``difficulty``: also run these difficulties, each alone and
    combined with every change to the prompt or the object order: ``difficulty=extreme,mask=instruction``.
    ``order``: ``permuted`` also combines every change to the prompt with permuted objects:
    ``mask=instruction,order=permuted``.
    """
    harder = [
        level for name in difficulty if (level := parse_level(Difficulty, name)) is not Difficulty.DEFAULT
    ]

    def variants(entry: TableEntry) -> Iterator[Variant]:
        changes: list[tuple[str, tuple[Perturbation, ...]]] = [
            (condition, (change,))
            for condition, change in perturbations.PROMPT_CHANGES
            if isinstance(change, PermutedObjects) or change.concerns(entry.kind)
        ]
        if order == "permuted":
            changes += [
                (f"{name},{perturbations.PERMUTED}", (*parts, PermutedObjects()))
                for name, parts in changes
                if name != perturbations.PERMUTED
            ]
        yield from (Variant(condition, parts) for condition, parts in changes)
        for level in harder:
            name, change = f"difficulty={level}", Harder(level)
            yield Variant(name, (change,))
            for condition, parts in changes:
                yield Variant(f"{name},{condition}", (change, *parts))

    return _design(
        "prompts",
        "Tabletop tasks with paraphrased, masked, nonsense or exchanged prompts, and with permuted objects.",
        variants,
        mistakes,
        actions,
    )
