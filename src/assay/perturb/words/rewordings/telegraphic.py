"""Telegram style: verbs, names and places, nothing else."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.episodes import perturbation
from assay.perturb.words.rewordings.base import TextPerturbation
from assay.tasks import Scene
from assay.tasks.language import Step, read_steps
from assay.tasks.language.phrases import without_articles, without_whole
from assay.tasks.language.sentences import is_named_before, with_before, write_place


@perturbation
@dataclass(frozen=True, slots=True)
class Telegraphic(TextPerturbation):
    """Leaves out articles, pronouns and conjunctions: ``turn on stove, put moka pot on stove``."""

    kind = "words/telegraphic"

    def reword(self, text: str, scene: Scene, rng: np.random.Generator) -> str:
        """The instruction as a telegram."""
        return make_telegraphic(text)


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
