"""Success under instructions that do not ask for the task: nonsense, or another task."""

from __future__ import annotations

from assay.measures.frames import guessable
from assay.measures.measure import Measure
from assay.measures.result import MeasureError
from assay.measures.run_data import RunData
from assay.measures.success.drops import DROPS, Drop


def nonsense(run: RunData) -> Drop:
    """The condition with nonsense or counterfactual instructions in which the task's goal is reached least.

    Instructions that can be guessed are neither: to do what they say is no sign that they were not heard.
    """
    guessed = set(guessable(run.frame)["condition"])
    mute = [
        drop
        for drop in run.result(DROPS)
        if not drop.plausible
        and drop.family.startswith("words")
        and drop.group.get("condition") not in guessed
    ]
    if all(drop.control == 0 for drop in mute):
        raise MeasureError(
            "no episode has a nonsense or counterfactual instruction and a control that succeeds"
        )
    return min(mute, key=lambda drop: drop.perturbed)


NONSENSE = Measure(
    "nonsense",
    "How often the task's goal is reached although the instruction does not ask for it.",
    nonsense,
    tests="assay.measures.hypotheses:nonsense",
)
