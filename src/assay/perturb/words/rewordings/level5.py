"""LIBERO-X's fifth level: the same request in another sentence. (Its synonyms are in `synonyms`.)"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.episodes import Change, Effect, Perturbation, perturbation
from assay.perturb.words.rewordings.clauses import (
    Step,
    bare,
    brief,
    depends,
    imperative,
    is_known,
    is_located,
    parse,
    place,
    pronoun,
    said,
    that_is,
)
from assay.perturb.words.rewordings.text import reworded
from assay.perturb.words.rewordings.verbs import Role
from assay.tasks import Task

DIRECTED = {"on": "onto", "in": "into", "inside": "into", "on top of": "onto"}
"""Prepositions that say where something goes rather than where it is."""
_FRAMES = (
    "Have a look at what is in front of you and then, please, {}. That is all there is to do.",
    "What I would like you to do now is the following: {}. Take as long as you need.",
    "Your next job, and the only one for the moment, is to {}.",
    "I have just one request, which is to {}. The rest of the things can stay as they are.",
    "As soon as you are ready, go ahead and {}; nothing more needs to be done after that.",
)


@perturbation
@dataclass(frozen=True, slots=True)
class Concise(Perturbation):
    """Keeps what matters: ``bowl on stove``."""

    kind = "words/concise"
    effects = frozenset({Effect.WORDS})
    change = Change.WORDING

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """The task in fewer words."""
        return reworded(task, self.kind, concise)


@perturbation
@dataclass(frozen=True, slots=True)
class Reorder(Perturbation):
    """Says the same in another order: ``on the stove, put the bowl``."""

    kind = "words/reorder"
    effects = frozenset({Effect.WORDS})
    change = Change.WORDING

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """The task in another order of words."""
        return reworded(task, self.kind, reordered)


@perturbation
@dataclass(frozen=True, slots=True)
class Passive(Perturbation):
    """Says what should be done to the thing: ``the bowl should be put on the stove``."""

    kind = "words/passive"
    effects = frozenset({Effect.WORDS})
    change = Change.WORDING

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """The task in the passive voice."""
        return reworded(task, self.kind, passive)


@perturbation
@dataclass(frozen=True, slots=True)
class Verbose(Perturbation):
    """Wraps the request into more words than it needs."""

    kind = "words/verbose"
    effects = frozenset({Effect.WORDS})
    change = Change.WORDING

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """The task in more words."""
        return reworded(task, self.kind, lambda text: verbose(text)[int(rng.integers(len(_FRAMES)))])


def concise(text: str) -> str:
    """An instruction without articles and without the verbs that its places make plain."""
    return ", ".join(_concise(step, before) for step, before in _with_before(parse(text)))


def reordered(text: str) -> str:
    """An instruction with its places first; where steps build on each other, with the last step first."""
    steps = parse(text)
    if len(steps) == 2 and depends(steps[1], steps[0]):
        return after(steps[1], steps[0])
    if len(steps) == 1 and not steps[0].preposition:
        return f"{steps[0].thing}, {_on_it(steps[0])}"
    return ", and ".join(_fronted(step) for step in steps)


def passive(text: str) -> str:
    """An instruction in the passive voice."""
    return " and ".join(_passive(step, before) for step, before in _with_before(parse(text)))


def verbose(text: str) -> tuple[str, ...]:
    """An instruction inside longer ones, one for each frame."""
    plain = said(parse(text))
    return tuple(frame.format(plain) for frame in _FRAMES)


def after(step: Step, before: Step) -> str:
    """Two steps, the last one first: ``put the pot on the stove after turning it on``."""
    if before.thing == step.target:
        earlier = before.verb.phrase(before.verb.gerund, pronoun(before.thing))
        if before.preposition:
            earlier += f" {place(before)}"
    else:
        earlier = f"{before.verb.phrase(before.verb.gerund, before.thing)} {before.preposition} it"
    return f"{imperative(step)} after {earlier}"


def _with_before(steps: Sequence[Step]) -> list[tuple[Step, Step | None]]:
    return list(zip(steps, (None, *steps[:-1]), strict=True))


def _concise(step: Step, before: Step | None) -> str:
    thing = bare(step.thing)
    if thing.startswith("both ") and " and " in thing:
        thing = thing.removeprefix("both ")
    if step.verb.role in (Role.START, Role.STOP):
        return f"{thing} {step.verb.particle}"
    if not step.preposition:
        return step.verb.phrase(step.verb.base, "it" if is_known(step, before) else thing)
    where = bare(place(step, before))
    if step.fetch is not None:
        where = f"{DIRECTED.get(step.preposition, step.preposition)} {bare(step.target)}"
    return f"{thing}{',' if is_located(step.thing) else ''} {where}"


def _on_it(step: Step) -> str:
    return step.verb.phrase(step.verb.base, pronoun(step.thing))


def _fronted(step: Step) -> str:
    if not step.preposition:
        return imperative(step)
    alone = replace(step, fetch=None)
    if is_located(step.thing):
        # "on the plate, place the bowl on the stove" would say where to put it twice.
        return f"{alone.verb.base} {place(alone)} {that_is(step.thing)}"
    return f"{place(alone)}, {alone.verb.phrase(alone.verb.base, alone.thing)}"


def _passive(step: Step, before: Step | None) -> str:
    thing = brief(step.thing) if is_known(step, before) else step.thing
    taken = "" if step.fetch is None else f"{_done(step.fetch.participle, step.fetch.particle)} and "
    done = _done(step.verb.participle, step.verb.particle)
    return " ".join(filter(None, (thing, "should be", taken + done, place(step, before))))


def _done(participle: str, particle: str) -> str:
    return f"{participle} {particle}".strip()
