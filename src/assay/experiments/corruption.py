"""The corruption ladder: less and less of the instruction, and instructions that ask for something else."""

from __future__ import annotations

from collections.abc import Iterator

from assay.experiments.base import Experiment, Variant
from assay.perturb.words.rewordings import LADDER, STYLES, Rewording, counterfactuals
from assay.support.streams import stream
from assay.tasks import Task


def corruption(counterfactual: int = 1) -> Experiment:
    """The ladder, hurried writing, and so many counterfactual instructions for each task."""
    return Experiment(
        name="corruption",
        about="Instructions from a paraphrase to no words at all, and those of other tasks: does the policy need them?",
        variants=lambda task: _variants(task, counterfactual),
    )


def _variants(task: Task, counterfactual: int) -> Iterator[Variant]:
    for each in (*LADDER, *STYLES):
        yield _variant(f"corruption/{each.name}", each)
    for each in _in_turn(task)[:counterfactual]:
        yield _variant("corruption/counterfactual", each)


def _in_turn(task: Task) -> list[Rewording]:
    """What else can be asked for, known goals first, each task beginning elsewhere.

    Tasks of one scene have nearly the same list: from its beginning, they would all be asked for one thing.
    """
    found = counterfactuals(task)
    order = stream("corruption", "counterfactual", task.id).permutation(len(found))
    return sorted((found[place] for place in order), key=lambda each: each.labels["asked_from"] is None)


def _variant(condition: str, rewording: Rewording) -> Variant:
    return Variant(condition, (rewording.perturbation,), {"axis": "words", **rewording.labels})
