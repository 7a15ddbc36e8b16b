"""The surface of the sentence: the same words with a full stop, in capitals, after "Task:", ..."""

from __future__ import annotations

from collections.abc import Iterator

from assay.experiments.base import Experiment, Variant
from assay.perturb.words.rewordings.corrupted import Form, Surface
from assay.tasks import Task


def surface() -> Experiment:
    """Each way to write the same words otherwise, alone."""
    return Experiment(
        name="surface",
        about="Punctuation, capitals, blanks, courtesy: does the policy mind how its instruction is written?",
        variants=_variants,
    )


def _variants(task: Task) -> Iterator[Variant]:
    for form in Form:
        yield Variant(f"surface/{form}", (Surface(form),), {"surface": form.value})
