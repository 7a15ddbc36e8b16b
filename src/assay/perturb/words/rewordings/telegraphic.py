"""Telegram style: verbs, names and places, nothing else."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.episodes import Change, Effect, Perturbation, perturbation
from assay.perturb.words.rewordings.clauses import Step, bare, brief, is_known, parse, place
from assay.perturb.words.rewordings.text import reworded
from assay.tasks import Task


@perturbation
@dataclass(frozen=True, slots=True)
class Telegraphic(Perturbation):
    """Leaves out articles, pronouns and conjunctions: ``turn on stove, put moka pot on stove``."""

    kind = "words/telegraphic"
    effects = frozenset({Effect.WORDS})
    change = Change.WORDING

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """The task as a telegram."""
        return reworded(task, self.kind, telegraphic)


def telegraphic(text: str) -> str:
    """An instruction in telegram style."""
    steps = parse(text)
    return ", ".join(_wired(step, before) for step, before in zip(steps, (None, *steps), strict=False))


def _wired(step: Step, before: Step | None) -> str:
    thing, done = bare(step.thing), step.verb.name
    if is_known(step, before):
        thing = brief(thing).split()[-1]
    if step.fetch is not None:
        done = f"{step.fetch.name} {thing}, {step.verb.name}"
        thing = ""
    where = step.preposition if place(step, before) == "inside" else bare(place(step))
    return " ".join(filter(None, (done, thing, where)))
