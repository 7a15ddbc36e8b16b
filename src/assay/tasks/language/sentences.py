"""Steps written as an instruction, with "it" for what the step before has named."""

from __future__ import annotations

from collections.abc import Sequence

from assay.tasks.language.phrases import pronoun
from assay.tasks.language.steps import Step, antecedent


def write_steps(steps: Sequence[Step], *, joint: str = " and ") -> str:
    """Steps as an instruction."""
    return joint.join(write_step(step, before) for step, before in with_before(steps))


def with_before(steps: Sequence[Step]) -> list[tuple[Step, Step | None]]:
    """Each step and the one before it."""
    return list(zip(steps, (None, *steps[:-1]), strict=True))


def write_step(step: Step, before: Step | None = None) -> str:
    """One step as an imperative, after another one."""
    thing = step.thing_again if is_named_before(step, before) else step.thing
    if step.fetch is None:
        request = step.verb.phrase(thing, apart=step.late)
    else:
        request = f"{step.fetch.phrase(thing)} and {step.verb.phrase(pronoun(step.thing))}"
    return " ".join(filter(None, (request, write_place(step, before))))


def write_place(step: Step, before: Step | None = None) -> str:
    """Where a step places its thing, after another one: ``on the stove``, ``on it``, ``inside``."""
    if before is None or not step.place_again or step.target != before.thing:
        return step.place
    return step.preposition if step.preposition == "inside" else f"{step.preposition} it"


def is_named_before(step: Step, before: Step | None) -> bool:
    """Whether a step's thing is "it" after another step."""
    return (
        before is not None
        and step.fetch is None
        and step.thing_again != ""
        and antecedent(step.thing_again, before) == step.thing
    )


def depends(step: Step, before: Step) -> bool:
    """Whether a step is about what the one before it was done with or led to."""
    return before.thing == step.target or (before.target == step.thing and step.thing != "")
