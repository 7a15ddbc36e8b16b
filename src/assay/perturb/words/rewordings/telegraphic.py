"""Telegram style: verbs, names and places, nothing else."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.episodes import Change, Effect, Perturbation, perturbation
from assay.language import Step, read_steps
from assay.language.phrases import without_articles, without_whole
from assay.language.sentences import is_named_before, with_before, write_place
from assay.perturb.words.rewordings.text import reword
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
        return reword(task, self.kind, make_telegraphic)


def make_telegraphic(text: str) -> str:
    """An instruction in telegram style."""
    return ", ".join(_telegram(step, before) for step, before in with_before(read_steps(text)))


def _telegram(step: Step, before: Step | None) -> str:
    thing, where = without_articles(step.thing), without_articles(step.place)
    if is_named_before(step, before):
        thing = without_whole(thing).split()[-1]
    if write_place(step, before) == "inside":
        where = "inside"
    if step.fetch is None:
        return " ".join(filter(None, (step.verb.name, thing, where)))
    return f"{step.fetch.name} {thing}, {step.verb.name} {where}".rstrip()
