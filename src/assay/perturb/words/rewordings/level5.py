"""LIBERO-X's fifth level: the same request in another sentence. (Its synonyms are in `synonyms`.)"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.episodes import perturbation
from assay.perturb.words.rewordings.base import TextPerturbation
from assay.tasks import Scene
from assay.tasks.language import Action, Step, read_steps, write_steps
from assay.tasks.language.phrases import (
    TOWARDS,
    is_located,
    pronoun,
    with_place_clause,
    without_articles,
    without_whole,
)
from assay.tasks.language.sentences import depends, is_named_before, with_before, write_place, write_step

_FRAMES = (
    "Have a look at what is in front of you and then, please, {}. That is all there is to do.",
    "What I would like you to do now is the following: {}. Take as long as you need.",
    "Your next job, and the only one for the moment, is to {}.",
    "I have just one request, which is to {}. The rest of the things can stay as they are.",
    "As soon as you are ready, go ahead and {}; nothing more needs to be done after that.",
)


@perturbation
@dataclass(frozen=True, slots=True)
class Concise(TextPerturbation):
    """Keeps what matters: ``bowl on stove``."""

    kind = "words/concise"

    def reword(self, text: str, scene: Scene, rng: np.random.Generator) -> str:
        """The instruction in fewer words."""
        return make_concise(text)


@perturbation
@dataclass(frozen=True, slots=True)
class Reorder(TextPerturbation):
    """Says the same in another order: ``on the stove, put the bowl``."""

    kind = "words/reorder"

    def reword(self, text: str, scene: Scene, rng: np.random.Generator) -> str:
        """The instruction in another order of words."""
        return reorder(text)


@perturbation
@dataclass(frozen=True, slots=True)
class Passive(TextPerturbation):
    """Says what should be done to the thing: ``the bowl should be put on the stove``."""

    kind = "words/passive"

    def reword(self, text: str, scene: Scene, rng: np.random.Generator) -> str:
        """The instruction in the passive voice."""
        return make_passive(text)


@perturbation
@dataclass(frozen=True, slots=True)
class Verbose(TextPerturbation):
    """Wraps the request into more words than it needs."""

    kind = "words/verbose"

    def reword(self, text: str, scene: Scene, rng: np.random.Generator) -> str:
        """The instruction in more words."""
        return verbose_variants(text)[int(rng.integers(len(_FRAMES)))]


def make_concise(text: str) -> str:
    """An instruction without articles and without the verbs that its places make plain."""
    return ", ".join(_concise(step, before) for step, before in with_before(read_steps(text)))


def reorder(text: str) -> str:
    """An instruction with its places first; where steps build on each other, with the last step first."""
    steps = read_steps(text)
    if len(steps) == 2 and depends(steps[1], steps[0]):
        return last_step_first(steps[1], steps[0])
    if len(steps) == 1 and not steps[0].preposition:
        return f"{steps[0].thing}, {steps[0].verb.phrase(pronoun(steps[0].thing))}"
    return ", and ".join(_place_first(step) for step in steps)


def make_passive(text: str) -> str:
    """An instruction in the passive voice."""
    return " and ".join(_passive(step, before) for step, before in with_before(read_steps(text)))


def verbose_variants(text: str) -> tuple[str, ...]:
    """An instruction inside longer ones, one for each frame."""
    plain = write_steps(read_steps(text))
    return tuple(frame.format(plain) for frame in _FRAMES)


def last_step_first(step: Step, before: Step) -> str:
    """Two steps, the last one first: ``put the pot on the stove after turning it on``."""
    if before.thing == step.target:
        earlier = f"{before.verb.phrase(pronoun(before.thing), 'ing')} {before.place}".rstrip()
    else:
        earlier = f"{before.verb.phrase(before.thing, 'ing')} {before.preposition} it"
    return f"{write_step(step)} after {earlier}"


def _concise(step: Step, before: Step | None) -> str:
    thing = without_articles(step.thing)
    if thing.startswith("both ") and " and " in thing:
        thing = thing.removeprefix("both ")
    if step.action in (Action.TURN_ON, Action.TURN_OFF):
        return f"{thing} {step.outcome}"
    if not step.preposition:
        return step.verb.phrase("it" if is_named_before(step, before) else thing)
    where = without_articles(write_place(step, before))
    if step.fetch is not None:
        where = f"{TOWARDS.get(step.preposition, step.preposition)} {without_articles(step.target)}"
    return f"{thing}{',' if is_located(step.thing) else ''} {where}"


def _place_first(step: Step) -> str:
    if not step.preposition:
        return write_step(step)
    if is_located(step.thing):
        # "on the plate, place the bowl on the stove" would say where to put it twice.
        return f"{step.verb.base} {step.place} {with_place_clause(step.thing)}"
    return f"{step.place}, {step.verb.phrase(step.thing)}"


def _passive(step: Step, before: Step | None) -> str:
    thing = without_whole(step.thing) if is_named_before(step, before) else step.thing
    verbs = " and ".join(verb.passive for verb in (step.fetch, step.verb) if verb is not None)
    return f"{thing} should be {verbs} {write_place(step, before)}".rstrip()
