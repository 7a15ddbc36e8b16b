"""Experiments on the instruction alone: corrupted instructions, instructions of other tasks, and surface changes."""

from __future__ import annotations

from collections.abc import Iterator

from assay.episodes import Label
from assay.experiments.base import Experiment, Variant
from assay.perturb.words.rewordings.corrupted import Form, Surface
from assay.perturb.words.rewordings.designs import LADDER, STYLES, Counterfactual
from assay.perturb.words.rewordings.goals import alternatives
from assay.support.streams import stream
from assay.tasks import Task


def corruption(counterfactual: int = 1) -> Experiment:
    """For each task, the corruption ladder, hurried writing, and ``counterfactual`` instructions from other tasks."""

    def variants(task: Task) -> Iterator[Variant]:
        for label, design in (("rung", LADDER), ("style", STYLES)):
            for number, (name, change) in enumerate(design.items(), start=1):
                labels: dict[str, Label] = {"axis": "words", "plausible": change.plausible, label: number}
                yield Variant(f"corruption/{name}", (change,), labels)
        others = alternatives(task)
        # Tasks in the same scene have nearly the same alternatives, so each task uses another order; goals of known
        # tasks come first.
        order = stream("corruption", "counterfactual", task.id).permutation(len(others))
        ranked = sorted((others[place] for place in order), key=lambda other: other.known_from is None)
        for other in ranked[:counterfactual]:
            request: dict[str, Label] = {"axis": "words", "plausible": False, **other.labels}
            yield Variant("corruption/counterfactual", (Counterfactual(other.text, other.atoms),), request)

    return Experiment(
        name="corruption",
        about="Reworded, scrambled, empty and other tasks' instructions: does the policy need its instruction?",
        variants=variants,
    )


def surface() -> Experiment:
    """The same words with different punctuation, capitalisation, spacing or politeness, one change at a time."""
    return Experiment(
        name="surface",
        about="Punctuation, capitalisation, spacing, politeness: do they affect the policy?",
        variants=lambda task: (
            Variant(f"surface/{form}", (Surface(form),), {"surface": form.value}) for form in Form
        ),
    )
